// What a line is to the machine's own log, whose sockets take a datagram for each record:
//   journal   systemd's: fields that `journalctl BLOOMWALL_FILTER=ads` finds, besides the line as MESSAGE
//   syslog    /dev/log, as rsyslog and syslog-ng read it: "<29>bloomwall[123]: line"
// Inside a record kLineFeed stands for a line feed, so that it remains one line on its way (OutputFile puts it back).
// Pure, but for the process's number.
// Source: systemd.io/JOURNAL_NATIVE_PROTOCOL; RFC 3164.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>

namespace bloomwall::proxy {

// Octets of a line for syslog: rsyslog cuts a message at 8 KiB, with what stands before the line, unless it is told
// otherwise, and half a JSON object is none.
inline constexpr std::size_t kMostSyslogLine = 8000;

inline constexpr char kLineFeed = '\x1f';

enum class LogFrame : std::uint8_t { line, journal, syslog };
LogFrame frame_of(std::string_view target);  // log.access.file

// Name without the "BLOOMWALL_" before it, and value; one without a value is left out.
using LogField = std::pair<std::string_view, std::string_view>;
// Appends `line`, with or without its '\n', as the frame has it, and a '\n'. Control characters of values become '?'.
void append_framed(std::string& out, LogFrame frame, std::string_view line, std::initializer_list<LogField> fields);

}  // namespace bloomwall::proxy
