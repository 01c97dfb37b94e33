// Hosts that are blocked, and on which some URLs pass all the same: Verdict::allowed_urls.
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <ctime>
#include <string>
#include <string_view>
#include <vector>

#include "filter/policy/explain.h"
#include "filter/policy/overrides.h"
#include "tests/filter/policy/policy_maker.h"

namespace bloomwall::filter {
namespace {

struct AllowedUrlsRow {
  std::string_view host, allowed_by;
};
struct AllowedUrlsCase {
  std::string_view name;
  std::string_view allow;
  std::vector<std::string_view> allowed, denied;  // by people
  Otherwise otherwise;
  std::vector<AllowedUrlsRow> rows;
};
void PrintTo(const AllowedUrlsCase& test, std::ostream* out) { *out << test.name; }

std::vector<TestFilter> blocking_filters() {
  return {{.name = "malware", .entries = {"S evil.test"}},
          {.name = "good", .entries = {"U shop.test/a", "D evil.test/dir/"}, .action = FilterAction::allow},
          {.name = "ads", .entries = {"S shop.test", "S ads.test", "X 192.0.2.1"}},
          {.name = "strict", .entries = {"S strict.test"}, .takes_overrides = false}};
}

Override override_of(std::string_view text, Override::Action action, std::uint64_t id) {
  Override made;
  made.id = id;
  made.action = action;
  const std::size_t at = text.find(" @");
  EXPECT_TRUE(read_override(text.substr(0, at), made)) << text;
  if (at != std::string_view::npos) made.filters.emplace_back(text.substr(at + 2));
  return made;
}

class AllowedUrls : public testing::TestWithParam<AllowedUrlsCase> {};

TEST_P(AllowedUrls, AreKnownOfTheirHost) {
  const AllowedUrlsCase& test = GetParam();
  PolicyMaker maker(blocking_filters(), test.allow, test.otherwise);
  std::vector<Override> overrides;
  for (const auto text : test.allowed)
    overrides.push_back(override_of(text, Override::Action::allow, overrides.size() + 1));
  for (const auto text : test.denied)
    overrides.push_back(override_of(text, Override::Action::deny, overrides.size() + 1));
  maker.policy = maker.policy->with(std::move(overrides));
  for (const AllowedUrlsRow& row : test.rows) {
    const Verdict verdict = maker.judge_host(row.host);
    EXPECT_EQ(to_string(verdict.allowed_urls), row.allowed_by) << row.host;
    const Story story = maker.policy->explain_host(maker.canonicaliser.host(row.host));
    EXPECT_EQ(story.verdict.allowed_urls, verdict.allowed_urls) << "the story of " << row.host;
  }
}

INSTANTIATE_TEST_SUITE_P(
    Rules, AllowedUrls,
    testing::Values(AllowedUrlsCase{"NothingIsAllowed",
                                    "",
                                    {},
                                    {},
                                    Otherwise::allow,
                                    {{"ads.test", "unlisted"}, {"192.0.2.1", "unlisted"}, {"none.test", "unlisted"}}},
                    AllowedUrlsCase{"ByAllowLists",
                                    "https://ads.test/docs/\n192.0.2.1/a\nnone.test/a\n",
                                    {},
                                    {},
                                    Otherwise::allow,
                                    {{"ads.test", "allow_list"},
                                     {"www.ads.test", "allow_list"},
                                     {"192.0.2.1", "allow_list"},
                                     {"evil.test", "unlisted"},
                                     {"none.test", "unlisted"}}},  // it is not blocked
                    AllowedUrlsCase{"ByAllowListsForTheFilterThatBlocks",
                                    "ads.test/a @malware\nevil.test/a @malware\nnone.test/a @ads\n",
                                    {},
                                    {},
                                    Otherwise::deny,
                                    {{"ads.test", "unlisted"}, {"evil.test", "allow_list"}, {"none.test", "unlisted"}}},
                    AllowedUrlsCase{"WithDenyByAllowLists",
                                    "good.test/docs/\n",
                                    {},
                                    {},
                                    Otherwise::deny,
                                    {{"good.test", "allow_list"}, {"other.test", "unlisted"}}},
                    AllowedUrlsCase{"ByAFilterThatIsAskedBefore",
                                    "",
                                    {},
                                    {},
                                    Otherwise::deny,
                                    {{"shop.test", "allow_filter"}, {"evil.test", "unlisted"}}},
                    AllowedUrlsCase{"ByPeople",
                                    "",
                                    {"ads.test/a", "evil.test/a @malware", "shop.test/b @malware", "strict.test/a"},
                                    {},
                                    Otherwise::allow,
                                    {{"ads.test", "excepted"},
                                     {"evil.test", "excepted"},
                                     {"shop.test", "allow_filter"},
                                     {"strict.test", "unlisted"}}},
                    AllowedUrlsCase{"ByPeopleOnAHostThatTheyDeny",
                                    "third.test/a\n",
                                    {"site.test/a", "other.test/a"},
                                    {"site.test", "www.other.test", "third.test"},
                                    Otherwise::allow,
                                    {{"site.test", "excepted"},
                                     {"www.site.test", "excepted"},
                                     {"www.other.test", "unlisted"},
                                     {"third.test", "unlisted"}}}),
    [](const auto& test) { return std::string(test.param.name); });

TEST(AllowedUrlsAfterAChange, AreThoseThatStand) {
  PolicyMaker maker(blocking_filters(), "");
  const auto with = [&](const std::vector<std::string_view>& allowed) {
    std::vector<Override> overrides;
    for (const auto text : allowed)
      overrides.push_back(override_of(text, Override::Action::allow, overrides.size() + 1));
    maker.policy = maker.policy->with(std::move(overrides));
    return std::string(to_string(maker.judge_host("ads.test").allowed_urls));
  };
  EXPECT_EQ(with({"none.test", "ads.test/a"}), "excepted");
  EXPECT_EQ(with({"none.test"}), "unlisted");
  EXPECT_EQ(with({"none.test", "ads.test/b"}), "excepted");
}

}  // namespace
}  // namespace bloomwall::filter
