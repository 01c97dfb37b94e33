// SPDX-License-Identifier: Apache-2.0
#include "filter/lists/csv_layout.h"

#include <algorithm>
#include <array>

#include "filter/lists/csv_record.h"
#include "filter/lists/line_blocks.h"
#include "filter/lists/line_parser.h"
#include "filter/text.h"

namespace bloomwall::filter {

std::size_t csv_header_column(std::string_view line) {
  // Nearly all lines are records, and a record holds a URL.
  if (line.size() > 1024 || line.find("://") != std::string_view::npos) return ParsePlan::kNoColumn;
  std::size_t found = ParsePlan::kNoColumn;
  std::size_t columns = 0;
  CsvWalk walk(line);
  for (; columns < kMaxCsvColumns && walk.next(); ++columns) {
    const bool named = equals_ignoring_case(trim(walk.raw()), "url");
    if (named && found == ParsePlan::kNoColumn) found = columns;
  }
  return columns >= 2 && !walk.damaged() && !walk.quote_open() ? found : ParsePlan::kNoColumn;
}

std::size_t csv_url_column(std::string_view sample) {
  std::array<std::size_t, kMaxCsvColumns> urls{};
  LineWalk lines(sample);
  while (lines.next()) {
    if (lines.line().starts_with('#')) continue;
    CsvWalk walk(lines.line());
    for (std::size_t column = 0; column < kMaxCsvColumns && walk.next(); ++column) {
      if (!scheme_of(trim(walk.raw())).empty()) ++urls[column];
    }
  }
  const auto* const best = std::max_element(urls.begin(), urls.end());
  return *best == 0 ? ParsePlan::kNoColumn : static_cast<std::size_t>(best - urls.begin());
}

}  // namespace bloomwall::filter
