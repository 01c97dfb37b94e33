// Splits one CSV record into fields as RFC 4180 has it: ',' (or another separator) between them, '"' around those that
// need it, '""' for a '"'. Lenient where nothing is lost by it: blanks before an opening quote, a '"' within an
// unquoted field.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace bloomwall::filter {

// Whether a row has fields, and nothing in them: ",,", "\"\";\"\"". What a spreadsheet writes below its table.
bool is_empty_row(std::string_view line);

// The separator that a first line for Excel names ("sep=;"); none where it is no such line.
std::optional<char> separator_line(std::string_view line);

class CsvWalk {
 public:
  explicit CsvWalk(std::string_view record, char separator = ',') : rest_(record), separator_(separator) {}
  bool next();                                     // to the next field; false at the end or after damage
  std::string_view raw() const { return field_; }  // without the quotes around it, doubled ones still doubled
  // The field as it was meant; a view of `scratch` where quotes were doubled.
  std::string_view text(std::string& scratch) const;

  bool quote_open() const { return quote_open_; }  // the record goes on in the next line
  bool damaged() const { return damaged_; }        // something follows a closing quote

 private:
  bool quoted();
  std::string_view rest_;
  char separator_;
  std::string_view field_;
  bool more_ = true;
  bool doubled_ = false;
  bool quote_open_ = false;
  bool damaged_ = false;
};

}  // namespace bloomwall::filter
