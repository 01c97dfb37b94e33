// The form on the block page with which a mistake is reported, as browsers send it
// (application/x-www-form-urlencoded), and the addresses that it has here.
//   http://HOST/report            where it is sent to from pages in the clear; HOST is self_page.host
//   /.well-known/bloomwall/report where it is sent to from pages inside TLS, through tunnels and on transparent
//                                 listeners: of the blocked origin itself, and never sent on to it. From a page over
//                                 https browsers send forms to http only after a warning, and a client that knows of no
//                                 proxy cannot reach HOST.
//   .../report/12-TAG             what has become of report 12 (report_ticket.h)
// Pure; linear. Fuzzed (tests/fuzz/report_form_fuzz.cc).
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "proxy/http/fields.h"

namespace bloomwall::proxy {

inline constexpr std::string_view kReportPath = "/report", kReportPathAtOrigin = "/.well-known/bloomwall/report";

// Of a path with or without a query: whether it is kReportPath (or, at an origin, the other one) or below it, and what
// follows, without the slash. Nothing: it is another one.
std::optional<std::string_view> report_path(std::string_view path, bool is_at_origin);

struct ReportForm {
  static constexpr std::size_t kMaxBody = std::size_t{32} << 10;  // octets; a ticket and 500 characters, each as %XX
  std::string ticket, comment, name;                              // decoded, and otherwise as they came
};
// Whether the head of a request says that its body is such a form: one Content-Type, which is that with whatever
// parameters, and no coding. Everything else can be read in two ways, or is what a page of somebody else can send.
bool is_form(std::span<const Field> fields);

// Nothing where it is over kMaxBody, an escape is broken, a member comes twice or the ticket is missing. Unknown
// members are passed over.
std::optional<ReportForm> read_report_form(std::string_view body);

}  // namespace bloomwall::proxy
