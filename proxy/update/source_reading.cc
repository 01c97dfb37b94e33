// SPDX-License-Identifier: Apache-2.0
#include "proxy/update/source_reading.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

#include "filter/lists/list_format.h"

namespace bloomwall::proxy {
namespace {

filter::WhiteUse white_use(conf::Source::White white, conf::Filter::Action action) {
  switch (white) {
    case conf::Source::White::refuse:
      return action == conf::Filter::Action::allow ? filter::WhiteUse::block : filter::WhiteUse::refuse;
    case conf::Source::White::allow:
      return filter::WhiteUse::allow;
    case conf::Source::White::block:
      return filter::WhiteUse::block;
  }
  return filter::WhiteUse::refuse;
}

// Longer names first where one begins with another.
constexpr std::array<std::pair<std::string_view, std::string_view>, 12> kKeys{
    {{"--csv-column NUMBER or NAME", "column: NUMBER or NAME"},
     {"--csv-column", "column:"},
     {"--format", "format:"},
     {"--white", "white:"},
     {"--allow-wide-ranges", "allow_wide_ranges: true"},
     {"--allow-tld", "allow_tld: true"},
     {"--aggressive", "aggressive: true"},
     {"--hosts-as-suffix", "hosts_as_suffix: true"},
     {"--strict-wildcard", "strict_wildcard: true"},
     {"--path-info", "path_info: true"},
     {"--index-files", "index_files: true"},
     {"--exact", "exact: true"}}};

}  // namespace

filter::ReadOptions reading_of(const conf::Source& source, conf::Filter::Action action) {
  return {.format = filter::parse_format(source.format).value_or(filter::Format::auto_detect),
          .exact = source.exact,
          .hosts_as_suffix = source.hosts_as_suffix,
          .strict_wildcard = source.strict_wildcard,
          .allow_tld = source.allow_tld,
          .aggressive = source.aggressive,
          .allow_wide_ranges = source.allow_wide_ranges,
          .path_info = source.path_info,
          .index_files = source.index_files,
          .csv_column = source.column.value_or(""),
          .categories = source.categories,
          .white_categories = white_use(source.white, action),
          .exceptions_as_entries = action == conf::Filter::Action::allow};
}

std::string text_of_reading(const filter::ReadOptions& options) {
  std::string out;
  const auto add = [&](bool is_set, const std::string& text) {
    if (is_set) out += (out.empty() ? "" : ", ") + text;
  };
  add(options.format != filter::Format::auto_detect, filter::to_string(options.format));
  add(!options.csv_column.empty(), "column " + options.csv_column);
  add(options.exact, "exact");
  add(options.hosts_as_suffix, "hosts_as_suffix");
  add(options.strict_wildcard, "strict_wildcard");
  add(options.allow_tld, "allow_tld");
  add(options.aggressive, "aggressive");
  add(options.path_info, "path_info");
  add(options.index_files, "index_files");
  add(options.allow_wide_ranges, "allow_wide_ranges");
  add(!options.categories.empty(), fmt::format("categories {}", fmt::join(options.categories, " ")));
  add(options.exceptions_as_entries, "exceptions as entries");
  add(options.white_categories == filter::WhiteUse::allow, "white allowed");
  add(options.white_categories == filter::WhiteUse::block, "white as entries");
  return out;
}

std::string in_keys_of_sources(std::string text) {
  for (const auto& [option, key] : kKeys) {
    for (std::size_t at = 0; (at = text.find(option, at)) != std::string::npos; at += key.size()) {
      text.replace(at, option.size(), key);
    }
  }
  return text;
}

}  // namespace bloomwall::proxy
