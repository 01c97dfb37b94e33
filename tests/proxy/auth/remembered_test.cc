// What is remembered of credentials: their keys, what a check said, and how many were refused.
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <openssl/evp.h>

#include <array>
#include <cstddef>
#include <cstring>
#include <set>
#include <string>
#include <vector>

#include "base/encoding.h"
#include "proxy/auth/attempt_limits.h"
#include "proxy/auth/credential_cache.h"
#include "proxy/auth/credential_key.h"
#include "proxy/auth/siphash.h"

namespace bloomwall::proxy {
namespace {

using Kind = CredentialHasher::Kind;

// Another implementation says the same: printf '\x01token' | openssl dgst -sha256 -mac HMAC -macopt hexkey:0b0b...
TEST(CredentialKey, IsHmacSha256) {
  CredentialHasher::Secret secret;
  secret.fill(0x0b);
  CredentialHasher hasher(secret);
  const CredentialKey key = hasher.key_of(Kind::basic, "token");
  EXPECT_EQ(to_hex(key), "1a296dd2a9bc7172c3b9d89abeccc41b45d778fd256300a14fa0c7367432f7cc");
  EXPECT_EQ(hasher.key_of(Kind::basic, "token"), key) << "the context is used again";
}

TEST(CredentialKey, DependsOnSecretKindAndText) {
  CredentialHasher first({1}), second({2});
  const std::set<CredentialKey> keys{first.key_of(Kind::basic, "a"), first.key_of(Kind::basic, "b"),
                                     first.key_of(Kind::user_name, "a"), second.key_of(Kind::basic, "a"),
                                     first.key_of(Kind::basic, "")};
  EXPECT_EQ(keys.size(), 5U);
}

// OpenSSL's implementation says the same.
TEST(SipHash, IsThatOfOpenSsl) {
  std::array<unsigned char, 16> octets{};
  for (std::size_t i = 0; i < octets.size(); ++i) octets[i] = static_cast<unsigned char>(i * 37 + 11);
  SipKey key{};
  std::memcpy(key.data(), octets.data(), sizeof key);
  std::string text;
  for (std::size_t length = 0; length <= 300; ++length) {
    std::array<unsigned char, 16> wanted{};
    std::size_t size = 0;
    const unsigned char* const out = EVP_Q_mac(nullptr, "SIPHASH", nullptr, nullptr, nullptr, octets.data(),
                                               octets.size(), reinterpret_cast<const unsigned char*>(text.data()),
                                               text.size(), wanted.data(), wanted.size(), &size);
    ASSERT_NE(out, nullptr);
    ASSERT_EQ(size, wanted.size());
    const SipHash hash = siphash(key, text);
    ASSERT_EQ(std::memcmp(hash.data(), wanted.data(), wanted.size()), 0) << length;
    text.push_back(static_cast<char>(length * 73 + 5));
  }
}

// More texts than are remembered, in turns, of each length and kind: as by a hasher that remembers nothing yet.
TEST(CredentialKey, IsTheSameWhereItIsRemembered) {
  const CredentialHasher::Secret secret{7};
  CredentialHasher hasher(secret);
  std::vector<std::string> texts{"", std::string(1, '\0'), std::string(CredentialHasher::kMostRemembered + 1, 'x')};
  for (unsigned i = 0; i < 3 * CredentialHasher::kRemembered; ++i)
    texts.push_back(std::string(i, 'a') + std::to_string(i));
  std::set<CredentialKey> keys;
  for (int round = 0; round < 3; ++round) {
    for (const std::string& text : texts) {
      for (const Kind kind : {Kind::basic, Kind::user_name, Kind::negotiate, Kind::helper_user, Kind::helper_group}) {
        const CredentialKey named = CredentialHasher(secret).key_of(kind, text);
        ASSERT_EQ(hasher.key_of(kind, text), named) << text;
        ASSERT_EQ(hasher.key_of(kind, text), named) << text;
        keys.insert(named);
      }
    }
  }
  EXPECT_EQ(keys.size(), 5 * texts.size());
}

constexpr Milliseconds kNow{1'000'000};

CredentialKey key(unsigned number) {
  CredentialKey key{};
  for (std::size_t i = 0; i < 4; ++i) key[i] = static_cast<std::uint8_t>(number >> (8 * i));
  key.back() = static_cast<std::uint8_t>(number);
  return key;
}

constexpr CredentialCache::Ages kAges{.yes = Milliseconds(100), .no = Milliseconds(50)};

TEST(CredentialCache, HoldsYesAndNoUntilTheirEnds) {
  CredentialCache cache;
  const auto alice = std::make_shared<const User>(User{.name = "alice"});
  EXPECT_EQ(cache.find(key(1), 7, kAges, kNow), std::nullopt);
  cache.put(key(1), {.user = alice, .edition = 7, .since = kNow});
  cache.put(key(2), {.user = nullptr, .edition = 7, .since = kNow});
  EXPECT_EQ(cache.find(key(1), 7, kAges, kNow), std::optional<UserPtr>(alice));
  EXPECT_EQ(cache.find(key(2), 7, kAges, kNow), std::optional<UserPtr>(nullptr));
  EXPECT_EQ(cache.find(key(2), 7, kAges, kNow + Milliseconds(50)), std::nullopt);
  EXPECT_EQ(cache.find(key(1), 7, kAges, kNow + Milliseconds(99)), std::optional<UserPtr>(alice));
  EXPECT_EQ(cache.find(key(1), 7, {.yes = Milliseconds(200)}, kNow + Milliseconds(150)), std::optional<UserPtr>(alice))
      << "as long as the settings say by now";
  EXPECT_EQ(cache.find(key(1), 8, kAges, kNow), std::nullopt) << "the sources are others";
  EXPECT_EQ(cache.size(), 0U) << "what does not hold any more is dropped";
}

TEST(CredentialCache, AsksOnceForEachEditionWhoAUserIs) {
  CredentialCache cache;
  const auto before = std::make_shared<const User>(User{.name = "alice"});
  const auto after = std::make_shared<const User>(User{.name = "alice", .groups = {"staff"}});
  cache.put(key(1), {.user = before, .spelt = "Alice", .edition = 7, .since = kNow});
  cache.put(key(2), {.user = nullptr, .edition = 7, .since = kNow});
  int asked = 0;
  const auto still = [&](const CredentialCache::Result& known) {
    ++asked;
    EXPECT_EQ(known.spelt, "Alice");
    return after;
  };
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(cache.find(key(1), 8, kAges, kNow, still), std::optional<UserPtr>(after));
  }
  EXPECT_EQ(asked, 1);
  EXPECT_EQ(cache.find(key(2), 8, kAges, kNow, still), std::nullopt) << "a no is not known of other sources";
  EXPECT_EQ(cache.users().size(), 1U);
}

TEST(CredentialCache, IsBounded) {
  CredentialCache cache;
  const auto alice = std::make_shared<const User>(User{.name = "alice"});
  constexpr std::size_t kMost = CredentialCache::kShards * CredentialCache::kMostOfShard;
  cache.put(key(0), {.user = alice, .edition = 1, .since = kNow - Milliseconds(1)});
  for (unsigned i = 1; i < kMost + 10'000; ++i) {
    cache.put(key(i), {.user = nullptr, .edition = 1, .since = kNow + Milliseconds(i)});
  }
  EXPECT_LE(cache.size(), kMost);
  EXPECT_GT(cache.size(), kMost / 2);
  EXPECT_NE(cache.find(key(kMost + 9'999), 1, {.no = Milliseconds(1'000'000)}, kNow), std::nullopt)
      << "the newest one is there";
  EXPECT_NE(cache.find(key(0), 1, kAges, kNow), std::nullopt) << "guesses drive out nobody";
}

constexpr Milliseconds kLock{900'000};

TEST(AttemptLimits, LockAfterSoManyRefusalsWithinAMinute) {
  AttemptLimits limits;
  const AttemptLimits::Key one{1}, other{2};
  for (int i = 0; i < 9; ++i) limits.note_refusal(one, 10, kLock, kNow);
  EXPECT_EQ(limits.locked_for(one, kNow), Milliseconds(0));
  limits.note_refusal(one, 10, kLock, kNow + Milliseconds(59'999));
  EXPECT_EQ(limits.locked_for(one, kNow + Milliseconds(59'999)), kLock);
  EXPECT_EQ(limits.locked_for(other, kNow), Milliseconds(0));
  EXPECT_EQ(limits.locked_for(one, kNow + Milliseconds(59'999) + kLock), Milliseconds(0));
}

TEST(AttemptLimits, CountWhoIsLockedNow) {
  AttemptLimits limits;
  for (std::uint8_t name = 1; name <= 3; ++name)
    limits.note_refusal({name}, name, Milliseconds(1000 * name), Milliseconds(1));
  limits.note_refusal({2}, 2, Milliseconds(2000), Milliseconds(1));
  EXPECT_EQ(limits.locked(Milliseconds(1)), 2U);
  EXPECT_EQ(limits.locked(Milliseconds(1001)), 1U);
  EXPECT_EQ(limits.locked(Milliseconds(2001)), 0U);
  EXPECT_EQ(limits.size(), 3U);
}

TEST(AttemptLimits, ForgetRefusalsOfEarlierMinutes) {
  AttemptLimits limits;
  const AttemptLimits::Key one{1};
  for (int minute = 0; minute < 5; ++minute) {
    for (int i = 0; i < 9; ++i) limits.note_refusal(one, 10, kLock, kNow + minute * AttemptLimits::kWindow);
    EXPECT_EQ(limits.locked_for(one, kNow + minute * AttemptLimits::kWindow), Milliseconds(0));
  }
}

TEST(AttemptLimits, SayHowManyRefusalsAreLeft) {
  AttemptLimits limits;
  const AttemptLimits::Key one{1};
  EXPECT_EQ(limits.left(one, 3, kNow), 3U);
  limits.note_refusal(one, 3, kLock, kNow);
  EXPECT_EQ(limits.left(one, 3, kNow), 2U);
  EXPECT_EQ(limits.left(one, 1, kNow), 1U) << "after a reload with fewer";
  EXPECT_EQ(limits.left(one, 3, kNow + AttemptLimits::kWindow), 3U);
  for (int i = 0; i < 2; ++i) limits.note_refusal(one, 3, kLock, kNow);
  EXPECT_EQ(limits.left(one, 3, kNow), 0U);
  EXPECT_EQ(limits.left(one, 3, kNow + kLock), 3U);
}

TEST(AttemptLimits, AreBounded) {
  AttemptLimits limits;
  for (std::size_t i = 0; i < AttemptLimits::kMost + 1000; ++i) {
    AttemptLimits::Key key{};
    for (std::size_t octet = 0; octet < 4; ++octet) key[octet] = static_cast<std::uint8_t>(i >> (8 * octet));
    limits.note_refusal(key, 10, kLock, kNow);
  }
  EXPECT_EQ(limits.size(), AttemptLimits::kMost);
}

}  // namespace
}  // namespace bloomwall::proxy
