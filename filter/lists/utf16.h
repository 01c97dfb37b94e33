// UTF-16 text as UTF-8, in pieces of any size. Windows programs write lists so ("Unicode text" of Excel).
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace bloomwall::filter {

// The encoding that a byte order mark shows; utf8 also where there is none.
enum class TextEncoding : std::uint8_t { utf8, utf16_little, utf16_big };
inline constexpr std::size_t kEncodingBytes = 4;  // of the text are enough to tell it: UTF-32 is neither
inline constexpr std::size_t kUtf16MarkBytes = 2;
TextEncoding encoding_of(std::string_view first_bytes);

// A half of a pair without the other, and an octet too many at the end, become U+FFFD, which no host or URL holds.
class Utf16Decoder {
 public:
  explicit Utf16Decoder(TextEncoding encoding) : is_big_(encoding == TextEncoding::utf16_big) {}
  void decode(std::string_view bytes, std::string& out);  // appends
  void finish(std::string& out);                          // likewise, after the last bytes

 private:
  void unit(std::uint32_t unit, std::string& out);
  bool is_big_;
  bool has_octet_ = false;
  unsigned char octet_ = 0;  // the first of a unit whose second is to come
  std::uint32_t high_ = 0;   // the first half of a pair; 0: none
};

}  // namespace bloomwall::filter
