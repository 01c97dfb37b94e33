// Overrides that are made from others decide as those that are made anew, and make what has changed alone.
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "filter/policy/overrides.h"
#include "tests/filter/policy/policy_maker.h"
#include "tests/support/seed.h"

namespace bloomwall::filter {
namespace {

std::vector<TestFilter> filters_to_overrule() {
  return {{.name = "ads", .entries = {"S x.test"}}, {.name = "malware", .entries = {"S y.test", "U x.test/a"}}};
}

Override allow_of(std::uint64_t id, const std::string& entry) {
  Override made;
  made.id = id;
  EXPECT_TRUE(read_override(entry, made).has_value()) << entry;
  return made;
}

class Changes {
 public:
  explicit Changes(unsigned seed) : random_(seed) {}

  // Some more, some fewer, and now and then one that says something else, or nearly none any more.
  void change(std::vector<Override>& all) {
    for (unsigned more = random_() % 4; more > 0; --more) all.push_back(any());
    const unsigned one_of = random_() % 16 == 0 ? 2 : 8;
    std::erase_if(all, [&](const Override&) { return random_() % one_of == 0; });
    if (!all.empty() && random_() % 4 == 0) all[random_() % all.size()].until = random_() % 2 == 0 ? 1 : kLater;
    if (all.size() > 1 && random_() % 16 == 0) std::swap(all.front(), all.back());  // out of order
  }

 private:
  static constexpr std::int64_t kLater = Override::kForever - 1;
  std::string pick(const std::vector<std::string>& from) { return from[random_() % from.size()]; }
  Override any() {
    const std::string host = pick({"x.test", "a.x.test", "y.test", "z.y.test"});
    Override made = allow_of(next_id_++, "http://" + host + pick({"", "/a", "/a/b"}));
    if (random_() % 2 == 0) made.action = Override::Action::deny;
    if (random_() % 3 == 0) made.filters = {pick({"ads", "malware", "none"})};
    if (random_() % 4 == 0) made.user = pick({"anna", "ben"});
    if (made.user.empty() && random_() % 4 == 0) made.group = "pupils";
    return made;
  }
  std::mt19937 random_;
  std::uint64_t next_id_ = 1;
};

TEST(OverridesFromOthers, DecideAsThoseThatAreMadeAnew) {
  const std::uint32_t seed = bloomwall::test::test_seed();
  SCOPED_TRACE(testing::Message() << "seed " << seed);
  Changes changes(seed);
  PolicyMaker made(filters_to_overrule(), "");
  const auto plain = made.policy;
  auto changed = plain;
  std::vector<Override> all;
  Canonicaliser canonicaliser;
  for (int round = 0; round < 300; ++round) {
    changes.change(all);
    changed = changed->with(all);
    const auto anew = plain->with(all);
    ASSERT_EQ(changed->overrides(), all.size());
    ASSERT_EQ(changed->overrides_ask_who(), anew->overrides_ask_who());
    for (const std::string host : {"x.test", "a.x.test", "y.test", "z.y.test", "other.test"}) {
      for (const std::string user : {"", "anna", "ben"}) {
        const Asker asker{.user = user, .group = user == "ben" ? "pupils" : ""};
        const auto has_marks = [&](const Policy& policy) {
          return policy.judge_host(canonicaliser.host(host), asker).host_has_marks;
        };
        ASSERT_EQ(has_marks(*changed), has_marks(*anew)) << host << " for " << user << ", round " << round;
      }
      for (const std::string path : {"/", "/a", "/a/b"}) {
        for (const std::string user : {"", "anna", "ben"}) {
          const Asker asker{.user = user, .group = user == "ben" ? "pupils" : ""};
          const std::string text = "http://" + host + path;
          const Verdict wanted = anew->judge(canonicaliser.url(text), asker);
          const Verdict got = changed->judge(canonicaliser.url(text), asker);
          ASSERT_EQ(got.reason, wanted.reason) << text << " for " << user << ", round " << round;
          ASSERT_EQ(got.exception, wanted.exception) << text << " for " << user << ", round " << round;
        }
      }
    }
  }
}

TEST(OverridesFromOthers, MakeWhatHasChangedAlone) {
  const std::vector<std::string> filters{"ads"};
  const KeyMaker keys{SeriesKey{}};
  std::vector<Override> all;
  for (std::uint64_t id = 1; id <= Overrides::kMost - 1; ++id)
    all.push_back(allow_of(id, "h" + std::to_string(id) + ".test"));
  const Overrides first(keys, filters, all);
  EXPECT_EQ(first.made(), all.size());
  all.push_back(allow_of(Overrides::kMost, "new.test"));
  const Overrides second(keys, filters, all, &first);
  EXPECT_EQ(second.made(), 1U);
  EXPECT_EQ(second.size(), all.size());
  all.erase(all.begin() + 7);
  const Overrides third(keys, filters, all, &second);
  EXPECT_EQ(third.made(), 0U);
  EXPECT_EQ(third.size(), all.size());
}

}  // namespace
}  // namespace bloomwall::filter
