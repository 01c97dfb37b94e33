// SPDX-License-Identifier: Apache-2.0
#include "filter/policy/list_exceptions.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <string>
#include <vector>

#include "filter/policy/allow_list.h"
#include "tests/filter/policy/filter_maker.h"

namespace bloomwall::filter {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

constexpr FileId kContent{0x00, 0x11, 0x22, 0x33, 0x44, 0x55, 0x66, 0x77};
constexpr FileId kOther{0xff};

TEST(ListExceptions, NameSaysOfWhichBitsTheyAre) {
  EXPECT_EQ(exceptions_file("/var/ads.bwf", kContent), "/var/ads.bwf.0011223344556677.allow");
}

TEST(ListExceptions, EachStandsOnceAndWhatNoAllowListTakesIsLeftOut) {
  const auto fit = fit_exceptions({"b.test", "@@|a.test^", "b.test", "com", "c.test/a/", "ex*mple.com"}, {});
  EXPECT_THAT(fit.rules, ElementsAre("@@|a.test^", "b.test", "c.test/a/"));
  EXPECT_EQ(fit.unfit, 2U);
}

TEST(ListExceptions, NoneFreesAnImportantEntry) {
  ImportantHosts important;
  important.add("ads.shop.test");
  EXPECT_TRUE(important.touch("ads.shop.test"));
  EXPECT_TRUE(important.touch("www.ads.shop.test"));
  EXPECT_TRUE(important.touch("shop.test"));
  EXPECT_FALSE(important.touch("www.shop.test"));
  const auto fit = fit_exceptions(
      {"shop.test", "www.shop.test", "x.ads.shop.test/a/", "@@|ads.shop.test^", "192.0.2.0/24"}, important);
  EXPECT_THAT(fit.rules, ElementsAre("192.0.2.0/24", "www.shop.test"));
  EXPECT_EQ(fit.important, 3U);
}

// Whoever writes a list decides how many there are, and not how much memory they take.
TEST(ListExceptions, WithTooManyImportantHostsNothingIsFreed) {
  ImportantHosts many, some;
  for (std::size_t i = 0; i < ImportantHosts::kMost; ++i) many.add(std::to_string(i) + ".test");
  EXPECT_FALSE(many.touch("other.example"));
  some.add("one.more.test");
  many.add(some);
  EXPECT_TRUE(many.touch("other.example"));
  some.add(many);
  EXPECT_TRUE(some.touch("other.example"));
  EXPECT_FALSE(some.empty());
}

TEST(ListExceptions, FileComesAndGoesWithTheBits) {
  const TempFolder folder;
  const std::filesystem::path filter = folder / "ads.bwf";
  const auto write = [&](const FileId& content, const std::vector<std::string>& rules) {
    return write_exceptions(exceptions_file(filter, content), filter, fit_exceptions(rules, {}), {});
  };
  ASSERT_TRUE(write(kContent, {"a.test"}));
  ASSERT_TRUE(write(kOther, {"b.test"}));
  folder.write("ads.bwf.allow", "mine\n");
  folder.write("ads.bwf.00112233445566zz.allow", "mine\n");
  remove_exceptions_but(filter, {kOther});
  EXPECT_FALSE(std::filesystem::exists(exceptions_file(filter, kContent)));
  EXPECT_TRUE(std::filesystem::exists(exceptions_file(filter, kOther)));
  EXPECT_TRUE(std::filesystem::exists(folder / "ads.bwf.allow"));
  EXPECT_TRUE(std::filesystem::exists(folder / "ads.bwf.00112233445566zz.allow"));
  ASSERT_TRUE(write(kOther, {}));
  EXPECT_FALSE(std::filesystem::exists(exceptions_file(filter, kOther)));
}

TEST(ListExceptions, FileSaysWhatMustNotBeFreedToo) {
  const TempFolder folder;
  const std::filesystem::path file = folder / "ads.delta.allow";
  EXPECT_EQ(exceptions_file_of_delta(folder / "ads.delta"), file);
  EXPECT_TRUE(read_exceptions(file)->empty());
  ImportantHosts important;
  important.add("hard.test");
  ASSERT_TRUE(write_exceptions(file, "ads.delta", fit_exceptions({"a.test", "www.hard.test"}, important), {}));
  const auto one = read_exceptions(file);
  ASSERT_TRUE(one);
  EXPECT_THAT(one->rules, ElementsAre("a.test"));
  EXPECT_THAT(one->unfreed.hosts(), ElementsAre("hard.test"));
  const auto both = united_exceptions({*one, fit_exceptions({"hard.test", "b.test"}, {})});
  EXPECT_THAT(both.rules, ElementsAre("a.test", "b.test"));
  EXPECT_EQ(both.important, 1U);
  important.add_all();
  ASSERT_TRUE(write_exceptions(file, "ads.delta", fit_exceptions({}, important), {}));
  EXPECT_TRUE(read_exceptions(file)->unfreed.has_too_many());
  AllowLists lists(KeyMaker(SeriesKey{}), {"ads"});
  EXPECT_THAT(lists.load(file), IsEmpty()) << "what must not be freed is a comment";
  EXPECT_TRUE(lists.empty());
}

TEST(ListExceptions, OverruleTheirFilterAlone) {
  AllowLists lists(KeyMaker(SeriesKey{}), {"ads", "malware"});
  EXPECT_THAT(lists.parse("a.test\n@@|b.test^\n", "x", 1, 1), IsEmpty());
  const OwnEntry a("S a.test"), b("X b.test");
  EXPECT_EQ(lists.scope_text(lists.entries().find(a.view())), " @malware");
  EXPECT_EQ(lists.scope_text(lists.entries().find(b.view())), " @malware");
}

}  // namespace
}  // namespace bloomwall::filter
