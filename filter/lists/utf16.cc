// SPDX-License-Identifier: Apache-2.0
#include "filter/lists/utf16.h"

#include <cstddef>

namespace bloomwall::filter {
namespace {

constexpr std::uint32_t kReplacement = 0xFFFD;

void append_utf8(std::uint32_t code, std::string& out) {
  const auto octet = [&out](std::uint32_t value) { out.push_back(static_cast<char>(value)); };
  if (code < 0x80) return octet(code);
  if (code < 0x800) {
    octet(0xC0U | (code >> 6U));
  } else {
    if (code < 0x10000) {
      octet(0xE0U | (code >> 12U));
    } else {
      octet(0xF0U | (code >> 18U));
      octet(0x80U | ((code >> 12U) & 0x3FU));
    }
    octet(0x80U | ((code >> 6U) & 0x3FU));
  }
  octet(0x80U | (code & 0x3FU));
}

}  // namespace

TextEncoding encoding_of(std::string_view first_bytes) {
  if (first_bytes.starts_with("\xfe\xff")) return TextEncoding::utf16_big;
  const bool utf32 = first_bytes.substr(0, 4) == std::string_view("\xff\xfe\0\0", 4);
  return first_bytes.starts_with("\xff\xfe") && !utf32 ? TextEncoding::utf16_little : TextEncoding::utf8;
}

void Utf16Decoder::decode(std::string_view bytes, std::string& out) {
  for (const char c : bytes) {
    const auto octet = static_cast<unsigned char>(c);
    has_octet_ = !has_octet_;
    if (has_octet_) {
      octet_ = octet;
    } else {
      unit(is_big_ ? octet_ * 256U + octet : octet * 256U + octet_, out);
    }
  }
}

void Utf16Decoder::unit(std::uint32_t unit, std::string& out) {
  const bool is_low = unit >= 0xDC00 && unit <= 0xDFFF;
  if (high_ != 0 && is_low) {
    append_utf8(0x10000 + ((high_ - 0xD800) << 10U) + (unit - 0xDC00), out);
    high_ = 0;
    return;
  }
  if (high_ != 0) append_utf8(kReplacement, out);
  high_ = unit >= 0xD800 && unit <= 0xDBFF ? unit : 0;
  if (high_ == 0) append_utf8(is_low ? kReplacement : unit, out);
}

void Utf16Decoder::finish(std::string& out) {
  if (high_ != 0 || has_octet_) append_utf8(kReplacement, out);
  high_ = 0;
  has_octet_ = false;
}

}  // namespace bloomwall::filter
