// SPDX-License-Identifier: Apache-2.0
#include "base/terminal.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cstddef>
#include <iterator>
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
  append_printable(out, text);
  return out;
}

void append_printable(std::string& out, std::string_view text) {
  bool is_plain = true;
  for (const char c : text) is_plain &= c >= ' ' && c <= '~';
  if (is_plain) {
    out += text;
    return;
  }
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
  line_.clear();
  too_long_ = false;
  bool any = false, is_whole = false;
  while (!is_whole && (!rest_.empty() || refill())) {
    any = true;
    const std::size_t end = rest_.find('\n');
    is_whole = end != std::string_view::npos;
    take(rest_.substr(0, end));
    rest_.remove_prefix(is_whole ? end + 1 : rest_.size());
  }
  if (!too_long_ && line_.ends_with('\r')) line_.pop_back();
  if (line_.size() > kMaxQueryLine) {
    too_long_ = true;
    line_.resize(kMaxQueryLine);
  }
  return any;
}

bool LineSource::refill() {
  using Traits = std::char_traits<char>;
  std::streambuf& buffer = *in_.rdbuf();
  if (buffer.in_avail() <= 0) answers_.flush();
  if (Traits::eq_int_type(buffer.sgetc(), Traits::eof())) return false;
  // The octets that are there by now: to ask for more would wait for them.
  const auto there = std::clamp<std::streamsize>(buffer.in_avail(), 1, std::ssize(read_));
  rest_ = {read_.data(), static_cast<std::size_t>(buffer.sgetn(read_.data(), there))};
  return !rest_.empty();
}

void LineSource::take(std::string_view text) {
  constexpr std::size_t kMost = kMaxQueryLine + 1;  // one more, for a CR that does not count
  const std::size_t room = kMost - line_.size();
  line_ += text.substr(0, room);
  too_long_ |= text.size() > room;
}

}  // namespace bloomwall
