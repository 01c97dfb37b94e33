// Classifies single lines and words of lists, to detect a file's format. A guess: parsers may decide otherwise, and
// entries go through the canonicaliser.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string_view>

#include "filter/url/address_range.h"

namespace bloomwall::filter {

// IP addresses as lists write them: IPv4 dotted, IPv6 bare or in brackets, with or without a zone.
bool is_ipv4(std::string_view word);
bool is_address(std::string_view word);

// Whether an address is one that hosts files give to what they stop, or to the machine itself: 0.0.0.0, 127.0.0.0/8,
// 255.255.255.255, ::, ::1, fe00::/7 (fe80::1%lo0, ff02::1).
bool is_sink(std::string_view address);

// Octets of a host, a dot among them, and a last label that is no number: "a.example", never "87.5".
bool is_dotted_name(std::string_view word);

// "192.0.2.0  192.0.2.255  24  ...": first address, last address, prefix and columns of any kind, as the lists of
// DShield have them. Malformed where the three do not agree; no_range where a line has no three such columns.
RangeReading read_netblock(std::string_view text);

// What a field or a word of a feed is by itself: shows what a column of a table holds, and whether a word is a host.
enum class Indicator : std::uint8_t {
  none,
  url,   // "scheme://"
  host,  // a name with a dot under a top-level domain, an address, with a port and a path or not; a range of addresses
  hash,  // MD5, SHA-1, SHA-256 in hexadecimal digits
};

// What a host may end in: top-level domains (is_known_top_level()), or any label but a number.
enum class TopLevels : std::uint8_t { known, any };

// `text` without blanks around it. About a microsecond.
Indicator indicator_of(std::string_view text, TopLevels top_levels = TopLevels::known);

enum class LineShape : std::uint8_t {
  empty,          // blank or a comment
  adblock_title,  // "[Adblock Plus 2.0]", "! Title: ..."
  adblock,        // "@@...", "...##...", "||..." with modifiers or wildcards
  adblock_host,   // "||example.com^", "||example.com/dir/", "|example.com^": lists of other kinds hold them, too
  privoxy,        // "{+block{...}}", "{{alias}}"
  zone_head,      // "$TTL", "$ORIGIN", an SOA record
  zone_record,    // "... CNAME ..."
  unbound,        // "local-zone:", "local-data:"
  dnsmasq,        // "address=/", "server=/", "local=/"
  range,          // a range of addresses
  hosts,          // an address and a name; any text behind a sink
  columns,        // an address or a range, and text behind it that is no name
  csv,            // a quote or a comma, and a URL that does not begin the line
  csv_header,     // a header with a column "url", in a comment or not, whatever separates its columns
  url,            // "scheme://"
  url_no_scheme,  // "host/path"
  wildcard,       // "*.host"
  other,
};

LineShape shape_of(std::string_view line);
// Whether a line of that shape is rather a pattern where it stands among rules of an ad blocker: "http://a.test/ad*",
// "https://a.test^", "http://a.test/x$script", "*.min.js".
bool may_be_pattern(LineShape shape, std::string_view line);

}  // namespace bloomwall::filter
