// The lines of a buffer, as bw_ask_lines() has them: counted, and asked.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <span>
#include <string_view>

#include "include/bloomwall.h"

namespace bloomwall::library {

// Calls visit(line) for each line, until it says no.
template <typename Visit>
void for_each_line(std::string_view text, bool without_cr, const Visit& visit) {
  while (!text.empty()) {
    const std::size_t end = text.find('\n');
    std::string_view line = text.substr(0, end);
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
    if (without_cr && line.ends_with('\r')) line.remove_suffix(1);
    if (!visit(line)) return;
  }
}

inline std::size_t count_lines(std::string_view text) {
  std::size_t count = 0;
  for_each_line(text, false, [&](std::string_view) { return ++count != 0; });
  return count;
}

// What ask(line) returns goes to `verdicts`, which has room for as many lines as were counted; ends with the first
// error, which is returned. A text that somebody changes meanwhile may have more or fewer lines by now: nothing is
// written beyond the room, and what is left of it is filled with BW_REJECTED.
template <typename Ask>
int ask_lines(std::string_view text, bool without_cr, std::span<unsigned char> verdicts, const Ask& ask) {
  int outcome = 0;
  std::size_t at = 0;
  for_each_line(text, without_cr, [&](std::string_view line) {
    if (at == verdicts.size()) return false;
    outcome = ask(line);
    if (outcome >= 0) verdicts[at++] = static_cast<unsigned char>(outcome);
    return outcome >= 0;
  });
  std::ranges::fill(verdicts.subspan(at), static_cast<unsigned char>(BW_REJECTED));
  return outcome < 0 ? outcome : 0;
}

}  // namespace bloomwall::library
