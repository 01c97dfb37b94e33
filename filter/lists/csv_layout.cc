// SPDX-License-Identifier: Apache-2.0
#include "filter/lists/csv_layout.h"

#include <algorithm>
#include <array>

#include "filter/lists/csv_record.h"
#include "filter/text.h"

namespace bloomwall::filter {
namespace {

// "phish_url", "URL of page": words are letters. The other columns of a header are words too, not dates or numbers.
bool has_word_url(std::string_view name) {
  while (!name.empty()) {
    const auto* const begin = std::find_if(name.begin(), name.end(), is_alpha);
    const auto* const end = std::find_if_not(begin, name.end(), is_alpha);
    if (equals_ignoring_case({begin, end}, "url")) return true;
    name = {end, name.end()};
  }
  return false;
}

struct UrlCount {
  std::array<std::size_t, kMaxCsvColumns> by_column{};
  std::size_t best() const {
    return static_cast<std::size_t>(std::max_element(by_column.begin(), by_column.end()) - by_column.begin());
  }
};

void count_urls(std::string_view line, char separator, UrlCount& urls) {
  CsvWalk walk(line, separator);
  for (std::size_t column = 0; column < kMaxCsvColumns && walk.next(); ++column) {
    if (!scheme_of(trim(walk.raw())).empty()) ++urls.by_column[column];
  }
}

}  // namespace

std::size_t csv_columns(std::string_view line, char separator) {
  std::size_t columns = 0;
  CsvWalk walk(line, separator);
  while (walk.next()) ++columns;
  return walk.damaged() || walk.quote_open() ? 0 : columns;
}

std::size_t csv_header_column(std::string_view line, char separator, bool loosely) {
  // Nearly all lines are records, and a record holds a URL.
  if (line.size() > 1024 || line.find("://") != std::string_view::npos) return kNoColumn;
  std::size_t exact = kNoColumn;
  std::size_t loose = kNoColumn;
  std::size_t columns = 0;
  CsvWalk walk(line, separator);
  for (; columns < kMaxCsvColumns && walk.next(); ++columns) {
    const std::string_view name = trim(walk.raw());
    if (exact == kNoColumn && equals_ignoring_case(name, "url")) exact = columns;
    if (loose == kNoColumn && loosely && has_word_url(name)) loose = columns;
    if (!name.empty() && !is_alpha(name.front()) && name.front() != '_') loosely = false;
  }
  if (columns < 2 || walk.damaged() || walk.quote_open()) return kNoColumn;
  return exact != kNoColumn || !loosely ? exact : loose;
}

CsvLayout csv_layout(std::string_view sample) {
  std::array<UrlCount, kCsvSeparators.size()> urls{};
  bool first = true;
  for (LineWalk lines(sample); lines.next();) {
    std::string_view line = lines.line();
    if (trim(line).empty()) continue;
    const bool comment = line.starts_with('#');
    while (line.starts_with('#')) line.remove_prefix(1);
    for (std::size_t i = 0; i < kCsvSeparators.size(); ++i) {
      const std::size_t named = csv_header_column(line, kCsvSeparators[i], first);
      if (named != kNoColumn) return {kCsvSeparators[i], named};
      if (!comment) count_urls(line, kCsvSeparators[i], urls[i]);
    }
    first = first && comment;
  }
  // Of equals the first one, and a separator only where it separates: without one the whole line would be a URL.
  CsvLayout layout;
  std::size_t most = 0;
  for (std::size_t i = 0; i < kCsvSeparators.size(); ++i) {
    const std::size_t column = urls[i].best();
    const std::size_t count = urls[i].by_column[column];
    const bool separates = sample.find(kCsvSeparators[i]) != std::string_view::npos;
    if (separates && count > most) {
      layout = {kCsvSeparators[i], column};
      most = count;
    }
  }
  if (most == 0 && urls[0].by_column[urls[0].best()] > 0) layout.url_column = urls[0].best();
  return layout;
}

}  // namespace bloomwall::filter
