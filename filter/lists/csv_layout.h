// What separates the columns of a CSV feed, and which of them holds the URLs.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string_view>

namespace bloomwall::filter {

// Columns beyond are not looked at.
inline constexpr std::size_t kMaxCsvColumns = 64;
inline constexpr std::size_t kNoColumn = static_cast<std::size_t>(-1);
inline constexpr std::string_view kCsvSeparators = ",;\t|";

struct CsvLayout {
  char separator = ',';
  std::size_t url_column = kNoColumn;
};

// The column that this line, taken as a header, names "url"; where `loosely`, one whose name has that word in it
// ("phish_url") is as good. kNoColumn where it is no header. A header has at least two columns and holds no URL itself.
std::size_t csv_header_column(std::string_view line, char separator = ',', bool loosely = false);

// How many columns a line has; 0 where a quote is open or something follows a closing one.
std::size_t csv_columns(std::string_view line, char separator);

// The layout of a sample: separator and column of the first header, else those that most often give a URL.
CsvLayout csv_layout(std::string_view sample);

}  // namespace bloomwall::filter
