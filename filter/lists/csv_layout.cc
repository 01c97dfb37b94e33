// SPDX-License-Identifier: Apache-2.0
#include "filter/lists/csv_layout.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdint>
#include <iterator>
#include <system_error>
#include <utility>

#include "base/text.h"
#include "filter/lists/csv_parser.h"
#include "filter/lists/line_shape.h"
#include "filter/lists/refang.h"

namespace bloomwall::filter {
namespace {

constexpr std::size_t kMaxHeader = 1024;

// Words that names of columns are made of: "first_seen_utc", "phish_detail_url".
constexpr std::array<std::string_view, 73> kColumnWords{
    "added",    "address",    "alias",      "anonymous", "as",       "asn",       "asnumber",  "category",
    "code",     "comment",    "confidence", "country",   "created",  "date",      "dateadded", "description",
    "detail",   "domain",     "event",      "family",    "filetype", "first",     "firstseen", "hash",
    "host",     "hostname",   "id",         "indicator", "ioc",      "ip",        "ipaddress", "last",
    "lastseen", "level",      "link",       "listed",    "malware",  "md5",       "modified",  "name",
    "note",     "number",     "online",     "phish",     "port",     "printable", "ref",       "reference",
    "reporter", "score",      "seen",       "sha",       "sha1",     "sha256",    "signature", "source",
    "status",   "submission", "tag",        "tags",      "target",   "threat",    "time",      "timestamp",
    "title",    "type",       "updated",    "url",       "urlhaus",  "utc",       "value",     "verification",
    "verified"};

// URLs under such a name are about what is listed.
constexpr std::array<std::string_view, 22> kReferenceWords{
    "about",      "analysis", "article", "blog",     "credit",    "detail", "details",  "documentation",
    "info",       "link",     "links",   "more",     "permalink", "ref",    "referrer", "reference",
    "references", "refs",     "report",  "reporter", "see",       "source"};

// What is listed has another column where one has such a name.
constexpr std::array<std::string_view, 13> kOtherWords{"address",  "domain", "domains",   "fqdn",       "host",
                                                       "hostname", "hosts",  "indicator", "indicators", "ioc",
                                                       "ip",       "ipv4",   "ipv6"};

using Names = std::vector<std::string>;

std::string in_lower_case(std::string_view text) {
  std::string lower(text);
  std::transform(lower.begin(), lower.end(), lower.begin(), to_lower);
  return lower;
}

// The fields of a whole line, trimmed, in lower case; none where it is no whole record.
Names fields_of(std::string_view line, char separator) {
  Names fields;
  CsvWalk walk(line, separator);
  while (fields.size() <= kMaxCsvColumns && walk.next()) fields.push_back(in_lower_case(trim(walk.raw())));
  if (walk.damaged() || walk.quote_open() || fields.size() > kMaxCsvColumns) fields.clear();
  return fields;
}

// Calls `use` with each word of a name, which are letters and digits, until it returns true; whether it did.
template <typename Use>
bool any_word(std::string_view name, Use use) {
  const auto in_word = [](char c) { return is_alpha(c) || is_digit(c); };
  const auto* at = name.begin();
  while (true) {
    at = std::find_if(at, name.end(), in_word);
    if (at == name.end()) return false;
    const auto* const end = std::find_if_not(at, name.end(), in_word);
    if (use(std::string_view(at, end))) return true;
    at = end;
  }
}

bool is_name_of_column(std::string_view name) {
  return !name.empty() && is_alpha(name.front()) &&
         !any_word(name, [](std::string_view word) { return !is_one_of(word, kColumnWords); });
}

bool names_reference(std::string_view name) {
  return any_word(name, [](std::string_view word) { return is_one_of(word, kReferenceWords); });
}

bool names_other(std::string_view name) {
  return any_word(name, [](std::string_view word) { return is_one_of(word, kOtherWords); });
}

bool may_be_name(std::string_view field) {
  return field.empty() ||
         ((is_alpha(field.front()) || field.front() == '_' || static_cast<unsigned char>(field.front()) >= 0x80) &&
          field.find('/') == std::string_view::npos && indicator_of(field) == Indicator::none);
}

bool may_be_header(const Names& fields) {
  return !fields.empty() && std::all_of(fields.begin(), fields.end(), may_be_name) &&
         std::any_of(fields.begin(), fields.end(), [](const std::string& field) { return !field.empty(); });
}

std::size_t index_of_name(const Names& names, std::string_view name) {
  const auto at = std::find(names.begin(), names.end(), name);
  return at == names.end() ? kNoColumn : static_cast<std::size_t>(at - names.begin());
}

std::string_view without_hashes(std::string_view line) {
  line = trim(line);
  while (line.starts_with('#')) line.remove_prefix(1);
  return line;
}

bool is_hash_comment(std::string_view line) { return trim(line).starts_with('#'); }

// Calls `use` with each line that is neither blank nor a comment, as the parser would take it, until it returns false.
template <typename Use>
void each_content_line(std::string_view sample, char separator, Use use) {
  for (LineWalk lines(sample); lines.next();) {
    const std::string_view text = trim(lines.line());
    if (text.empty() || text.front() == '#' || is_empty_row(text)) continue;
    if (lines.number() == 1 && separator_line(lines.line())) continue;
    if (!use(csv_line(lines.line(), separator))) return;
  }
}

// How many columns most lines have that are cut at a separator.
struct Cut {
  std::size_t columns = 1;
  std::size_t lines = 0;
  std::size_t indicators = 0;  // fields of theirs that are URLs as they stand
};

Cut cut_at(std::string_view sample, char separator) {
  std::array<Cut, kMaxCsvColumns + 1> cuts{};
  each_content_line(sample, separator, [&](std::string_view line) {
    const std::size_t columns = csv_columns(line, separator);
    if (columns == 0) return true;
    ++cuts[columns].lines;
    CsvWalk walk(line, separator);
    while (walk.next()) cuts[columns].indicators += scheme_of(trim(walk.raw())).empty() ? 0U : 1U;
    return true;
  });
  std::size_t best = 1;
  for (std::size_t columns = 1; columns <= kMaxCsvColumns; ++columns) {
    if (cuts[columns].lines >= cuts[best].lines && cuts[columns].lines > 0) best = columns;
  }
  cuts[best].columns = best;
  return cuts[best];
}

// The separator that the first line names, or else the one at which most lines have equally many columns, several; of
// equals the one that leaves more URLs whole.
std::pair<char, Cut> separator_of(std::string_view sample) {
  if (LineWalk lines(sample); lines.next()) {
    if (const auto named = separator_line(lines.line())) return {*named, cut_at(sample, *named)};
  }
  char separator = kCsvSeparators.front();
  Cut best;
  for (const char candidate : kCsvSeparators) {
    const Cut cut = cut_at(sample, candidate);
    if (cut.columns < 2) continue;
    if (cut.lines > best.lines || (cut.lines == best.lines && cut.indicators > best.indicators)) {
      best = cut;
      separator = candidate;
    }
  }
  return {separator, best};
}

Names header_in_comments(std::string_view sample, const CsvLayout& layout) {
  Names names;
  for (LineWalk lines(sample); lines.next();) {
    if (trim(lines.line()).empty()) continue;
    if (!is_hash_comment(lines.line())) return names;
    Names fields = fields_of(without_hashes(lines.line()), layout.separator);
    if (fields.size() != layout.columns || layout.columns < 2) continue;
    if (index_of_name(names, "url") == kNoColumn) names = std::move(fields);
  }
  return names;
}

// The header among the first lines; where there is none, what a comment above says. Where it has another number of
// columns than most lines, they are its own.
Names header_of(std::string_view sample, const CsvLayout& layout) {
  Names names;
  each_content_line(sample, layout.separator, [&](std::string_view line) {
    Names fields = fields_of(line, layout.separator);
    const bool whole = fields.size() == layout.columns;
    if (may_be_header(fields) && (whole || (fields.size() > 1 && index_of_name(fields, "url") != kNoColumn))) {
      names = std::move(fields);
      return false;
    }
    return !whole;
  });
  return names.empty() ? header_in_comments(sample, layout) : names;
}

// Whether records are wider than their header only by empty columns: some programs end each record with a separator.
bool is_padded(std::string_view sample, const CsvLayout& layout) {
  bool padded = layout.names.size() < layout.columns;
  each_content_line(sample, layout.separator, [&](std::string_view line) {
    const Names fields = fields_of(line, layout.separator);
    for (std::size_t i = layout.names.size(); i < fields.size(); ++i) padded = padded && fields[i].empty();
    return padded;
  });
  return padded;
}

struct ColumnCounts {
  std::size_t urls = 0;
  std::size_t others = 0;  // hosts, addresses, hashes
};
struct Counts {
  std::array<ColumnCounts, kMaxCsvColumns> of{};
  std::size_t records = 0;
  Names examples;
};

Counts count_columns(std::string_view sample, const CsvLayout& layout) {
  Counts counts;
  std::string scratch;
  each_content_line(sample, layout.separator, [&](std::string_view line) {
    const Names fields = fields_of(line, layout.separator);
    if (fields.size() < layout.columns || fields == layout.names) return true;
    if (counts.records++ == 0) counts.examples = fields;
    for (std::size_t i = 0; i < layout.columns; ++i) {
      const Indicator indicator = indicator_of(refanged(fields[i], scratch));
      if (indicator == Indicator::url) ++counts.of[i].urls;
      if (indicator == Indicator::host || indicator == Indicator::hash) ++counts.of[i].others;
    }
    return true;
  });
  return counts;
}

// The only column with URLs where nothing says that they are about what another column holds, or another record.
std::size_t only_url_column(const CsvLayout& layout, const Counts& counts) {
  std::size_t only = kNoColumn;
  for (std::size_t i = 0; i < layout.columns; ++i) {
    const ColumnCounts& of = counts.of[i];
    if (of.urls * 10 >= counts.records && of.urls > 0) {
      if (only != kNoColumn) return kNoColumn;
      only = i;
    }
    if (of.others * 10 >= counts.records && of.others > 0) return kNoColumn;
  }
  if (only == kNoColumn || counts.of[only].urls * 2 < counts.records) return kNoColumn;
  for (std::size_t i = 0; i < layout.names.size(); ++i) {
    if (i == only ? names_reference(layout.names[i]) : names_other(layout.names[i])) return kNoColumn;
  }
  return only;
}

std::string clipped_field(std::string_view text) {
  constexpr std::size_t kMost = 32;
  std::string clipped(text.substr(0, kMost));
  for (char& c : clipped) {
    if (static_cast<unsigned char>(c) < 0x20 || static_cast<unsigned char>(c) >= 0x7f) c = '?';
  }
  return clipped;
}

Error ask(std::string_view path, std::string_view why, const CsvLayout& layout, const Names& examples) {
  constexpr std::size_t kMostShown = 16;
  std::string columns;
  for (std::size_t i = 0; i < std::min(layout.columns, kMostShown); ++i) {
    columns += fmt::format("{}{}", i == 0 ? "; its columns: " : ", ", i + 1);
    if (i < layout.names.size()) columns += fmt::format(" \"{}\"", clipped_field(layout.names[i]));
    if (layout.names.empty() && i < examples.size()) columns += fmt::format(" ({})", clipped_field(examples[i]));
  }
  return Error{
      Errc::usage, std::string(path),
      fmt::format("{}; say --csv-column NUMBER or NAME, or another --format if this is no table{}", why, columns)};
}

Result<std::size_t> column_named(std::string_view wanted, std::string_view path, const CsvLayout& layout,
                                 const Counts& counts) {
  std::size_t number = 0;
  const auto [end, failed] = std::from_chars(wanted.data(), wanted.data() + wanted.size(), number);
  const bool is_number = failed == std::errc{} && end == wanted.data() + wanted.size();
  if (is_number && number >= 1 && number <= layout.columns) return number - 1;
  const std::string name = in_lower_case(trim(wanted));
  const std::size_t column = index_of_name(layout.names, name);
  const bool twice = std::count(layout.names.begin(), layout.names.end(), name) > 1;
  if (!is_number && column != kNoColumn && !twice) return column;
  const char* const problem = !is_number && twice ? "several columns are" : "no column is";
  return unexpected(
      ask(path, fmt::format("{} --csv-column {}", problem, clipped_field(wanted)), layout, counts.examples));
}

}  // namespace

std::string_view csv_line(std::string_view line, char separator) { return separator == '\t' ? line : trim(line); }

std::size_t csv_columns(std::string_view line, char separator) {
  std::size_t columns = 0;
  CsvWalk walk(line, separator);
  while (walk.next()) ++columns;
  return walk.damaged() || walk.quote_open() || columns > kMaxCsvColumns ? 0 : columns;
}

std::size_t csv_header_column(std::string_view line, char separator) {
  constexpr std::string_view kUrl = "url";
  // Nearly all lines are records, and a record holds a URL.
  if (line.size() > kMaxHeader || line.find("://") != std::string_view::npos) return kNoColumn;
  const auto* const word =
      std::search(line.begin(), line.end(), kUrl.begin(), kUrl.end(), [](char a, char b) { return to_lower(a) == b; });
  if (word == line.end()) return kNoColumn;
  const Names fields = fields_of(line, separator);
  return fields.size() >= 2 && may_be_header(fields) ? index_of_name(fields, kUrl) : kNoColumn;
}

std::optional<CsvLayout> csv_header_again(std::string_view line, const CsvLayout& layout) {
  if (line.size() > kMaxHeader || line.find("://") != std::string_view::npos) return std::nullopt;
  CsvWalk walk(line, layout.separator);  // nearly always the first field says no
  if (!walk.next()) return std::nullopt;
  const auto is_known = [&layout](std::string_view field) {
    return is_name_of_column(field) || is_one_of(field, layout.names);
  };
  if (!is_known(trim(walk.raw()))) return std::nullopt;
  Names fields = fields_of(line, layout.separator);
  if (!std::all_of(fields.begin(), fields.end(), is_known)) return std::nullopt;
  Names sorted = fields;
  std::sort(sorted.begin(), sorted.end());
  Names first = layout.names;
  std::sort(first.begin(), first.end());
  const bool distinct = std::adjacent_find(sorted.begin(), sorted.end()) == sorted.end();
  const bool has_name = layout.column < layout.names.size();
  const std::size_t column = layout.by_number && !has_name
                                 ? layout.column
                                 : index_of_name(fields, has_name ? layout.names[layout.column] : "url");
  const bool all_words = fields.size() > 1 && distinct && column < fields.size() &&
                         std::all_of(fields.begin(), fields.end(), is_name_of_column);
  if (fields.empty() || (sorted != first && !all_words)) return std::nullopt;
  CsvLayout again = layout;
  if (column != kNoColumn) again.column = column;
  again.columns = fields.size();
  again.names = std::move(fields);
  return again;
}

Result<CsvLayout> csv_layout(std::string_view sample, std::string_view path, std::string_view wanted) {
  CsvLayout layout;
  const auto [separator, cut] = separator_of(sample);
  layout.separator = separator;
  layout.columns = cut.columns;
  layout.names = header_of(sample, layout);
  if (!layout.names.empty() && is_padded(sample, layout)) layout.columns = layout.names.size();
  if (!layout.names.empty() && layout.names.size() != layout.columns) {
    const std::string why =
        fmt::format("its header names {} columns, but most lines have {}", layout.names.size(), layout.columns);
    return unexpected(ask(path, why, layout, {}));
  }
  const Counts counts = count_columns(sample, layout);
  if (counts.records == 0 && layout.names.empty()) {  // nothing to tell it from
    layout.columns = 0;
    return layout;
  }
  if (!wanted.empty()) {
    const auto column = column_named(wanted, path, layout, counts);
    if (!column) return unexpected(column.error());
    layout.column = *column;
    layout.by_number = true;
    return layout;
  }
  const bool named_once = std::count(layout.names.begin(), layout.names.end(), "url") == 1;
  layout.column = named_once ? index_of_name(layout.names, "url") : only_url_column(layout, counts);
  if (layout.column == kNoColumn) {
    return unexpected(ask(path, "cannot tell which column holds the URLs", layout, counts.examples));
  }
  return layout;
}

std::optional<Error> ask_for_column(std::string_view sample, std::string_view path) {
  const auto [separator, cut] = separator_of(sample);
  std::size_t lines = 0;
  each_content_line(sample, separator, [&](std::string_view /*line*/) {
    ++lines;
    return true;
  });
  if (cut.columns < 2 || cut.lines * 10 < lines * 9) return std::nullopt;
  CsvLayout layout;
  layout.separator = separator;
  layout.columns = cut.columns;
  const Counts counts = count_columns(sample, layout);
  const bool holds_some = std::any_of(counts.of.begin(), counts.of.end(), [&](const ColumnCounts& of) {
    return (of.urls + of.others) * 2 >= counts.records && counts.records > 0;
  });
  if (!holds_some) return std::nullopt;
  auto told = csv_layout(sample, path);
  return told ? std::nullopt : std::optional(std::move(told).error());
}

}  // namespace bloomwall::filter
