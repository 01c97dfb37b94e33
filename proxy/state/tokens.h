// Tokens: what programs log in with, at the proxy in place of a password and at the API. "bw_" and 32 of a-z 2-7: 160
// random bits, so that SHA-256, which is all that is kept of them, need not be slow. A token names its holder by
// itself, so that no name has to be sent with it. `bloomwall token add|list|remove` makes and removes them; the state
// (state_store.h) keeps them.
// Whoever checks tokens asks CurrentTokens each time: a removed token is refused at once.
//   if (is_token_text(text)) {
//     const TokenTablePtr tokens = current.get();
//     const Token* token = tokens->find(digest_of(text));
//     if (token != nullptr && now < token->until) ...
// Threads: CurrentTokens any; a TokenTable is immutable.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <mutex>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <tl/expected.hpp>
#include <vector>

namespace bloomwall::proxy {

using TokenBits = std::array<std::uint8_t, 20>;    // random
using TokenDigest = std::array<std::uint8_t, 32>;  // SHA-256 of the token's text

std::string token_text(const TokenBits& bits);  // the digits are those of RFC 4648 section 6, in small letters
// Whether it could be one of token_text(): of anything else, which may be weak, no digest is compared.
bool is_token_text(std::string_view text);
TokenDigest digest_of(std::string_view token);

// What a person or a program may do with the API: each may do what those before it may.
enum class Role : std::uint8_t { viewer, reviewer, maintainer, admin };
const char* to_string(Role role);  // "operator" for maintainer
std::optional<Role> role_of(std::string_view text);

struct Token {
  static constexpr std::size_t kMost = 10'000, kMostGroups = 16, kLongestGroup = 64, kLongestName = 64;
  static constexpr std::int64_t kForever = std::numeric_limits<std::int64_t>::max();

  std::string name;  // of its holder; 1 to 64 of A-Z a-z 0-9 . _ -, each once
  // User groups that its holder is in; of one with the role reviewer also the groups for which alone it may change
  // anything.
  std::vector<std::string> groups = {};
  std::optional<Role> role = {};               // at the API; nothing: it is for the proxy alone
  std::int64_t created = 0, until = kForever;  // seconds since 1970; from `until` on it is refused
  TokenDigest digest{};
};
bool is_token_name(std::string_view name);
bool is_token_group(std::string_view group);  // 1 to 64 octets, no control octet and no comma

// As the database has it; for_people(): without the digest.
nlohmann::ordered_json to_json(const Token& token);
nlohmann::ordered_json for_people(const Token& token);
tl::expected<Token, std::string> token_from(const nlohmann::ordered_json& json);

class TokenTable {
 public:
  explicit TokenTable(std::vector<Token> tokens);
  TokenTable(const TokenTable&) = delete;
  TokenTable& operator=(const TokenTable&) = delete;

  const Token* find(const TokenDigest& digest) const;  // one that has ended as well; null: unknown
  bool has_holder(std::string_view name) const { return by_name_.contains(name); }
  const std::vector<Token>& all() const { return tokens_; }
  // Those whose names are behind `name`, in the order of names, until `visit` returns false.
  template <typename Visit>
  void each_after(std::string_view name, const Visit& visit) const {
    for (auto at = by_name_.upper_bound(name); at != by_name_.end() && visit(tokens_[at->second]);) ++at;
  }
  std::uint64_t stamp() const { return stamp_; }  // equal for tables with equal tokens

 private:
  std::vector<Token> tokens_;
  std::map<std::string, std::size_t, std::less<>> by_name_;
  std::uint64_t stamp_ = 0;
  std::map<TokenDigest, std::size_t> by_digest_;
};
using TokenTablePtr = std::shared_ptr<const TokenTable>;

// The tokens of now, for every thread.
class CurrentTokens {
 public:
  TokenTablePtr get() const;  // never null
  void set(TokenTablePtr tokens);
  // Another number after each set(): who keeps what a look-up has said forgets it then. No lock.
  std::uint64_t edition() const { return edition_.load(std::memory_order_acquire); }

 private:
  mutable std::mutex mutex_;
  TokenTablePtr tokens_ = std::make_shared<const TokenTable>(std::vector<Token>());  // guarded by mutex_
  std::atomic<std::uint64_t> edition_{1};
};

}  // namespace bloomwall::proxy
