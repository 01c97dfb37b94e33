// SPDX-License-Identifier: Apache-2.0
#include "proxy/auth/basic_credentials.h"

#include <openssl/crypto.h>

#include <algorithm>
#include <utility>

#include "base/encoding.h"
#include "base/text.h"
#include "base/utf8.h"
#include "proxy/auth/user_table.h"

namespace bloomwall::proxy {
namespace {

void wipe(std::string& text) { OPENSSL_cleanse(text.data(), text.capacity()); }

bool is_utf8(std::string_view text) {
  while (!text.empty()) {
    const Utf8Character character = first_character(text);
    if (character.code == Utf8Character::kNone) return false;
    text.remove_prefix(character.size);
  }
  return true;
}

std::string utf8_of_latin1(std::string_view text) {
  std::string out;
  out.reserve(2 * text.size());  // never moved to other memory while it grows
  for (const char c : text) {
    const auto octet = static_cast<unsigned char>(c);
    if (octet >= 0x80) out.push_back(static_cast<char>(0xc0U | octet >> 6U));
    out.push_back(octet < 0x80 ? c : static_cast<char>(0x80U | (octet & 0x3fU)));
  }
  return out;
}

}  // namespace

NameAndPassword::~NameAndPassword() {
  wipe(name);
  wipe(password);
}

std::string_view basic_token(std::string_view field_value) {
  constexpr std::string_view kScheme = "basic ";
  if (!starts_ignoring_case(field_value, kScheme)) return {};
  return trim(field_value.substr(kScheme.size()));
}

std::string_view bearer_token(std::string_view field_value) {
  constexpr std::string_view kScheme = "bearer ";
  if (!starts_ignoring_case(field_value, kScheme)) return {};
  return trim(field_value.substr(kScheme.size()));
}

std::string_view negotiate_token(std::string_view field_value) {
  constexpr std::string_view kScheme = "negotiate ";
  if (!starts_ignoring_case(field_value, kScheme)) return {};
  const std::string_view token = trim(field_value.substr(kScheme.size()));
  return token.size() <= kMostTicket && is_base64(token) ? token : std::string_view();
}

std::optional<NameAndPassword> decode_basic(std::string_view token) {
  NameAndPassword out;
  if (token.size() > kMostBasicToken || !append_from_base64(token, out.password)) return std::nullopt;
  if (!is_utf8(out.password)) {
    std::string text = utf8_of_latin1(out.password);
    out.password.swap(text);
    wipe(text);
  }
  const auto is_control = [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; };
  const std::size_t colon = out.password.find(':');
  if (colon == std::string::npos || colon == 0 || colon > UserTable::kMostName) return std::nullopt;
  if (std::ranges::any_of(out.password, is_control)) return std::nullopt;
  out.name.assign(out.password, 0, colon);
  if (trim(out.name) != out.name) return std::nullopt;
  out.password.erase(0, colon + 1);
  if (out.password.size() > kMostPassword) return std::nullopt;
  return out;
}

}  // namespace bloomwall::proxy
