// Ranges of addresses in a policy: literals in URLs, and the address that is dialled.
// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "filter/policy/exact_set.h"
#include "filter/policy/explain.h"
#include "filter/policy/query.h"
#include "filter/url/address_range.h"
#include "tests/filter/policy/policy_maker.h"

namespace bloomwall::filter {
namespace {

// "address url" or, of a host alone, "address host:name": what the networks say of that address.
std::string say_dialled(PolicyMaker& policy, std::string_view question) {
  const std::size_t blank = question.find(' ');
  const IpAddress address = *read_address(question.substr(0, blank));
  std::string_view target = question.substr(blank + 1);
  const bool is_host = target.starts_with("host:");
  if (is_host) target.remove_prefix(5);
  const CanonicalUrl& url = is_host ? policy.canonicaliser.host(target) : policy.canonicaliser.url(target);
  return PolicyMaker::say(policy.policy->judge_address(address, url, is_host ? Scope::host : Scope::url));
}

struct RuleRow {
  std::string_view question, says;
};
struct RuleCase {
  std::string_view name;
  std::vector<TestFilter> filters;
  std::string_view allow;
  std::vector<RuleRow> literals;  // URLs
  std::vector<RuleRow> dialled;   // see say_dialled()
};
void PrintTo(const RuleCase& test, std::ostream* out) { *out << test.name; }

class NetworkRules : public testing::TestWithParam<RuleCase> {};

TEST_P(NetworkRules, GiveTheseVerdicts) {
  PolicyMaker policy(GetParam().filters, GetParam().allow);
  for (const RuleRow& row : GetParam().literals) EXPECT_EQ(policy.say(row.question), row.says) << row.question;
  for (const RuleRow& row : GetParam().dialled) EXPECT_EQ(say_dialled(policy, row.question), row.says) << row.question;
}

TestFilter drop() {
  return {.name = "drop", .entries = {"S bad.test", "N 1.10.16.0/20", "N 192.0.2.2-192.0.2.9", "N 2001:db8::/32"}};
}
TestFilter drop_with(std::string_view changes) {
  TestFilter filter = drop();
  filter.changes = changes;
  return filter;
}

INSTANTIATE_TEST_SUITE_P(
    Files, NetworkRules,
    testing::Values(RuleCase{"RangesAreExact",
                             {drop()},
                             "",
                             {{"http://1.10.16.0/", "blocked listed drop N 1.10.16.0/20"},
                              {"http://1.10.31.255:8080/a?b", "blocked listed drop N 1.10.16.0/20"},
                              {"http://1.10.15.255/", "allowed unlisted"},
                              {"http://1.10.32.0/", "allowed unlisted"},
                              {"http://192.0.2.5/", "blocked listed drop N 192.0.2.2-192.0.2.9"},
                              {"http://[2001:db8:1::1]/", "blocked listed drop N [2001:db8::]/32"},
                              {"http://[2001:db9::1]/", "allowed unlisted"},
                              {"http://name.test/", "allowed unlisted"}},
                             {{"1.10.16.7 http://name.test/", "blocked listed drop N 1.10.16.0/20"},
                              {"1.10.16.7 host:name.test", "blocked listed drop N 1.10.16.0/20"},
                              {"9.9.9.9 http://name.test/", "allowed unlisted"},
                              {"2001:db8::1 http://name.test/", "blocked listed drop N [2001:db8::]/32"}}},
                    RuleCase{"EverySpellingOfALiteral",
                             {drop()},
                             "",
                             {{"http://0x010a1001/", "blocked listed drop N 1.10.16.0/20"},
                              {"http://1.10.4097/", "blocked listed drop N 1.10.16.0/20"},
                              {"http://[::ffff:1.10.16.1]/", "blocked listed drop N 1.10.16.0/20"},
                              {"http://[64:ff9b::1.10.16.1]/", "blocked listed drop N 1.10.16.0/20"},
                              {"http://[2001:0DB8::1]/", "blocked listed drop N [2001:db8::]/32"}},
                             {{"::ffff:1.10.16.1 http://name.test/", "blocked listed drop N 1.10.16.0/20"}}},
                    RuleCase{"NamesAndEntriesOfAddressesAreNoNetworks",
                             {{.name = "f", .entries = {"S bad.test", "X 192.0.2.1"}}},
                             "",
                             {{"http://192.0.2.1/", "blocked listed f X 192.0.2.1"}},
                             {{"192.0.2.1 http://name.test/", "allowed unlisted"}}},
                    RuleCase{"NetworksComeBeforeHosts",
                             {{.name = "f", .entries = {"X 192.0.2.1", "N 192.0.2.0/24"}}},
                             "",
                             {{"http://192.0.2.1/", "blocked listed f N 192.0.2.0/24"}},
                             {}}),
    [](const auto& row) { return std::string(row.param.name); });

INSTANTIATE_TEST_SUITE_P(
    Deltas, NetworkRules,
    testing::Values(
        RuleCase{"AddAndRemove",
                 {drop_with("+5.5.0.0/16\n-N 1.10.17.0/24\n-2001:db8:7::/48\n")},
                 "",
                 {{"http://5.5.1.1/", "blocked delta drop N 5.5.0.0/16"},
                  {"http://1.10.17.1/", "allowed unlisted"},
                  {"http://1.10.18.1/", "blocked listed drop N 1.10.16.0/20"},
                  {"http://[2001:db8:7::1]/", "allowed unlisted"},
                  {"http://[2001:db8:8::1]/", "blocked listed drop N [2001:db8::]/32"}},
                 {{"5.5.1.1 http://name.test/", "blocked delta drop N 5.5.0.0/16"},
                  {"1.10.17.1 http://name.test/", "allowed unlisted"},
                  {"1.10.18.1 host:name.test", "blocked listed drop N 1.10.16.0/20"}}},
        RuleCase{"RemovedNetworksLeaveEntries",
                 {{.name = "f", .entries = {"X 192.0.2.1", "N 192.0.2.0/24"}, .changes = "-192.0.2.0/24\n"}},
                 "",
                 {{"http://192.0.2.1/", "blocked listed f X 192.0.2.1"}, {"http://192.0.2.2/", "allowed unlisted"}},
                 {{"192.0.2.1 http://name.test/", "allowed unlisted"}}},
        RuleCase{"RemovedEntriesLeaveNetworks",
                 {{.name = "f", .entries = {"X 192.0.2.1", "N 192.0.2.0/24"}, .changes = "-X 192.0.2.1\n"}},
                 "",
                 {{"http://192.0.2.1/", "blocked listed f N 192.0.2.0/24"}},
                 {{"192.0.2.1 http://name.test/", "blocked listed f N 192.0.2.0/24"}}},
        RuleCase{"AnAddressTakenAwayIsInNeither",
                 {{.name = "f", .entries = {"X 192.0.2.1", "N 192.0.2.0/24"}, .changes = "-192.0.2.1\n"}},
                 "",
                 {{"http://192.0.2.1/", "allowed unlisted"}, {"http://192.0.2.3/", "blocked listed f N 192.0.2.0/24"}},
                 {{"192.0.2.1 http://name.test/", "allowed unlisted"}}},
        RuleCase{"OfAFilterWithoutNetworks",
                 {{.name = "f", .entries = {"S bad.test"}, .changes = "+192.0.2.0/24\n"}},
                 "",
                 {{"http://192.0.2.1/", "blocked delta f N 192.0.2.0/24"}},
                 {{"192.0.2.1 http://name.test/", "blocked delta f N 192.0.2.0/24"}}}),
    [](const auto& row) { return std::string(row.param.name); });

const std::vector<TestFilter>& two() {
  static const std::vector<TestFilter> filters{
      {.name = "watch", .entries = {"S x.test", "N 10.0.0.0/8"}, .action = kMonitor},
      {.name = "drop", .entries = {"S x.test", "X 10.9.9.9", "N 10.1.0.0/16", "N 10.9.0.0/16"}}};
  return filters;
}

INSTANTIATE_TEST_SUITE_P(
    Allow, NetworkRules,
    testing::Values(RuleCase{"BlockBeatsMonitor",
                             two(),
                             "",
                             {{"http://10.1.0.1/", "blocked listed drop N 10.1.0.0/16"},
                              {"http://10.2.0.1/", "monitored listed watch N 10.0.0.0/8"}},
                             {{"10.1.0.1 http://name.test/", "blocked listed drop N 10.1.0.0/16"},
                              {"10.2.0.1 http://name.test/", "monitored listed watch N 10.0.0.0/8"}}},
                    RuleCase{"ARangeFreesItsAddressesFromEveryFilter",
                             two(),
                             "10.9.0.0-10.9.9.9\n",
                             {{"http://10.9.9.9/x", "allowed allow_list N 10.9.0.0-10.9.9.9"},
                              {"http://10.9.9.10/", "blocked listed drop N 10.9.0.0/16"}},
                             {{"10.9.9.9 http://name.test/", "allowed allow_list N 10.9.0.0-10.9.9.9"},
                              {"10.9.9.10 http://name.test/", "blocked listed drop N 10.9.0.0/16"},
                              {"11.0.0.1 http://name.test/", "allowed unlisted"}}},
                    RuleCase{"ARangeFreesNamesFromNetworksAlone",
                             {{.name = "f", .entries = {"S bad.test", "N 10.0.0.0/8"}}},
                             "10.0.0.0/8\n",
                             {{"http://bad.test/", "blocked listed f S bad.test"}},
                             {{"10.0.0.1 http://name.test/", "allowed allow_list N 10.0.0.0/8"}}},
                    RuleCase{"OfOneFilter",
                             two(),
                             "10.1.0.0/16 @drop\n10.9.0.0/16 @watch\n",
                             {{"http://10.1.0.1/", "monitored listed watch N 10.0.0.0/8"},
                              {"http://10.9.0.1/", "blocked listed drop N 10.9.0.0/16"}},
                             {{"10.1.0.1 http://name.test/", "monitored listed watch N 10.0.0.0/8"},
                              {"10.9.0.1 http://name.test/", "blocked listed drop N 10.9.0.0/16"}}},
                    RuleCase{"AnEntryForTheNameOrTheUrlFreesItsAddress",
                             {{.name = "f", .entries = {"S bad.test", "N 10.0.0.0/8"}}},
                             "good.test\nhttp://shop.test/a/\n",
                             {{"http://10.0.0.1/", "blocked listed f N 10.0.0.0/8"}},
                             {{"10.0.0.1 http://www.good.test/x", "allowed allow_list S good.test"},
                              {"10.0.0.1 host:www.good.test", "allowed allow_list S good.test"},
                              {"10.0.0.1 http://shop.test/a/b", "allowed allow_list D shop.test/a/"},
                              {"10.0.0.1 http://shop.test/b", "blocked listed f N 10.0.0.0/8"},
                              {"10.0.0.1 host:shop.test", "blocked listed f N 10.0.0.0/8"}}},
                    RuleCase{"AnEntryOfTheAddressFreesIt",
                             {{.name = "f", .entries = {"S bad.test", "N 10.0.0.0/8"}}},
                             "10.0.0.1\n10.0.0.2 @f\n",
                             {{"http://10.0.0.1/", "allowed allow_list X 10.0.0.1"},
                              {"http://10.0.0.3/", "blocked listed f N 10.0.0.0/8"}},
                             {{"10.0.0.1 http://name.test/", "allowed allow_list X 10.0.0.1"},
                              {"10.0.0.2 host:name.test", "allowed allow_list X 10.0.0.2"},
                              {"10.0.0.3 http://name.test/", "blocked listed f N 10.0.0.0/8"}}},
                    RuleCase{"EveryFormOfAUrlMustBeAllowed",
                             {{.name = "f", .entries = {"S bad.test", "N 10.0.0.0/8"}}},
                             "http://x.test/x\n",
                             {},
                             {{"10.0.0.1 http://x.test/x", "allowed allow_list U x.test/x"},
                              {"10.0.0.1 http://x.test/evil/%252e%252e/x", "blocked listed f N 10.0.0.0/8"}}}),
    [](const auto& row) { return std::string(row.param.name); });

TEST(Networks, ArePartOfAPolicyWhereAFilterOrADeltaHoldsSome) {
  const auto has = [](std::vector<std::string> entries, const std::string& changes) {
    return PolicyMaker({{.name = "f", .entries = std::move(entries), .changes = changes}}, "").policy->has_networks();
  };
  EXPECT_FALSE(has({"S a.test", "X 192.0.2.1"}, ""));
  EXPECT_TRUE(has({"S a.test", "N 192.0.2.0/24"}, ""));
  EXPECT_TRUE(has({"S a.test"}, "+192.0.2.0/24\n"));
  EXPECT_FALSE(has({"S a.test"}, "-192.0.2.0/24\n"));
  EXPECT_FALSE(PolicyMaker({}, "10.0.0.0/8\n").policy->has_networks());
}

TEST(Networks, OfARejectedUrlNothingIsAsked) {
  PolicyMaker policy({drop()}, "");
  EXPECT_EQ(say_dialled(policy, "1.10.16.1 http://user@name.test/"), "rejected bad_url");
}

TEST(Networks, AreExplained) {
  PolicyMaker policy({drop_with("-1.10.17.0/24\n")}, "192.0.2.0/24 @drop\n");
  const auto story = [&](std::string_view url) {
    const CanonicalUrl& canonical = policy.canonicaliser.url(url);
    return explain_text(canonical, policy.policy->explain(canonical));
  };
  const std::string blocked = story("http://1.10.16.1/");
  EXPECT_NE(blocked.find("by filter drop, status 403: N 1.10.16.0/20\n"), std::string::npos) << blocked;
  EXPECT_NE(blocked.find("drop: N 1.10.16.1: yes\n"), std::string::npos) << blocked;
  const std::string removed = story("http://1.10.17.1/");
  EXPECT_NE(removed.find("drop: N 1.10.17.1: removed by the delta\n"), std::string::npos) << removed;
  const std::string allowed = story("http://192.0.2.3/");
  EXPECT_NE(allowed.find("allow list: N 192.0.2.0/24 @drop: yes\n"), std::string::npos) << allowed;
  EXPECT_NE(allowed.find("drop: N 192.0.2.3: yes, but overruled by the allow list\n"), std::string::npos) << allowed;
  const std::string name = story("http://name.test/");
  EXPECT_EQ(name.find(" N "), std::string::npos) << name;
}

TEST(Networks, AreAskedByAQueryOfOneFile) {
  const TempFolder folder;
  const auto file = open_filter(make_filter(folder / "f.bwf", {.entries = {"S bad.test", "N 1.10.16.0/20"}}));
  const auto delta =
      Delta::parse(Delta::first_line(id_of(1)) + "\n-1.10.17.0/24\n+5.5.0.0/16\n", "d", file->keys(), id_of(1));
  ASSERT_TRUE(delta) << texts_of(delta.error());
  Canonicaliser canonicaliser;
  const auto found = [&](std::string_view url, const Delta* changes) {
    const auto match = query(*file, changes, canonicaliser.url(url));
    if (!match) return std::string("none");
    return std::string(1, static_cast<char>(match->kind)) + " " + match->expression + (match->by_delta ? " delta" : "");
  };
  EXPECT_EQ(found("http://1.10.17.1/", nullptr), "N 1.10.16.0/20");
  EXPECT_EQ(found("http://1.10.17.1/", &*delta), "none");
  EXPECT_EQ(found("1.10.18.1", &*delta), "N 1.10.16.0/20");
  EXPECT_EQ(found("http://5.5.5.5/", &*delta), "N 5.5.0.0/16 delta");
  EXPECT_EQ(found("http://5.5.5.5/", nullptr), "none");
}

constexpr std::size_t kAddresses = 512;
constexpr std::size_t kFilters = 3;
using Bits = std::vector<bool>;
struct ModelNetworks {
  Bits file = Bits(kAddresses), added = Bits(kAddresses), removed = Bits(kAddresses);
  bool holds(std::size_t i) const { return added[i] || (file[i] && !removed[i]); }
};

// Random networks, deltas and allow lists against sets of addresses.
class NetworkOracle : public testing::TestWithParam<std::uint64_t> {
 protected:
  std::size_t below(std::size_t n) { return std::uniform_int_distribution<std::size_t>(0, n - 1)(random_); }
  // The first half are 192.0.2.0 and what follows, the others 2001:db8::.
  static std::string address(std::size_t i) {
    return i < kAddresses / 2 ? "192.0.2." + std::to_string(i) : fmt::format("2001:db8::{:x}", i - kAddresses / 2);
  }
  // A range as text, as a network or from first to last; and what is in it.
  std::string range(std::vector<std::size_t>& in) {
    constexpr std::size_t kHalf = kAddresses / 2;
    const std::size_t half = below(2) * kHalf;
    std::size_t first = below(kHalf - 1), count = 0;
    std::string text;
    if (below(2) == 0) {
      const std::size_t bits = 1 + below(5);
      count = std::size_t{1} << bits;
      first -= first % count;
      text = address(half + first) + "/" + std::to_string((half == 0 ? 32 : 128) - bits);
    } else {
      count = std::min(2 + below(20), kHalf - first);
      text = address(half + first) + "-" + address(half + first + count - 1);
    }
    in.clear();
    for (std::size_t i = 0; i < count; ++i) in.push_back(half + first + i);
    return text;
  }

  TestFilter filter(const std::string& name, ModelNetworks& model) {
    TestFilter out{.name = name, .entries = {"S bad.test"}};
    std::vector<std::size_t> in;
    for (std::size_t n = below(12); n > 0; --n) {
      out.entries.push_back("N " + range(in));
      for (const std::size_t i : in) model.file[i] = true;
    }
    for (std::size_t n = below(12); n > 0; --n) {
      const bool adds = below(2) == 0;
      out.changes += (adds ? "+" : "-") + std::string(below(2) == 0 ? "N " : "") + range(in) + "\n";
      for (const std::size_t i : in) {
        model.added[i] = adds;
        model.removed[i] = !adds;
      }
    }
    return out;
  }

  std::string allow_list() {
    std::string out;
    std::vector<std::size_t> in;
    for (std::size_t n = below(8); n > 0; --n) {
      out += range(in);
      const std::size_t one = below(kFilters + 1);
      if (one < kFilters) out += " @f" + std::to_string(one);
      out += "\n";
      for (std::size_t f = 0; f < kFilters; ++f) {
        if (one != kFilters && one != f) continue;
        for (const std::size_t i : in) allowed_[f][i] = true;
      }
    }
    return out;
  }

  std::string model_says(std::size_t i) const {
    bool any = false;
    for (std::size_t f = 0; f < kFilters; ++f) {
      if (!models_[f].holds(i)) continue;
      if (!allowed_[f][i]) return "blocked f" + std::to_string(f);
      any = true;
    }
    return any ? "allowed allow_list" : "allowed unlisted";
  }

  std::mt19937_64 random_{GetParam()};
  std::vector<ModelNetworks> models_ = std::vector<ModelNetworks>(kFilters);
  std::vector<Bits> allowed_ = std::vector<Bits>(kFilters, Bits(kAddresses));
};

TEST_P(NetworkOracle, JudgeAndJudgeAddressAgreeWithSetsOfAddresses) {
  SCOPED_TRACE("seed " + std::to_string(GetParam()));
  std::vector<TestFilter> filters;
  for (std::size_t f = 0; f < kFilters; ++f) filters.push_back(filter("f" + std::to_string(f), models_[f]));
  PolicyMaker policy(filters, allow_list());
  const auto says = [](const Verdict& verdict) {
    return std::string(to_string(verdict.decision)) + " " +
           (verdict.filter != nullptr ? verdict.filter->name : to_string(verdict.reason));
  };
  for (std::size_t i = 0; i < kAddresses; ++i) {
    const std::string text = address(i);
    const IpAddress dialled = *read_address(text);
    const CanonicalUrl& name = policy.canonicaliser.url("http://name.test/");
    ASSERT_EQ(says(policy.policy->judge_address(dialled, name, Scope::url)), model_says(i)) << text;
    const bool is_allowed = std::any_of(allowed_.begin(), allowed_.end(), [&](const Bits& bits) { return bits[i]; });
    const Verdict literal = policy.judge("http://" + text_of(dialled) + "/");
    const std::string wanted = model_says(i);
    // An allow range is told of a literal whether or not a filter would have held it.
    ASSERT_EQ(says(literal), wanted == "allowed unlisted" && is_allowed ? "allowed allow_list" : wanted) << text;
    ASSERT_EQ(says(policy.judge_host(text_of(dialled))), says(literal)) << text;
    if (literal.kind == Kind::network && literal.filter != nullptr) {
      const RangeReading told = read_address_range(literal.expression);
      ASSERT_EQ(told.outcome, RangeReading::Outcome::range) << literal.expression;
      ASSERT_TRUE(told.range.contains(dialled)) << literal.expression;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Seeds, NetworkOracle, testing::Range<std::uint64_t>(1, 33));

}  // namespace
}  // namespace bloomwall::filter
