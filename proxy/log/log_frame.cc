// SPDX-License-Identifier: Apache-2.0
#include "proxy/log/log_frame.h"

#include <fmt/format.h>
#include <unistd.h>

#include <iterator>

namespace bloomwall::proxy {
namespace {

constexpr int kNotice = 5, kDaemon = 3;  // priority and facility, syslog(3)

void append_value(std::string& out, std::string_view value) {
  for (const char c : value) {
    const auto octet = static_cast<unsigned char>(c);
    out.push_back(octet < 0x20 || octet == 0x7f ? '?' : c);
  }
}

void append_field(std::string& out, std::string_view name, std::string_view value) {
  if (value.empty()) return;
  append_value(out.append("BLOOMWALL_").append(name).append("="), value);
  out.push_back(kLineFeed);
}

}  // namespace

LogFrame frame_of(std::string_view target) {
  if (target == "journal") return LogFrame::journal;
  return target == "syslog" ? LogFrame::syslog : LogFrame::line;
}

void append_framed(std::string& out, LogFrame frame, std::string_view line, std::initializer_list<LogField> fields) {
  if (line.ends_with('\n')) line.remove_suffix(1);
  switch (frame) {
    case LogFrame::line:
      out.append(line);
      break;
    case LogFrame::syslog:
      fmt::format_to(std::back_inserter(out), "<{}>bloomwall[{}]: ", kDaemon * 8 + kNotice, ::getpid());
      append_value(out, line);
      break;
    case LogFrame::journal:
      fmt::format_to(std::back_inserter(out), "PRIORITY={}{}SYSLOG_IDENTIFIER=bloomwall{}", kNotice, kLineFeed,
                     kLineFeed);
      for (const auto& [name, value] : fields) append_field(out, name, value);
      append_value(out.append("MESSAGE="), line);
      out.push_back(kLineFeed);
      break;
  }
  out.push_back('\n');
}

}  // namespace bloomwall::proxy
