// SPDX-License-Identifier: Apache-2.0
#include "proxy/state/tokens.h"

#include <openssl/evp.h>

#include <algorithm>
#include <cstring>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/encoding.h"
#include "base/names.h"
#include "base/text.h"
#include "proxy/state/json_members.h"
#include "proxy/state/time_text.h"

namespace bloomwall::proxy {
namespace {

constexpr auto kRoleNames = name_table<Role>(
    {{Role::viewer, "viewer"}, {Role::reviewer, "reviewer"}, {Role::maintainer, "operator"}, {Role::admin, "admin"}});

using nlohmann::ordered_json;

constexpr std::string_view kTokenMark = "bw_", kBase32 = "abcdefghijklmnopqrstuvwxyz234567";
constexpr std::size_t kTokenDigits = 32;

}  // namespace

std::string token_text(const TokenBits& bits) {
  std::string text(kTokenMark);
  for (std::size_t digit = 0; digit < kTokenDigits; ++digit) {
    unsigned value = 0;
    for (std::size_t bit = digit * 5; bit < digit * 5 + 5; ++bit) {
      value = value * 2 + ((bits[bit / 8] >> (7 - bit % 8)) & 1U);
    }
    text.push_back(kBase32[value]);
  }
  return text;
}

bool is_token_text(std::string_view text) {
  if (!text.starts_with(kTokenMark) || text.size() != kTokenMark.size() + kTokenDigits) return false;
  text.remove_prefix(kTokenMark.size());
  return std::ranges::all_of(text, [](char c) { return kBase32.find(c) != std::string_view::npos; });
}

TokenDigest digest_of(std::string_view token) {
  TokenDigest digest{};
  EVP_Digest(token.data(), token.size(), digest.data(), nullptr, EVP_sha256(), nullptr);
  return digest;
}

const char* to_string(Role role) { return kRoleNames.text(role); }

std::optional<Role> role_of(std::string_view text) { return kRoleNames.parse(text); }

bool is_token_name(std::string_view name) {
  return !name.empty() && name.size() <= Token::kLongestName && std::ranges::all_of(name, [](char c) {
    return is_alpha(c) || is_digit(c) || c == '.' || c == '_' || c == '-';
  });
}

bool is_token_group(std::string_view group) {
  return !group.empty() && group.size() <= Token::kLongestGroup && std::ranges::all_of(group, [](char c) {
    return static_cast<unsigned char>(c) >= 0x20 && c != 0x7f && c != ',';
  });
}

ordered_json for_people(const Token& token) {
  return {{"name", token.name},
          {"groups", token.groups},
          {"role", token.role ? ordered_json(to_string(*token.role)) : ordered_json()},
          {"created", time_text(token.created)},
          {"until", end_json(token.until)}};
}

ordered_json to_json(const Token& token) {
  ordered_json json = for_people(token);
  json["sha256"] = to_hex(token.digest);
  return json;
}

tl::expected<Token, std::string> token_from(const ordered_json& json) {
  const auto refuse = [](const char* what) { return tl::unexpected(std::string(what)); };
  if (!json.is_object()) return refuse("no object");
  const auto name = text_member(json, "name"), digest = text_member(json, "sha256"), role = text_member(json, "role");
  if (!name || !is_token_name(*name)) return refuse("name: 1 to 64 of A-Z a-z 0-9 . _ - are needed");
  auto groups = texts_member(json, "groups", Token::kMostGroups, Token::kLongestGroup);
  if (!groups || !std::ranges::all_of(*groups, is_token_group)) {
    return refuse("groups: at most 16 names without commas and control octets are needed");
  }
  const auto bytes = digest ? parse_hex<std::tuple_size_v<TokenDigest>>(*digest) : std::nullopt;
  if (!bytes) return refuse("sha256: 64 hexadecimal digits are needed");
  if (member_that_is_no_text(json, {"role"}) != nullptr || (role && !role_of(*role)))
    return refuse("role: viewer, reviewer, operator or admin is needed");
  const auto created = time_member(json, "created"), until = end_member(json);
  if (!created || !until) return refuse("created and until: times such as 2026-01-31T12:00:00Z are needed");
  Token token{.name = *name, .groups = *std::move(groups), .created = *created, .until = *until, .digest = *bytes};
  if (role) token.role = role_of(*role);
  return token;
}

TokenTable::TokenTable(std::vector<Token> tokens) : tokens_(std::move(tokens)) {
  for (std::size_t i = 0; i < tokens_.size(); ++i) {
    by_digest_.emplace(tokens_[i].digest, i);
    by_name_.emplace(tokens_[i].name, i);
  }
  std::string all;
  for (const auto& [name, i] : by_name_) all += to_json(tokens_[i]).dump() + '\n';
  const TokenDigest digest = digest_of(all);
  std::memcpy(&stamp_, digest.data(), sizeof stamp_);
}

const Token* TokenTable::find(const TokenDigest& digest) const {
  const auto at = by_digest_.find(digest);
  return at == by_digest_.end() ? nullptr : &tokens_[at->second];
}

TokenTablePtr CurrentTokens::get() const {
  const std::lock_guard lock(mutex_);
  return tokens_;
}

void CurrentTokens::set(TokenTablePtr tokens) {
  const std::lock_guard lock(mutex_);
  tokens_ = std::move(tokens);
  edition_.fetch_add(1, std::memory_order_release);
}

}  // namespace bloomwall::proxy
