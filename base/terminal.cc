// SPDX-License-Identifier: Apache-2.0
#include "base/terminal.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <cstddef>
#include <streambuf>

#include "base/utf8.h"

namespace bloomwall {
namespace {

// Marks that turn the direction of text (UAX 9), and separators of lines: what they stand in would read as something
// else.
bool turns_text(char32_t code) {
  return code == 0x061c || code == 0x200e || code == 0x200f || (code >= 0x2028 && code <= 0x202e) ||
         (code >= 0x2066 && code <= 0x2069);
}

bool is_shown(char32_t code) {
  const bool is_control = code < 0x20 || (code >= 0x7f && code < 0xa0);
  return code != Utf8Character::kNone && !is_control && !turns_text(code);
}

}  // namespace

std::string printable(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  while (!text.empty()) {
    const Utf8Character next = first_character(text);
    const std::size_t size = is_shown(next.code) ? next.size : 1;
    if (is_shown(next.code)) {
      out += text.substr(0, size);
    } else {
      out += fmt::format("\\x{:02X}", static_cast<unsigned char>(text.front()));
    }
    text.remove_prefix(size);
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
