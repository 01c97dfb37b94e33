// SPDX-License-Identifier: Apache-2.0
#include "proxy/tls/intermediate_list.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/proxy/tls/test_origin.h"
#include "tests/support/test_authority.h"

namespace bloomwall::test {
namespace {

using testing::HasSubstr;

class IntermediateListTest : public testing::Test {
 protected:
  void SetUp() override { scene_.load(); }
  proxy::ChosenIntermediates choose(const std::vector<std::string>& texts) {
    proxy::IntermediateChoice choice(*scene_.verifier);
    for (const std::string& text : texts) {
      const auto added = choice.add(text);
      EXPECT_TRUE(added.has_value()) << added.error();
    }
    return choice.choose();
  }
  Scene scene_;
};

TEST_F(IntermediateListTest, TakesWhatLeadsToARoot) {
  const std::string pem = pem_of({scene_.intermediate.get()});
  const auto chosen = choose({pem});
  EXPECT_EQ(chosen.pem, pem);
  EXPECT_EQ(chosen.taken, 1U);
  EXPECT_EQ(chosen.left_out, 0U);
}

TEST_F(IntermediateListTest, FindsThemInFieldsOfATable) {
  const std::string pem = pem_of({scene_.intermediate.get()});
  const auto chosen = choose({"\"CA Owner\",\"PEM Info\"\r\n\"A \"\"quoted\"\" CA\",\"'" +
                              pem.substr(0, pem.size() - 1) + "'\"\r\n\"An empty one\",\"\"\r\n"});
  EXPECT_EQ(chosen.pem, pem);
}

TEST_F(IntermediateListTest, LeavesOutWhatAnchorsOrSignsNothing) {
  const Issued strange_root = issue({.common_name = "Strange Root", .is_ca = true});
  const Issued strange = issue({.common_name = "Strange", .is_ca = true}, &strange_root);
  const Issued ended = issue({.common_name = "Ended", .to = -3600, .is_ca = true}, &scene_.root);
  const Issued weak = issue({.common_name = "Weak", .key = "RSA-1024", .is_ca = true}, &scene_.root);
  const Issued forged_root = issue({.common_name = "Test Root", .key_use = "forged", .is_ca = true});
  const Issued forged = issue({.common_name = "Forged", .is_ca = true}, &forged_root);
  const std::string broken = "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n";
  const auto chosen = choose(
      {broken + pem_of({scene_.leaf.get(), strange_root.get(), strange.get(), ended.get()}),
       pem_of({weak.get(), forged.get(), scene_.root.get(), scene_.intermediate.get(), scene_.intermediate.get()})});
  EXPECT_EQ(chosen.pem, pem_of({scene_.intermediate.get()}));
  EXPECT_EQ(chosen.left_out, 9U);
}

TEST_F(IntermediateListTest, TakesOnesBelowOthersInAnyOrder) {
  const Issued second = issue({.common_name = "Second", .is_ca = true}, &scene_.root);
  const Issued third = issue({.common_name = "Third", .is_ca = true}, &second);
  const Issued fourth = issue({.common_name = "Fourth", .is_ca = true}, &third);
  EXPECT_EQ(choose({pem_of({fourth.get(), third.get()}), pem_of({second.get()})}).taken, 3U);
  EXPECT_EQ(choose({pem_of({fourth.get(), second.get()})}).taken, 1U) << "the fourth has no way to the root";
}

TEST_F(IntermediateListTest, RefusesWhatHasNoEnd) {
  const std::string block = "-----BEGIN CERTIFICATE-----\n-----END CERTIFICATE-----\n";
  std::string text;
  for (std::size_t i = 0; i < proxy::kMostIntermediates; ++i) text += block;
  EXPECT_EQ(proxy::count_certificates(text), proxy::kMostIntermediates);
  // However many texts they come in.
  proxy::IntermediateChoice choice(*scene_.verifier);
  EXPECT_TRUE(choice.add(text).has_value());
  const auto added = choice.add(block);
  ASSERT_FALSE(added.has_value());
  EXPECT_THAT(added.error(), HasSubstr("more than 10000 certificates"));
}

TEST_F(IntermediateListTest, CountsWholeBlocksAlone) {
  EXPECT_EQ(proxy::count_certificates(""), 0U);
  EXPECT_EQ(proxy::count_certificates("-----BEGIN CERTIFICATE-----\nAAAA\n"), 0U);
  EXPECT_EQ(proxy::count_certificates("-----END CERTIFICATE----------BEGIN CERTIFICATE-----"), 0U);
}

// What is kept is a candidate and no more: it is wanted where it leads to the root.
TEST(KeptIntermediates, CompleteAPath) {
  Scene good;
  good.sent = {good.leaf.get()};
  good.trust.kept_intermediates = good.dir.write("kept.pem", pem_of({good.intermediate.get()}));
  EXPECT_EQ(good.run(), "ok");

  Scene missing;
  missing.sent = {missing.leaf.get()};
  missing.trust.kept_intermediates = missing.dir.path() / "none.pem";
  EXPECT_EQ(missing.run(), "certificate incomplete_chain");

  Scene strange;
  const Issued root = issue({.common_name = "Strange Root", .is_ca = true});
  const Issued below = issue({.common_name = "Strange", .is_ca = true}, &root);
  strange.leaf = issue(strange.leaf_spec, &below);
  strange.sent = {strange.leaf.get()};
  strange.trust.kept_intermediates = strange.dir.write("kept.pem", pem_of({below.get(), root.get()}));
  EXPECT_NE(strange.run(), "ok");

  Scene damaged;
  damaged.trust.kept_intermediates = damaged.dir.write("kept.pem", "x");
  const auto loaded = proxy::OriginVerifier::load(damaged.trust);
  ASSERT_FALSE(loaded.has_value());
  EXPECT_THAT(loaded.error(), HasSubstr("kept.pem"));
  EXPECT_THAT(loaded.error(), HasSubstr("the next `bloomwall update` makes it"));
}

}  // namespace
}  // namespace bloomwall::test
