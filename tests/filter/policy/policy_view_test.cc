// Views of a policy: other actions, another Otherwise and more allow lists over the same files.
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "filter/policy/overrides.h"
#include "filter/policy/policy.h"
#include "tests/filter/policy/policy_maker.h"

namespace bloomwall::filter {
namespace {

constexpr auto kBlock = FilterAction::block;
constexpr auto kOff = FilterAction::off;

std::string say_with(const Policy& policy, std::string_view url) {
  Canonicaliser canonicaliser;
  return PolicyMaker::say(policy.judge(canonicaliser.url(url)));
}

// Two filters with ranges, and the allow lists of two groups beside that of all.
class PolicyViews : public testing::Test {
 protected:
  PolicyViews() {
    PolicySpec spec;
    for (const auto& [name, entries] :
         {std::pair{"games", std::vector<std::string>{"S games.test", "S both.test", "N 192.0.2.0/24"}},
          std::pair{"ads", std::vector<std::string>{"S ads.test", "S both.test", "U paths.test/x"}}}) {
      spec.filters.push_back({.name = name, .file = folder_ / (std::string(name) + ".bwf"), .delta = {}});
      make_filter(spec.filters.back().file, {.entries = entries, .series = static_cast<std::uint8_t>(name[0])});
    }
    spec.allow_lists = {folder_.write("all.txt", "free.games.test\n" + std::string(400, '#') + "\n")};
    spec.more_allow_lists = {{folder_.write("staff.txt", "games.test\nboth.test @ads\n")},
                             {folder_.write("other.txt", "10.0.0.0/8\n"), folder_ / "staff.txt"}};
    auto loaded = Policy::load(spec, {});
    if (!loaded) throw std::runtime_error(texts_of(loaded.error()));
    all_ = *std::move(loaded);
  }
  TempFolder folder_;
  std::shared_ptr<const Policy> all_;
};

TEST_F(PolicyViews, DoOtherThingsWithTheSameFiles) {
  const auto view = all_->view({.actions = {FilterAction::monitor, kBlock}});
  EXPECT_EQ(say_with(*view, "http://games.test/"), "monitored listed games S games.test");
  EXPECT_EQ(say_with(*view, "http://both.test/"), "blocked listed ads S both.test");
  EXPECT_EQ(say_with(*all_, "http://games.test/"), "blocked listed games S games.test") << "the policy is as it was";
  for (std::size_t i = 0; i < 2; ++i) EXPECT_EQ(view->filters()[i].file, all_->filters()[i].file);
  const auto deny = all_->view({.actions = {FilterAction::allow, kOff}, .otherwise = Otherwise::deny});
  EXPECT_EQ(say_with(*deny, "http://games.test/"), "allowed allow_filter games S games.test");
  EXPECT_EQ(say_with(*deny, "http://ads.test/"), "blocked default_deny otherwise");
  EXPECT_TRUE(all_->is({.actions = {kBlock, kBlock}}));
  EXPECT_FALSE(all_->is({.actions = {kBlock, kOff}}));
  EXPECT_FALSE(all_->is({.actions = {kBlock, kBlock}, .otherwise = Otherwise::deny}));
  EXPECT_FALSE(all_->is({.actions = {kBlock, kBlock}, .allow_lists = 1}));
}

TEST_F(PolicyViews, AFilterThatIsOffIsNotAsked) {
  const auto off = all_->view({.actions = {kBlock, kOff}});
  EXPECT_EQ(say_with(*off, "http://ads.test/"), "allowed unlisted");
  EXPECT_EQ(say_with(*off, "http://both.test/"), "blocked listed games S both.test");
  Canonicaliser canonicaliser;
  const CanonicalUrl& url = canonicaliser.url("http://paths.test/x");
  EXPECT_LT(off->judge(url).questions, all_->judge(url).questions);
  EXPECT_FALSE(off->judge_host(canonicaliser.host("paths.test")).host_has_marks);
  for (const auto& question : off->explain(canonicaliser.url("http://paths.test/x")).questions) {
    EXPECT_NE(question.filter, "ads");
  }
  EXPECT_TRUE(off->has_networks());
  EXPECT_FALSE(all_->view({.actions = {kOff, kBlock}})->has_networks());
  all_->filters()[1].file->mark_lost();
  EXPECT_EQ(say_with(*off, "http://none.test/"), "allowed unlisted") << "its errors do not matter here";
  EXPECT_EQ(say_with(*all_, "http://none.test/"), "blocked filter_lost ads");
}

TEST_F(PolicyViews, HaveTheirOwnAllowListsBesideThoseOfAll) {
  const std::vector<FilterAction> actions{kBlock, kBlock};
  const auto staff = all_->view({.actions = actions, .allow_lists = 1});
  const auto other = all_->view({.actions = actions, .allow_lists = 2});
  for (const auto& policy : {all_, staff, other}) {
    EXPECT_EQ(say_with(*policy, "http://free.games.test/").substr(0, 18), "allowed allow_list");
  }
  EXPECT_EQ(say_with(*all_, "http://games.test/"), "blocked listed games S games.test");
  EXPECT_EQ(say_with(*staff, "http://games.test/"), "allowed allow_list S games.test");
  EXPECT_EQ(say_with(*staff, "http://both.test/"), "blocked listed games S both.test");
  EXPECT_EQ(say_with(*staff, "http://10.1.2.3/"), "allowed unlisted");
  EXPECT_EQ(say_with(*other, "http://games.test/"), "allowed allow_list S games.test");
  EXPECT_EQ(say_with(*other, "http://10.1.2.3/"), "allowed allow_list N 10.0.0.0/8");
  EXPECT_EQ(all_->allow_entries(), 1U);
}

TEST_F(PolicyViews, ShareTheExceptions) {
  Override made{.id = 1, .action = Override::Action::deny, .kind = Kind::suffix, .entry = "none.test", .filters = {}};
  const auto with = all_->with({made});
  const auto view = with->view({.actions = {kOff, kOff}});
  EXPECT_EQ(say_with(*view, "http://none.test/"), "blocked denied exceptions S none.test");
  EXPECT_EQ(view->overrides(), 1U);
  EXPECT_EQ(say_with(*with->with({})->view({.actions = {kOff, kOff}, .allow_lists = 2}), "http://none.test/"),
            "allowed unlisted");
}

TEST(PolicyViewErrors, OfACommonAllowListAreToldOnce) {
  const TempFolder folder;
  PolicySpec spec;
  spec.allow_lists = {folder.write("all.txt", "com\n")};
  spec.more_allow_lists = {{folder.write("own.txt", "net\n")}, {folder / "none.txt"}};
  const auto loaded = Policy::load(spec, {});
  ASSERT_FALSE(loaded);
  EXPECT_EQ(loaded.error().size(), 3U) << texts_of(loaded.error());
}

}  // namespace
}  // namespace bloomwall::filter
