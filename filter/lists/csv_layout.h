// The layout of a CSV feed: its separator, the number of its columns, and the column that holds the URLs. Nothing is
// guessed: where several columns are possible, the user is asked (--csv-column).
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "filter/result.h"

namespace bloomwall::filter {

// A line of more columns is no record.
inline constexpr std::size_t kMaxCsvColumns = 64;
inline constexpr std::size_t kNoColumn = static_cast<std::size_t>(-1);
inline constexpr std::string_view kCsvSeparators = ",;\t|";

struct CsvLayout {
  char separator = ',';
  std::size_t column = kNoColumn;  // the one to read, from 0; none where the sample holds no record
  std::size_t columns = 0;         // of a record; 0 likewise
  std::vector<std::string> names;  // of the columns, in lower case; empty where no header says them
  bool by_number = false;          // the user named the column: without names it stays where it is
};

// The column that this line, taken as a header, names "url"; kNoColumn where it is no header. A header has at least two
// columns and no URL, host, address or hash in it.
std::size_t csv_header_column(std::string_view line, char separator = ',');

// A line without the blanks around it; TABs stay where they separate columns.
std::string_view csv_line(std::string_view line, char separator);

// How many columns a line has; 0 where a quote is open, something follows a closing one, or there are too many.
std::size_t csv_columns(std::string_view line, char separator);

// The layout where `line` is a repeated header: the names of the first one in any order, or names of columns alone,
// among them that of the column that is read. A record that holds the word "url" is neither.
std::optional<CsvLayout> csv_header_again(std::string_view line, const CsvLayout& layout);

// The layout of the file `path` that begins with `sample` (whole lines). The column is
//   `wanted`, a number from 1 or a name in the header, where it is not empty
//   else the one that the header names "url"; the header may stand in a comment
//   else the only one with URLs, unless its name says that they are references (source, report, ...), or hosts,
//   addresses or hashes, which the URLs may be about, stand in another column or among them
// Error `usage`, naming the columns and --csv-column, where it is none of these, or where the header has another number
// of columns than most records.
Result<CsvLayout> csv_layout(std::string_view sample, std::string_view path, std::string_view wanted = {});

// The question for the column, where nine of ten lines have equally many columns and one of these holds hosts,
// addresses or URLs; none where that is no table, or where csv_layout() needs no answer.
std::optional<Error> ask_for_column(std::string_view sample, std::string_view path);

}  // namespace bloomwall::filter
