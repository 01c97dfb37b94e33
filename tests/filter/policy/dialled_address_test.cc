// What frees an address where a name is dialled, and where a URL names the address: allow lists, exceptions of lists,
// overrides, deltas and white lists, each pair of what frees and what stops.
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cstdint>
#include <ctime>
#include <memory>
#include <ostream>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "filter/policy/overrides.h"
#include "filter/url/address.h"
#include "tests/filter/policy/policy_maker.h"

namespace bloomwall::filter {
namespace {

enum class FreedBy : std::uint8_t { allow_list, one_filter, override_for_all, narrow_override, delta, white_list };

Override typed_override(std::string_view entry, Override::Action action = Override::Action::allow) {
  Override made;
  made.id = 1;
  made.action = action;
  made.until = std::time(nullptr) + 3600;
  EXPECT_TRUE(read_override(entry, made).has_value()) << entry;
  return made;
}

std::string lines_of(const std::vector<std::string>& entries, std::string_view before, std::string_view behind) {
  std::string out;
  for (const std::string& entry : entries) out.append(before).append(entry).append(behind).append("\n");
  return out;
}

// A policy of one filter that blocks, in which something frees these entries.
class FreedPolicy {
 public:
  FreedPolicy(const std::vector<std::string>& stopped, FreedBy by, const std::vector<std::string>& freed)
      : maker_(filters(stopped, by, freed), by == FreedBy::allow_list   ? lines_of(freed, "", "")
                                            : by == FreedBy::one_filter ? lines_of(freed, "@@||", "^ @drop")
                                                                        : "") {
    policy_ = maker_.policy;
    std::vector<Override> overrides;
    if (by != FreedBy::override_for_all && by != FreedBy::narrow_override) return;
    for (const std::string& entry : freed) {
      overrides.push_back(typed_override(entry));
      overrides.back().id = overrides.size();
      if (by == FreedBy::narrow_override) overrides.back().filters = {"drop"};
    }
    policy_ = policy_->with(std::move(overrides));
  }
  bool passes_url(std::string_view url) {
    return policy_->judge(maker_.canonicaliser.url(url)).decision == Decision::allowed;
  }
  bool passes_dialled(std::string_view address, std::string_view target, Scope scope) {
    const CanonicalUrl& url =
        scope == Scope::host ? maker_.canonicaliser.host(target) : maker_.canonicaliser.url(target);
    const Verdict judged = scope == Scope::host ? policy_->judge_host(url) : policy_->judge(url);
    const Verdict dialled = policy_->judge_address(*read_address(address), url, scope);
    return judged.decision == Decision::allowed && dialled.decision == Decision::allowed;
  }

 private:
  // White lists hold "X address" where an entry is an address, as their lists would.
  static std::vector<TestFilter> filters(const std::vector<std::string>& stopped, FreedBy by,
                                         const std::vector<std::string>& freed) {
    TestFilter drop{.name = "drop", .entries = stopped};
    drop.entries.emplace_back("S bad.test");
    if (by == FreedBy::delta) drop.changes = lines_of(freed, "-", "");
    std::vector<TestFilter> out;
    if (by == FreedBy::white_list) {
      TestFilter white{.name = "white", .entries = {"S good.test"}, .action = FilterAction::allow};
      for (const std::string& entry : freed) {
        const bool is_range = entry.find('/') != std::string::npos;
        white.entries.push_back((is_range ? "N " : read_address(entry) ? "X " : "S ") + entry);
      }
      out.push_back(std::move(white));
    }
    out.push_back(std::move(drop));
    return out;
  }

  PolicyMaker maker_;
  std::shared_ptr<const Policy> policy_;
};

struct Pair {
  std::string_view name;
  std::vector<std::string> stopped;  // entries of the filter
  std::string freed;
  bool url, dialled, tunnel;  // what passes: http://192.0.2.1/a, a.test at that address, its tunnel
};
void PrintTo(const Pair& pair, std::ostream* out) { *out << pair.name; }

class DialledAddress : public testing::TestWithParam<std::tuple<Pair, FreedBy>> {};

TEST_P(DialledAddress, IsFreedAsAddressesAre) {
  const auto& [pair, by] = GetParam();
  FreedPolicy policy(pair.stopped, by, {pair.freed});
  EXPECT_EQ(policy.passes_url("http://192.0.2.1/a"), pair.url);
  EXPECT_EQ(policy.passes_dialled("192.0.2.1", "http://a.test/x", Scope::url), pair.dialled);
  EXPECT_EQ(policy.passes_dialled("192.0.2.1", "a.test", Scope::host), pair.tunnel);
  EXPECT_EQ(policy.passes_url("http://192.0.2.2/a"), !pair.stopped.front().starts_with("N")) << "another address";
}

INSTANTIATE_TEST_SUITE_P(
    IpAddress, DialledAddress,
    testing::Combine(
        testing::Values(Pair{"RangeAndAddress", {"N 192.0.2.0/24"}, "192.0.2.1", true, true, true},
                        Pair{"HostAndAddress", {"X 192.0.2.1"}, "192.0.2.1", true, true, true},
                        Pair{"BothAndAddress", {"N 192.0.2.0/24", "X 192.0.2.1"}, "192.0.2.1", true, true, true},
                        Pair{"NameAndAddress", {"S a.test"}, "192.0.2.1", true, false, false},
                        Pair{"AllAndAddress", {"N 192.0.2.0/24", "S a.test"}, "192.0.2.1", true, false, false}),
        testing::Values(FreedBy::allow_list, FreedBy::one_filter, FreedBy::override_for_all, FreedBy::narrow_override,
                        FreedBy::delta, FreedBy::white_list)),
    [](const auto& row) {
      return std::string(std::get<0>(row.param).name) + std::to_string(static_cast<int>(std::get<1>(row.param)));
    });

INSTANTIATE_TEST_SUITE_P(
    RangeOfOne, DialledAddress,
    testing::Combine(
        testing::Values(Pair{"RangeAndRange", {"N 192.0.2.0/24"}, "192.0.2.1/32", true, true, true},
                        Pair{"HostAndRange", {"X 192.0.2.1"}, "192.0.2.1/32", true, true, true},
                        Pair{"BothAndRange", {"N 192.0.2.0/24", "X 192.0.2.1"}, "192.0.2.1/32", true, true, true}),
        testing::Values(FreedBy::allow_list, FreedBy::override_for_all, FreedBy::narrow_override, FreedBy::delta,
                        FreedBy::white_list)),
    [](const auto& row) {
      return std::string(std::get<0>(row.param).name) + std::to_string(static_cast<int>(std::get<1>(row.param)));
    });

// A name is freed with the addresses that it is dialled at, and its addresses stay stopped for URLs that name them.
INSTANTIATE_TEST_SUITE_P(
    Name, DialledAddress,
    testing::Combine(testing::Values(Pair{"RangeAndName", {"N 192.0.2.0/24"}, "a.test", false, true, true},
                                     Pair{"HostAndName", {"X 192.0.2.1"}, "a.test", false, true, true},
                                     Pair{"AllAndName", {"N 192.0.2.0/24", "S a.test"}, "a.test", false, true, true}),
                     testing::Values(FreedBy::allow_list, FreedBy::one_filter, FreedBy::override_for_all,
                                     FreedBy::narrow_override, FreedBy::white_list)),
    [](const auto& row) {
      return std::string(std::get<0>(row.param).name) + std::to_string(static_cast<int>(std::get<1>(row.param)));
    });

TEST(DialledAddresses, OfVersion6AreFreedLikewise) {
  for (const FreedBy by : {FreedBy::allow_list, FreedBy::override_for_all, FreedBy::delta, FreedBy::white_list}) {
    FreedPolicy policy({"N 2001:db8::/32", "X [2001:db8::1]"}, by, {"[2001:db8::1]"});
    EXPECT_TRUE(policy.passes_url("http://[2001:db8::1]/a")) << static_cast<int>(by);
    EXPECT_TRUE(policy.passes_dialled("2001:db8::1", "http://a.test/x", Scope::url)) << static_cast<int>(by);
    EXPECT_FALSE(policy.passes_dialled("2001:db8::2", "http://a.test/x", Scope::url)) << static_cast<int>(by);
  }
}

// A URL on the address says nothing of names, and the other way round.
TEST(DialledAddresses, OfUrlsAreNotFreed) {
  for (const FreedBy by : {FreedBy::allow_list, FreedBy::override_for_all, FreedBy::narrow_override}) {
    FreedPolicy policy({"N 192.0.2.0/24"}, by, {"http://192.0.2.1/a"});
    EXPECT_TRUE(policy.passes_url("http://192.0.2.1/a"));
    EXPECT_FALSE(policy.passes_url("http://192.0.2.1/b"));
    EXPECT_FALSE(policy.passes_dialled("192.0.2.1", "http://a.test/a", Scope::url));
  }
}

std::string say_dialled_at(const Policy& policy, const CanonicalUrl& url) {
  return PolicyMaker::say(policy.judge_address(*read_address("192.0.2.1"), url, Scope::url));
}

TEST(DialledAddresses, ThatAreDeniedStopUrlsThatNameThem) {
  PolicyMaker maker({{.name = "drop", .entries = {"S bad.test", "N 192.0.2.0/24"}}}, "a.test\n");
  const auto policy = maker.policy->with({typed_override("192.0.2.1", Override::Action::deny)});
  EXPECT_EQ(PolicyMaker::say(policy->judge(maker.canonicaliser.url("http://192.0.2.1/"))),
            "blocked denied exceptions X 192.0.2.1");
  EXPECT_EQ(say_dialled_at(*policy, maker.canonicaliser.url("http://a.test/")), "allowed allow_list S a.test");
  EXPECT_EQ(say_dialled_at(*policy, maker.canonicaliser.url("http://b.test/")), "blocked listed drop N 192.0.2.0/24");
}

// What is said of the URL comes before what is said of its address.
TEST(DialledAddresses, FreeNoNameThatIsDenied) {
  PolicyMaker maker({{.name = "drop", .entries = {"S bad.test", "N 192.0.2.0/24"}}}, "");
  Override deny = typed_override("a.test", Override::Action::deny);
  deny.id = 2;
  const auto policy = maker.policy->with({typed_override("192.0.2.1"), deny});
  EXPECT_EQ(say_dialled_at(*policy, maker.canonicaliser.url("http://a.test/")), "blocked denied exceptions S a.test");
  EXPECT_EQ(say_dialled_at(*policy, maker.canonicaliser.url("http://b.test/")), "allowed excepted X 192.0.2.1");
}

TEST(DialledAddresses, AreNotFreedFromFiltersThatTakeNoOverrides) {
  PolicyMaker maker({{.name = "drop", .entries = {"S bad.test", "N 192.0.2.0/24"}, .takes_overrides = false}}, "");
  const auto policy = maker.policy->with({typed_override("192.0.2.1")});
  EXPECT_EQ(say_dialled_at(*policy, maker.canonicaliser.url("http://a.test/")), "blocked listed drop N 192.0.2.0/24");
}

TEST(DialledAddresses, OfRangesTakeNoOverride) {
  for (const std::string_view text : {"192.0.2.0/24", "192.0.2.1-192.0.2.2", "2001:db8::/32", "192.0.2.*"}) {
    Override made;
    EXPECT_FALSE(read_override(text, made).has_value()) << text;
    made.action = Override::Action::deny;
    EXPECT_FALSE(read_override(text, made).has_value()) << text;
  }
  Override made;
  made.action = Override::Action::deny;
  EXPECT_FALSE(read_override("192.0.2.1/32", made).has_value()) << "it would not stop names that resolve to it";
}

}  // namespace
}  // namespace bloomwall::filter
