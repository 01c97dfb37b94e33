// SPDX-License-Identifier: Apache-2.0
#include "base/terminal.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <cstddef>
#include <streambuf>

namespace bloomwall {
namespace {

unsigned char octet(std::string_view text, std::size_t at) {
  return at < text.size() ? static_cast<unsigned char>(text[at]) : 0;
}

// Marks that turn the direction of text (UAX 9), and separators of lines: U+061C, U+200E, U+200F, U+2028 to U+202E,
// U+2066 to U+2069. What they stand in would read as something else.
bool turns_text(unsigned char first, unsigned char second, unsigned char third) {
  if (first == 0xD8) return second == 0x9C;
  if (first != 0xE2) return false;
  if (second == 0x80) return third == 0x8E || third == 0x8F || (third >= 0xA8 && third <= 0xAE);
  return second == 0x81 && third >= 0xA6 && third <= 0xA9;
}

// Length of the UTF-8 sequence at `at`, 0 where there is none. Overlong forms, surrogates, C1 controls and marks of
// direction count as none.
std::size_t sequence_length(std::string_view text, std::size_t at) {
  const unsigned char first = octet(text, at);
  const auto tail = [&](std::size_t i) { return (octet(text, at + i) & 0xC0U) == 0x80U; };
  if (first < 0x80) return first >= 0x20 && first != 0x7F ? 1 : 0;
  const unsigned char second = octet(text, at + 1);
  if (turns_text(first, second, octet(text, at + 2))) return 0;
  if (first >= 0xC2 && first <= 0xDF) return tail(1) && !(first == 0xC2 && second < 0xA0) ? 2 : 0;
  if (first >= 0xE0 && first <= 0xEF) {
    const bool odd = (first == 0xE0 && second < 0xA0) || (first == 0xED && second >= 0xA0);
    return tail(1) && tail(2) && !odd ? 3 : 0;
  }
  if (first >= 0xF0 && first <= 0xF4) {
    const bool odd = (first == 0xF0 && second < 0x90) || (first == 0xF4 && second >= 0x90);
    return tail(1) && tail(2) && tail(3) && !odd ? 4 : 0;
  }
  return 0;
}

}  // namespace

std::string printable(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t length = sequence_length(text, at);
    if (length == 0) {
      out += fmt::format("\\x{:02X}", octet(text, at++));
    } else {
      out += text.substr(at, length);
      at += length;
    }
  }
  return out;
}

void print_json(std::ostream& out, const nlohmann::ordered_json& json) {
  out << json.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace) << '\n';
}

void print_json_tall(std::ostream& out, const nlohmann::ordered_json& json) {
  out << json.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace) << '\n';
}

void say_reading(std::string_view program, std::string_view what, const Streams& io) {
  if (!io.in_is_terminal) return;
  io.err << program << ": reading from the terminal, " << what << " a line; Ctrl-D ends it\n";
  io.err.flush();
}

bool LineSource::next() {
  using Traits = std::char_traits<char>;
  std::streambuf& buffer = *in_.rdbuf();
  line_.clear();
  too_long_ = false;
  bool any = false;
  while (true) {
    if (buffer.in_avail() <= 0) answers_.flush();
    const auto c = buffer.sbumpc();
    if (Traits::eq_int_type(c, Traits::eof())) break;
    any = true;
    if (c == '\n') break;
    if (line_.size() < kMaxQueryLine + 1) {  // one more, for a CR that does not count
      line_.push_back(Traits::to_char_type(c));
    } else {
      too_long_ = true;
    }
  }
  if (!too_long_ && line_.ends_with('\r')) line_.pop_back();
  if (line_.size() > kMaxQueryLine) {
    too_long_ = true;
    line_.resize(kMaxQueryLine);
  }
  return any;
}

}  // namespace bloomwall
