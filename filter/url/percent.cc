// SPDX-License-Identifier: Apache-2.0
#include "filter/url/percent.h"

#include <algorithm>

#include "base/encoding.h"

namespace bloomwall::filter {
namespace {

// 0: as it is; 1: always escaped; 2: escaped where it is data.
constexpr std::array<std::uint8_t, 256> make_escape_table() {
  std::array<std::uint8_t, 256> table{};
  for (unsigned c = 0; c < 256; ++c) table[c] = is_escaped_always(static_cast<char>(c)) ? 1 : 0;
  table['/'] = table['\\'] = table['?'] = 2;
  return table;
}
constexpr std::array<std::uint8_t, 256> kEscape = make_escape_table();

bool must_escape(char c, Separators separators) {
  const std::uint8_t rule = kEscape[static_cast<unsigned char>(c)];
  return rule == 1 || (rule == 2 && separators == Separators::escape);
}

}  // namespace

void append_decoded_fully(std::string_view in, std::string& out) {
  const std::size_t first = in.find('%');
  if (first == std::string_view::npos) {
    out.append(in);
    return;
  }
  const std::size_t bottom = out.size();
  out.resize(bottom + in.size());
  char* const stack = out.data() + bottom;
  std::size_t height = in.copy(stack, first);
  for (std::size_t at = first; at < in.size();) {
    const int spelt = in[at] == '%' ? escape_at(in, at) : -1;
    stack[height++] = spelt < 0 ? in[at] : static_cast<char>(spelt);
    at += spelt < 0 ? 1 : 3;
    while (height >= 3 && stack[height - 3] == '%') {
      const int byte = escape_at({stack + height - 3, 3}, 0);
      if (byte < 0) break;
      height -= 2;
      stack[height - 1] = static_cast<char>(byte);
    }
    if (stack[height - 1] == '%' || (height > 1 && stack[height - 2] == '%')) continue;  // may be completed
    const std::size_t percent = std::min(in.find('%', at), in.size());
    height += in.copy(stack + height, percent - at, at);
    at = percent;
  }
  out.resize(bottom + height);
}

void append_decoded_once(std::string_view in, std::string& out) {
  for (std::size_t at = 0; at < in.size();) {
    const std::size_t percent = std::min(in.find('%', at), in.size());
    out.append(in, at, percent - at);
    if (percent == in.size()) return;
    const int byte = escape_at(in, percent);
    out.push_back(byte < 0 ? '%' : static_cast<char>(byte));
    at = percent + (byte < 0 ? 1 : 3);
  }
}

void append_escapes_in_upper_case(std::string_view in, std::string& out) {
  const std::size_t bottom = out.size();
  out.append(in);
  const auto upper = [&](std::size_t at) {
    char& digit = out[bottom + at];
    if (digit >= 'a') digit = static_cast<char>(digit - ('a' - 'A'));
  };
  for (std::size_t at = in.find('%'); at != std::string_view::npos; at = in.find('%', at)) {
    const bool is_escape = escape_at(in, at) >= 0;
    if (is_escape) upper(at + 1);
    if (is_escape) upper(at + 2);
    at += is_escape ? 3 : 1;
  }
}

void append_escaped(std::string_view in, Separators separators, std::string& out) {
  std::size_t plain = 0;  // where the run of bytes that stay as they are began
  for (std::size_t at = 0; at < in.size(); ++at) {
    if (!must_escape(in[at], separators)) continue;
    out.append(in, plain, at - plain);
    append_percent_escape(in[at], out);
    plain = at + 1;
  }
  out.append(in, plain, in.size() - plain);
}

}  // namespace bloomwall::filter
