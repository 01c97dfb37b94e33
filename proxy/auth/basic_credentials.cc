// SPDX-License-Identifier: Apache-2.0
#include "proxy/auth/basic_credentials.h"

#include <openssl/crypto.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <utility>

#include "base/text.h"
#include "base/utf8.h"
#include "proxy/auth/user_table.h"

namespace bloomwall::proxy {
namespace {

constexpr std::array<std::int8_t, 256> make_base64_values() {
  constexpr std::string_view kAlphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::array<std::int8_t, 256> values{};
  for (auto& value : values) value = -1;
  for (std::size_t i = 0; i < kAlphabet.size(); ++i) {
    values[static_cast<unsigned char>(kAlphabet[i])] = static_cast<std::int8_t>(i);
  }
  return values;
}
constexpr std::array<std::int8_t, 256> kBase64Values = make_base64_values();

void wipe(std::string& text) { OPENSSL_cleanse(text.data(), text.capacity()); }

// Whole groups of four, with their padding; bits that are left over must be zero (RFC 4648 section 3.5).
bool decode_base64(std::string_view text, std::string& out) {
  if (text.empty() || text.size() % 4 != 0) return false;
  const std::size_t padding = text.ends_with("==") ? 2 : text.ends_with('=') ? 1 : 0;
  text.remove_suffix(padding);
  out.reserve(text.size());  // never moved to other memory while it grows
  std::uint32_t bits = 0;
  unsigned count = 0;
  for (const char c : text) {
    const signed char value = kBase64Values[static_cast<unsigned char>(c)];
    if (value < 0) return false;
    bits = (bits << 6) | static_cast<std::uint32_t>(value);
    count += 6;
    if (count < 8) continue;
    count -= 8;
    out.push_back(static_cast<char>((bits >> count) & 0xff));
  }
  return (bits & ((1U << count) - 1)) == 0;
}

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
  std::string_view digits = token;
  while (digits.ends_with('=')) digits.remove_suffix(1);
  const auto is_digit_of = [](char c) { return kBase64Values[static_cast<unsigned char>(c)] >= 0; };
  const bool is_base64 = token.size() % 4 == 0 && token.size() - digits.size() <= 2;
  return is_base64 && token.size() <= kMostTicket && std::ranges::all_of(digits, is_digit_of) ? token
                                                                                              : std::string_view();
}

std::optional<NameAndPassword> decode_basic(std::string_view token) {
  NameAndPassword out;
  if (token.size() > kMostBasicToken || !decode_base64(token, out.password)) return std::nullopt;
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
