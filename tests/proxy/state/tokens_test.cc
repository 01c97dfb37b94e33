// Tokens as texts, as JSON and as a table that threads share.
// SPDX-License-Identifier: Apache-2.0
#include "proxy/state/tokens.h"

#include <gtest/gtest.h>

#include <atomic>
#include <nlohmann/json.hpp>
#include <set>
#include <thread>

#include "base/encoding.h"

namespace bloomwall::proxy {
namespace {

using nlohmann::ordered_json;

TokenBits bits_of(std::uint8_t first) {
  TokenBits bits{};
  bits.front() = first;
  return bits;
}

TEST(TokenText, HasAllBitsAndIsRecognised) {
  EXPECT_EQ(token_text({}), "bw_" + std::string(32, 'a'));
  TokenBits all{};
  all.fill(0xff);
  EXPECT_EQ(token_text(all), "bw_" + std::string(32, '7'));
  std::set<std::string> seen;
  for (std::size_t bit = 0; bit < 160; ++bit) {
    TokenBits bits{};
    bits[bit / 8] = static_cast<std::uint8_t>(1U << (bit % 8));
    EXPECT_TRUE(is_token_text(token_text(bits)));
    seen.insert(token_text(bits));
  }
  EXPECT_EQ(seen.size(), 160U) << "every bit shows";
}

TEST(TokenText, NothingElseIsOne) {
  const std::string good = token_text(bits_of(1));
  for (const std::string& text :
       {std::string(), std::string("bw_"), good.substr(1), good + "a", "bw_" + std::string(32, '1'),
        "bw_" + std::string(32, 'A'), "xx_" + good.substr(3), good.substr(0, good.size() - 1)}) {
    EXPECT_FALSE(is_token_text(text)) << text;
  }
}

TEST(TokenText, ItsDigestIsSha256) {
  EXPECT_EQ(to_hex(digest_of("abc")), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
}

TEST(Roles, EachMayDoWhatThoseBeforeItMay) {
  EXPECT_LT(Role::viewer, Role::reviewer);
  EXPECT_LT(Role::reviewer, Role::maintainer);
  EXPECT_LT(Role::maintainer, Role::admin);
  for (const Role role : {Role::viewer, Role::reviewer, Role::maintainer, Role::admin}) {
    EXPECT_EQ(role_of(to_string(role)), role);
  }
  EXPECT_EQ(role_of("root"), std::nullopt);
}

TEST(TokenJson, ReadsBackAndShowsNoDigestToPeople) {
  const Token token{.name = "ci",
                    .groups = {"build", "night shift"},
                    .role = Role::maintainer,
                    .created = 1'700'000'000,
                    .until = 1'800'000'000,
                    .digest = digest_of("x")};
  const auto read = token_from(to_json(token));
  ASSERT_TRUE(read.has_value()) << read.error();
  EXPECT_EQ(read->name, token.name);
  EXPECT_EQ(read->groups, token.groups);
  EXPECT_EQ(read->role, token.role);
  EXPECT_EQ(read->until, token.until);
  EXPECT_EQ(read->digest, token.digest);
  EXPECT_EQ(for_people(token).dump().find(to_hex(token.digest)), std::string::npos);
}

TEST(TokenJson, RefusesWhatIsNone) {
  const ordered_json good = to_json(Token{.name = "ci", .created = 1, .digest = digest_of("x")});
  ASSERT_TRUE(token_from(good).has_value()) << token_from(good).error();
  const std::vector<std::pair<const char*, ordered_json>> changes{
      {"name", "a b"},
      {"name", ""},
      {"name", std::string(65, 'a')},
      {"name", 7},
      {"groups", "build"},
      {"groups", {"a,b"}},
      {"groups", {""}},
      {"role", "root"},
      {"role", 7},
      {"role", {"viewer"}},
      {"sha256", "00"},
      {"until", "soon"},
      {"created", "today"},
      {"groups", ordered_json::array({std::string(65, 'g')})}};
  for (const auto& [member, value] : changes) {
    ordered_json bad = good;
    bad[member] = value;
    EXPECT_FALSE(token_from(bad).has_value()) << bad.dump();
  }
  EXPECT_FALSE(token_from(ordered_json::array()).has_value());
}

TEST(CurrentTokens, ShowsEachChangeToEveryThread) {
  CurrentTokens current;
  ASSERT_NE(current.get(), nullptr);
  const TokenDigest digest = digest_of("x");
  EXPECT_EQ(current.get()->find(digest), nullptr);
  const auto before = current.edition();
  std::atomic<bool> is_seen{false};
  std::jthread reader([&] {
    while (current.get()->find(digest) == nullptr) std::this_thread::yield();
    is_seen = current.edition() != before;
  });
  current.set(std::make_shared<const TokenTable>(std::vector<Token>{{.name = "ci", .digest = digest}}));
  reader.join();
  EXPECT_TRUE(is_seen);
  EXPECT_EQ(current.get()->find(digest)->name, "ci");
}

}  // namespace
}  // namespace bloomwall::proxy
