// One leaf per host however many ask, bounds, rates, and signers that are slow.
// SPDX-License-Identifier: Apache-2.0
#include "proxy/tls/leaf_cache.h"

#include <gtest/gtest.h>

#include <atomic>
#include <future>
#include <latch>
#include <semaphore>
#include <thread>

#include "tests/proxy/tls/authority_fixture.h"

namespace bloomwall::proxy {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using test::AuthorityFolder;

// Signs when it is let, and counts.
class HeldSigner final : public Signer {
 public:
  explicit HeldSigner(SignerPtr inner, bool is_fast = false) : inner_(std::move(inner)), is_fast_(is_fast) {}
  int algorithm() const override { return inner_->algorithm(); }
  bool is_fast() const override { return is_fast_; }
  tl::expected<std::string, std::string> sign(std::span<const unsigned char> octets) const override {
    asked_.fetch_add(1);
    asked_.notify_all();
    let_.acquire();
    if (fails_) return tl::unexpected(std::string("the token is gone"));
    return inner_->sign(octets);
  }
  void let(std::ptrdiff_t times) const { let_.release(times); }
  void await(int times) const {  // until it was asked so often
    for (int asked = asked_; asked < times; asked = asked_) asked_.wait(asked);
  }
  mutable std::atomic<bool> fails_ = false;

 private:
  SignerPtr inner_;
  bool is_fast_;
  mutable std::counting_semaphore<> let_{0};
  mutable std::atomic<int> asked_ = 0;
};

class LeafCacheTest : public testing::Test {
 protected:
  LeafMintPtr held_mint(bool is_fast) {
    test::OddPair pair = test::make_odd({});
    signer_ = std::make_shared<HeldSigner>(*make_signer(std::move(pair.key)), is_fast);
    signer_->let(1);  // loading asks for one signature
    std::vector<X509Ptr> certificates;
    certificates.push_back(std::move(pair.certificate));
    auto authority = CertificateAuthority::make(std::move(certificates), signer_, test::test_terms(), "test");
    EXPECT_TRUE(authority) << authority.error();
    return std::make_shared<LeafMint>(*authority);
  }
  static LeafCache::Done never() {
    return [](const LeafCache::Answer&) { ADD_FAILURE() << "was answered already"; };
  }
  const AuthorityFolder folder_;
  const LeafMintPtr mint_ = std::make_shared<LeafMint>(test::good_authority(folder_));
  std::shared_ptr<HeldSigner> signer_;
  const LeafCache::Clock::time_point now_ = LeafCache::Clock::now();
};

TEST_F(LeafCacheTest, MintsOnceAndGivesItOut) {
  LeafCache cache({});
  const auto first = cache.ask(mint_, "a.test", "client", now_, never());
  const auto second = cache.ask(mint_, "a.test", "other", now_, never());
  ASSERT_TRUE(first && *first && second && *second);
  EXPECT_EQ(**first, **second);
  EXPECT_EQ(cache.figures().minted, 1U);
  EXPECT_EQ(cache.figures().entries, 1U);
  EXPECT_GT(cache.figures().minting.count(), 0);
}

TEST_F(LeafCacheTest, DiesAfterADay) {
  LeafCache cache({});
  const auto first = cache.ask(mint_, "a.test", "client", now_, never());
  const auto later = cache.ask(mint_, "a.test", "client", now_ + std::chrono::hours(23), never());
  const auto next_day = cache.ask(mint_, "a.test", "client", now_ + std::chrono::hours(24), never());
  EXPECT_EQ(**first, **later);
  EXPECT_NE(**first, **next_day);
  EXPECT_EQ(cache.figures().entries, 1U);
}

TEST_F(LeafCacheTest, AnotherGenerationHasItsOwn) {
  LeafCache cache({});
  const AuthorityFolder other_folder;
  const auto other = std::make_shared<LeafMint>(test::good_authority(other_folder));
  const auto first = cache.ask(mint_, "a.test", "client", now_, never());
  const auto second = cache.ask(other, "a.test", "client", now_, never());
  EXPECT_NE(
      X509_NAME_cmp(X509_get_issuer_name((**first)->certificate()), X509_get_issuer_name((**second)->certificate())),
      0);
  EXPECT_EQ(cache.figures().entries, 2U);
}

TEST_F(LeafCacheTest, TheLeastRecentlyUsedGoes) {
  LeafCache cache({.entries = 3, .mints_a_second = 0});
  const auto ask = [&](const char* host) { return **cache.ask(mint_, host, "client", now_, never()); };
  const LeafPtr a = ask("a.test");
  ask("b.test");
  ask("c.test");
  EXPECT_EQ(ask("a.test"), a);
  ask("d.test");  // b goes
  EXPECT_EQ(cache.figures().entries, 3U);
  EXPECT_EQ(ask("a.test"), a);
  EXPECT_EQ(cache.figures().minted, 4U);
  ask("b.test");
  EXPECT_EQ(cache.figures().minted, 5U);
  cache.set_limits({.entries = 1});
  EXPECT_EQ(cache.figures().entries, 1U);
}

TEST_F(LeafCacheTest, AClientHasItsRate) {
  LeafCache cache({.mints_a_second = 20});
  const auto ask = [&](int number, const char* client, LeafCache::Clock::time_point now) {
    return *cache.ask(mint_, "h" + std::to_string(number) + ".test", client, now, never());
  };
  int refused = 0;
  for (int i = 0; i < 50; ++i) {
    const auto answer = ask(i, "one", now_);
    if (answer) continue;
    EXPECT_EQ(answer.error().refusal, LeafCache::Refusal::client_rate);
    ++refused;
  }
  EXPECT_EQ(refused, 30);
  EXPECT_TRUE(ask(0, "one", now_)) << "what is there costs nothing";
  EXPECT_TRUE(ask(100, "other", now_)) << "others have theirs";
  EXPECT_TRUE(ask(101, "one", now_ + milliseconds(50)));
  EXPECT_FALSE(ask(102, "one", now_ + milliseconds(50)));
  int taken = 0;
  for (int i = 200; i < 300; ++i) taken += ask(i, "one", now_ + seconds(100)) ? 1 : 0;
  EXPECT_EQ(taken, 20) << "not saved up";
  EXPECT_FALSE(ask(400, "one", now_)) << "a clock that is put back gives nothing";
  EXPECT_EQ(cache.figures().refused, 112U);
}

TEST_F(LeafCacheTest, RatesOfFewClientsAreRemembered) {
  LeafCache cache({.mints_a_second = 1, .clients = 100});
  int taken = 0;
  for (int i = 0; i < 1'000; ++i) {
    const auto answer = cache.ask(mint_, "h" + std::to_string(i) + ".test", std::to_string(i % 50), now_, never());
    taken += *answer ? 1 : 0;
  }
  EXPECT_EQ(taken, 50);
}

TEST_F(LeafCacheTest, HostsThatNoCertificateHoldsCostNothing) {
  LeafCache cache({.mints_a_second = 1});
  for (int i = 0; i < 5; ++i) {
    const auto answer = cache.ask(mint_, "*.test", "client", now_, never());
    ASSERT_TRUE(answer && !*answer);
    EXPECT_EQ(answer->error().refusal, LeafCache::Refusal::bad_host);
  }
  EXPECT_TRUE(*cache.ask(mint_, "a.test", "client", now_, never()));
}

TEST_F(LeafCacheTest, FiftyWhoAskAtOnceGetOneLeaf) {
  LeafCache cache({});
  constexpr int kAskers = 50;
  std::latch begin(kAskers), answered(kAskers);
  std::mutex mutex;
  std::set<LeafPtr> leaves;
  std::vector<std::thread> askers;
  for (int i = 0; i < kAskers; ++i) {
    askers.emplace_back([&, i] {
      const auto note = [&](const LeafCache::Answer& answer) {
        const std::lock_guard lock(mutex);
        leaves.insert(answer ? *answer : nullptr);
        answered.count_down();
      };
      begin.arrive_and_wait();
      const auto answer = cache.ask(mint_, "new.test", "client" + std::to_string(i), now_, note);
      if (answer) note(*answer);
    });
  }
  answered.wait();
  for (std::thread& asker : askers) asker.join();
  EXPECT_EQ(leaves.size(), 1U);
  EXPECT_NE(*leaves.begin(), nullptr);
  EXPECT_EQ(cache.figures().minted, 1U);
}

TEST_F(LeafCacheTest, ManyThreadsAndHosts) {
  LeafCache cache({.entries = 16, .mints_a_second = 0});
  std::vector<std::thread> askers;
  std::atomic<int> answers = 0;
  for (int t = 0; t < 4; ++t) {
    askers.emplace_back([&, t] {
      for (int i = 0; i < 200; ++i) {
        const auto count = [&](const LeafCache::Answer& answer) { answers += answer ? 1 : 0; };
        const auto answer = cache.ask(mint_, "h" + std::to_string((i * 7 + t) % 40) + ".test", "c", now_, count);
        if (answer) count(*answer);
        if (i % 50 == 0) cache.set_limits({.entries = 16, .mints_a_second = 0});
      }
    });
  }
  for (std::thread& asker : askers) asker.join();
  EXPECT_EQ(answers, 800) << "each minting thread has answered all that waited for it";
  EXPECT_LE(cache.figures().entries, 16U);
}

TEST_F(LeafCacheTest, WhoComesWhileAnotherThreadMintsIsAnsweredByIt) {
  const LeafMintPtr mint = held_mint(true);
  LeafCache cache({});
  std::thread first([&] { EXPECT_TRUE(*cache.ask(mint, "a.test", "client", now_, never())); });
  signer_->await(2);
  std::promise<LeafPtr> promise;
  EXPECT_FALSE(cache.ask(mint, "a.test", "other", now_,
                         [&](const LeafCache::Answer& got) { promise.set_value(got ? *got : nullptr); }));
  signer_->let(1);
  EXPECT_NE(promise.get_future().get(), nullptr);
  first.join();
  EXPECT_EQ(cache.figures().minted, 1U);
}

TEST_F(LeafCacheTest, ASlowSignerNeverHoldsTheCallerUp) {
  const LeafMintPtr mint = held_mint(false);
  LeafCache cache({.waiting = 2});
  std::vector<std::promise<LeafPtr>> promises(4);
  const auto into = [&](std::size_t i) {
    return [&promises, i](const LeafCache::Answer& got) { promises[i].set_value(got ? *got : nullptr); };
  };
  EXPECT_FALSE(cache.ask(mint, "a.test", "client", now_, into(0)));
  EXPECT_FALSE(cache.ask(mint, "a.test", "client", now_, into(1)));
  signer_->let(1);
  const LeafPtr one = promises[0].get_future().get();
  EXPECT_NE(one, nullptr);
  EXPECT_EQ(promises[1].get_future().get(), one);
  EXPECT_EQ(**cache.ask(mint, "a.test", "client", now_, never()), one);
  signer_->fails_ = true;
  EXPECT_FALSE(cache.ask(mint, "b.test", "client", now_, into(2)));
  signer_->let(1);
  EXPECT_EQ(promises[2].get_future().get(), nullptr);
  signer_->fails_ = false;
  EXPECT_FALSE(cache.ask(mint, "b.test", "client", now_, into(3))) << "a failure is not remembered";
  signer_->let(1);
  EXPECT_NE(promises[3].get_future().get(), nullptr);
}

TEST_F(LeafCacheTest, TooManyHostsForASlowSignerAreRefused) {
  const LeafMintPtr mint = held_mint(false);
  std::atomic<int> answered = 0;
  {
    LeafCache cache({.mints_a_second = 0, .waiting = 3});
    int waiting = 0;
    for (int i = 0; i < 20; ++i) {
      const auto answer = cache.ask(mint, "h" + std::to_string(i) + ".test", "client", now_,
                                    [&](const LeafCache::Answer&) { ++answered; });
      if (!answer) {
        ++waiting;
      } else {
        EXPECT_EQ(answer->error().refusal, LeafCache::Refusal::overload);
      }
    }
    EXPECT_GE(waiting, 3);
    EXPECT_LE(waiting, 4) << "one may be with the signer";
    signer_->let(1);  // so that the thread can end
  }
  EXPECT_LE(answered, 1);
}

TEST(LeafRefusals, HaveNames) {
  for (const auto refusal : {LeafCache::Refusal::bad_host, LeafCache::Refusal::client_rate,
                             LeafCache::Refusal::overload, LeafCache::Refusal::mint}) {
    EXPECT_STRNE(to_string(refusal), "unknown");
  }
}

}  // namespace
}  // namespace bloomwall::proxy
