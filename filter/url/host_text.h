// A host as people write it in lists, allow lists, deltas: what stands around it and is no part of it. All readers of
// such texts use these functions, so that the same text names the same host in each of them. No allocation but where it
// says so; linear in the text.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

namespace bloomwall::filter {

// The blanks of Unicode that are no ASCII: U+0085, U+00A0, U+1680, U+2000 to U+200B, U+2028, U+2029, U+202F, U+205F,
// U+2060, U+3000. Text copied from web pages and spreadsheets has them around names; no host or URL begins or ends with
// one.
bool has_unicode_blank(std::string_view text);
// `text` without blanks at both ends, those of ASCII and of Unicode.
std::string_view trim_all_blanks(std::string_view text);
// `text` with a space for each blank of Unicode. Allocates.
std::string with_plain_blanks(std::string_view text);

// A host without the blanks around it and without the commas and semicolons that end it, as a column of a table does:
// "a.example, ", "192.0.2.1;".
std::string_view bare_host(std::string_view text);

// `text` up to a '#' that is glued to its last name and begins a comment, since no host has one: "a.example#why",
// "0.0.0.0 a.example#why", "192.0.2.0/24#why", "||a.example^#why". The text as it is where the '#' is something else: a
// fragment behind a path or a query, the mark of a cosmetic rule ("a.example##.ad"), or where no name with a dot stands
// before it.
std::string_view without_glued_comment(std::string_view text);

// A dot, or one of those that UTS 46 maps to it (U+3002, U+FF0E, U+FF61).
bool has_dot(std::string_view host);

// "host:port" in two: the port has up to five digits, or none, and is at most 65535. An IPv6 address has a port behind
// its brackets only. `port` is empty where there is none; a colon without digits goes with it.
struct HostAndPort {
  std::string_view host;
  std::string_view port;
  bool has_colon = false;
};
HostAndPort split_port(std::string_view text);

// Whether a port says that something else than the site itself is meant.
inline bool is_other_port(std::string_view port) { return !port.empty() && port != "80" && port != "443"; }

}  // namespace bloomwall::filter
