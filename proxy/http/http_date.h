// Dates as HTTP writes them: "Sun, 06 Nov 1994 08:49:37 GMT" (IMF-fixdate, RFC 9110 section 5.6.7) and other stamps.
// The caller brings the time; nothing here reads a clock, a time zone or a locale.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <chrono>
#include <string>
#include <string_view>

namespace bloomwall::proxy {

using TimePoint = std::chrono::system_clock::time_point;

class HttpDate {
 public:
  explicit HttpDate(TimePoint time = {});
  std::string_view text() const { return {text_.data(), text_.size()}; }

 private:
  std::array<char, 29> text_{};
};

void append_iso8601(std::string& out, TimePoint time);     // 2024-05-01T12:34:56.789Z
void append_common_log(std::string& out, TimePoint time);  // 01/May/2024:12:34:56 +0000

}  // namespace bloomwall::proxy
