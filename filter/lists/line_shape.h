// Classifies a single line without its comment, for the detection of a file's format. A guess: parsers may decide
// otherwise.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string_view>

namespace bloomwall::filter {

enum class LineShape : std::uint8_t {
  empty,          // blank or a comment
  adblock_title,  // "[Adblock Plus 2.0]", "! Title: ..."
  adblock,        // "@@...", "...##...", "||..." with modifiers or wildcards
  adblock_host,   // "||example.com^", "||example.com/dir/": lists of other kinds hold such lines, too
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

}  // namespace bloomwall::filter
