// SPDX-License-Identifier: Apache-2.0
#include "filter/lists/csv_record.h"

#include <cstddef>

#include "base/text.h"

namespace bloomwall::filter {

bool CsvWalk::next() {
  if (!more_ || quote_open_ || damaged_) return false;
  doubled_ = false;
  std::size_t at = 0;
  while (at < rest_.size() && is_blank(rest_[at]) && rest_[at] != separator_) ++at;
  if (at < rest_.size() && rest_[at] == '"') {
    rest_.remove_prefix(at + 1);
    return quoted();
  }
  more_ = rest_.find(separator_) != std::string_view::npos;
  field_ = next_part(rest_, separator_);
  return true;
}

// `rest_` begins after the opening quote.
bool CsvWalk::quoted() {
  std::size_t end = rest_.find('"');
  while (end != std::string_view::npos && end + 1 < rest_.size() && rest_[end + 1] == '"') {
    doubled_ = true;
    end = rest_.find('"', end + 2);
  }
  if (end == std::string_view::npos) {
    quote_open_ = true;
    return false;
  }
  field_ = rest_.substr(0, end);
  rest_.remove_prefix(end + 1);
  more_ = rest_.find(separator_) != std::string_view::npos;
  damaged_ = !trim(next_part(rest_, separator_)).empty();
  return !damaged_;
}

std::string_view CsvWalk::text(std::string& scratch) const {
  if (!doubled_) return field_;
  scratch.clear();
  for (std::size_t i = 0; i < field_.size(); ++i) {
    scratch.push_back(field_[i]);
    if (field_[i] == '"') ++i;
  }
  return scratch;
}

}  // namespace bloomwall::filter
