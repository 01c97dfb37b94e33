// SPDX-License-Identifier: Apache-2.0
#include "base/encoding.h"

#include <utility>

namespace bloomwall {
namespace {

constexpr std::string_view kBase64Digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
constexpr std::string_view kBase64urlDigits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

constexpr std::array<std::int8_t, 256> values_of(std::string_view digits) {
  std::array<std::int8_t, 256> values{};
  for (auto& value : values) value = -1;
  for (std::size_t i = 0; i < digits.size(); ++i) {
    values[static_cast<unsigned char>(digits[i])] = static_cast<std::int8_t>(i);
  }
  return values;
}
constexpr std::array<std::int8_t, 256> kBase64Values = values_of(kBase64Digits);
constexpr std::array<std::int8_t, 256> kBase64urlValues = values_of(kBase64urlDigits);

// Without padding: one octet is two digits, two are three.
std::string digits_of(std::string_view octets, std::string_view digits) {
  std::string out;
  out.reserve((octets.size() + 2) / 3 * 4);
  std::uint32_t bits = 0;
  unsigned count = 0;  // of bits that are not written yet
  for (const char octet : octets) {
    bits = bits << 8U | static_cast<unsigned char>(octet);
    for (count += 8; count >= 6; count -= 6) out.push_back(digits[bits >> (count - 6) & 63U]);
  }
  if (count > 0) out.push_back(digits[bits << (6 - count) & 63U]);
  return out;
}

// Takes each octet of a text without padding to `take`.
template <typename Take>
bool read_digits(std::string_view text, const std::array<std::int8_t, 256>& values, const Take& take) {
  if (text.size() % 4 == 1) return false;
  std::uint32_t bits = 0;
  unsigned count = 0;
  for (const char c : text) {
    const signed char value = values[static_cast<unsigned char>(c)];
    if (value < 0) return false;
    bits = bits << 6U | static_cast<std::uint32_t>(value);
    count += 6;
    if (count < 8) continue;
    count -= 8;
    take(static_cast<char>(bits >> count & 255U));
  }
  return (bits & ((1U << count) - 1)) == 0;
}

template <typename Take>
bool read_base64(std::string_view text, const Take& take) {
  if (text.size() % 4 != 0) return false;
  for (int i = 0; i < 2 && text.ends_with('='); ++i) text.remove_suffix(1);
  return read_digits(text, kBase64Values, take);
}

}  // namespace

std::string to_base64(std::string_view octets) {
  std::string out = digits_of(octets, kBase64Digits);
  out.append((4 - out.size() % 4) % 4, '=');
  return out;
}

bool append_from_base64(std::string_view text, std::string& out) {
  out.reserve(out.size() + text.size());
  return read_base64(text, [&out](char octet) { out.push_back(octet); });
}

std::optional<std::string> from_base64(std::string_view text) {
  std::string out;
  return append_from_base64(text, out) ? std::optional(std::move(out)) : std::nullopt;
}

bool is_base64(std::string_view text) {
  return read_base64(text, [](char) {});
}

std::string to_base64url(std::string_view octets) { return digits_of(octets, kBase64urlDigits); }

std::optional<std::string> from_base64url(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  const bool is_right = read_digits(text, kBase64urlValues, [&out](char octet) { out.push_back(octet); });
  return is_right ? std::optional(std::move(out)) : std::nullopt;
}

std::string to_hex(std::span<const std::uint8_t> bytes) {
  std::string out;
  out.reserve(bytes.size() * 2);
  for (const std::uint8_t byte : bytes) {
    out += kHexDigits[byte >> 4U];
    out += kHexDigits[byte & 15U];
  }
  return out;
}

}  // namespace bloomwall
