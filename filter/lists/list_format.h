// The formats of lists, their names, and the detection of a file's format by its first lines (list_detect.cc).
// Decided once per file, never per line: a URL with "##" in it would pass for a cosmetic rule.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include "filter/result.h"

namespace bloomwall::filter {

enum class Format : std::uint8_t {
  auto_detect,
  domains,                 // example.com
  hosts,                   // 0.0.0.0 example.com
  wildcard,                // *.example.com
  adblock,                 // ||example.com^
  dnsmasq,                 // address=/example.com/#
  unbound,                 // local-zone: "example.com." always_nxdomain
  rpz,                     // example.com CNAME .
  squidguard_domains,      // a category's file "domains": example.com
  squidguard_urls,         // its file "urls": example.com/path
  squidguard_expressions,  // its file "expressions": regular expressions, of which none can become a key
  urls,                    // http://example.com/path
  csv,                     // "1","2026-01-01","http://example.com/path"
  privoxy,                 // {+block} followed by .example.com
  mixed,       // lines of several of these, each plain by itself: example.com, ||example.com^, 0.0.0.0 example.com
  networks,    // 192.0.2.0/24 and nothing but addresses: each of them a range
  json_lines,  // {"cidr":"192.0.2.0/24","rir":"apnic"}
};
inline constexpr std::array kFormats{Format::auto_detect,
                                     Format::domains,
                                     Format::hosts,
                                     Format::wildcard,
                                     Format::adblock,
                                     Format::dnsmasq,
                                     Format::unbound,
                                     Format::rpz,
                                     Format::squidguard_domains,
                                     Format::squidguard_urls,
                                     Format::squidguard_expressions,
                                     Format::urls,
                                     Format::csv,
                                     Format::privoxy,
                                     Format::mixed,
                                     Format::networks,
                                     Format::json_lines};

const char* to_string(Format format);                       // "auto", "domains", ... "squidguard-urls"
std::optional<Format> parse_format(std::string_view name);  // what --format takes

// Lines of these formats mean the same in any order, so blocks may be parsed by several threads.
bool is_order_free(Format format);

// How much of a file is looked at: so many lines that are neither blank nor comments, or so many bytes.
inline constexpr std::size_t kSampleLines = 1000;
inline constexpr std::size_t kSampleBytes = std::size_t{1} << 20;

// Says no to what is no list at all, whatever --format says: HTML (an error page instead of a list), proxy
// auto-configuration scripts, UTF-32, UTF-16 without its mark, archives and other binary data.
Result<void> refuse_foreign(std::string_view sample, std::string_view path);

// Whether that is how a tar archive begins.
bool is_tar(std::string_view sample);

// Refuses what looks like a table, most of its lines having as many commas (semicolons, bars, tabs), where `format`
// would take the columns for parts of a URL. Error `usage`, asking for --format.
Result<void> refuse_columns(std::string_view sample, std::string_view path, Format format);

// The format of the file `path` that begins with `sample` (whole lines). Lines of several formats are `mixed`. Error
// `usage`, asking for --format, unless 90 % of the sampled lines can be read in the format that fits best, and where
// the lines may be columns.
Result<Format> detect_format(std::string_view sample, std::string_view path);

}  // namespace bloomwall::filter
