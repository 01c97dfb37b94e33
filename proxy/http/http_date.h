// Dates in UTC as HTTP, JSON and access logs write them. The caller brings the time; nothing here reads a clock, a time
// zone or a locale. Nearly all stamps are of the current second, so each thread keeps the text of the last second that
// it wrote in each form: a stamp costs a copy then, else a call of fmt::format.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <string>
#include <string_view>

namespace bloomwall::proxy {

using TimePoint = std::chrono::system_clock::time_point;

// "Sun, 06 Nov 1994 08:49:37 GMT" (IMF-fixdate, RFC 9110 section 5.6.7). Valid until this thread's next call.
std::string_view http_date(TimePoint time);

void append_iso8601(std::string& out, TimePoint time);     // 2024-05-01T12:34:56.789Z
void append_common_log(std::string& out, TimePoint time);  // 01/May/2024:12:34:56 +0000

}  // namespace bloomwall::proxy
