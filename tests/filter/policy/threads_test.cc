// One policy, many threads: what ThreadSanitizer should see.
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "tests/filter/policy/policy_maker.h"

namespace bloomwall::filter {
namespace {

TEST(PolicyThreads, JudgeTheSamePolicyAtOnce) {
  PolicyMaker policy(
      {{.name = "f", .entries = {"S bad.test", "D shop.test/evil/"}, .changes = "+new.test\n-gone.test\n"},
       {.name = "m", .entries = {"S seen.test"}, .action = FilterAction::monitor}},
      "ok.bad.test\nx.shop.test @f\n");
  const std::vector<std::string> urls{"bad.test", "ok.bad.test/x", "shop.test/evil/y", "x.shop.test/evil/y",
                                      "new.test", "gone.test",     "seen.test",        "plain.test/a/b?c"};
  std::vector<std::string> expected;
  for (const std::string& url : urls) expected.push_back(policy.say(url));
  std::atomic<int> wrong = 0;
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      Canonicaliser canonicaliser;
      for (int i = 0; i < 500; ++i) {
        for (std::size_t u = 0; u < urls.size(); ++u) {
          const CanonicalUrl& url = canonicaliser.url(urls[u]);
          if (PolicyMaker::say(policy.policy->judge(url)) != expected[u]) ++wrong;
          if (i % 50 == 0 && PolicyMaker::say(policy.policy->explain(url).verdict) != expected[u]) ++wrong;
          policy.policy->judge_host(url);
        }
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0);
}

TEST(PolicyThreads, TheLastHolderFreesIt) {
  auto policy = std::make_unique<PolicyMaker>(std::vector<TestFilter>{{.name = "f", .entries = {"S bad.test"}}}, "");
  std::weak_ptr<const Policy> watched = policy->policy;
  std::vector<std::thread> threads;
  std::atomic<int> blocked = 0;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&blocked, held = policy->policy] {
      Canonicaliser canonicaliser;
      for (int i = 0; i < 200; ++i) blocked += held->judge(canonicaliser.url("bad.test")).decision == Decision::blocked;
    });
  }
  policy->policy.reset();
  for (std::thread& thread : threads) thread.join();
  threads.clear();
  EXPECT_EQ(blocked, 800);
  EXPECT_TRUE(watched.expired());
}

// A file shrinks while others are asked: every answer is either from before, or that of a lost filter.
TEST(PolicyThreads, AFilterMayBeLostWhileItIsAsked) {
  PolicyMaker policy({{.name = "f", .entries = {"S bad.test", "S worse.test"}}}, "");
  std::atomic<int> wrong = 0;
  std::atomic<int> lost = 0;
  std::vector<std::thread> threads;
  for (int t = 0; t < 3; ++t) {
    threads.emplace_back([&] {
      Canonicaliser canonicaliser;
      for (int i = 0; i < 100'000; ++i) {
        const std::string says = PolicyMaker::say(policy.policy->judge(canonicaliser.url("bad.test")));
        if (says == "blocked filter_lost f") {
          ++lost;
          return;
        }
        if (says != "blocked listed f S bad.test") ++wrong;
      }
    });
  }
  std::filesystem::resize_file(policy.file_of("f"), 4096);
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0);
  EXPECT_EQ(lost, 3);
}

}  // namespace
}  // namespace bloomwall::filter
