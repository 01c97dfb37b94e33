// Pieces of text that heads, log lines and URLs are made of, dates among them. Each appends; none allocates beyond
// `out`'s growth.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <charconv>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>

#include "proxy/http/fields.h"
#include "proxy/http/request.h"

namespace bloomwall::proxy {

inline constexpr std::string_view kLineEnd = "\r\n";

inline void append(std::string& out, std::initializer_list<std::string_view> parts) {
  for (const std::string_view part : parts) out.append(part);
}

// At least `width` characters, filled on the left.
inline void append_number(std::string& out, std::uint64_t number, std::size_t width = 1, char fill = '0') {
  std::array<char, 20> digits;
  const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), number).ptr;
  const auto size = static_cast<std::size_t>(end - digits.data());
  out.append(width > size ? width - size : 0, fill).append(digits.data(), size);
}

// ":port"; nothing for 0.
inline void append_port(std::string& out, std::uint16_t port) {
  if (port == 0) return;
  out.push_back(':');
  append_number(out, port);
}

inline void append_field(std::string& out, std::string_view name, std::string_view value) {
  append(out, {name, ": ", value, kLineEnd});
}
inline void append_field(std::string& out, const Field& field) {
  if (!field.is_verbatim) return append_field(out, field.name, field.value);
  out.append(field.name.data(), field.name.size() + 2 + field.value.size() + kLineEnd.size());
}

inline void append_length(std::string& out, std::uint64_t length) {
  out.append("Content-Length: ");
  append_number(out, length);
  out.append(kLineEnd);
}

// Via with the version the message came in; nothing for an empty name.
inline void append_via(std::string& out, Version received, std::string_view name) {
  const std::string_view version = received == Version::http10 ? "1.0 " : received == Version::http11 ? "1.1 " : "2 ";
  if (!name.empty()) append(out, {"Via: ", version, name, kLineEnd});
}

// Dates in UTC as HTTP, JSON and access logs write them. The caller brings the time; nothing here reads a clock, a time
// zone or a locale. Nearly all stamps are of the current second, so each thread keeps the text of the last second that
// it wrote in each form: a stamp costs a copy then, else a call of fmt::format.

using TimePoint = std::chrono::system_clock::time_point;

// "Sun, 06 Nov 1994 08:49:37 GMT" (IMF-fixdate, RFC 9110 section 5.6.7). Valid until this thread's next call.
std::string_view http_date(TimePoint time);

void append_iso8601(std::string& out, TimePoint time);     // 2024-05-01T12:34:56.789Z
void append_common_log(std::string& out, TimePoint time);  // 01/May/2024:12:34:56 +0000

}  // namespace bloomwall::proxy
