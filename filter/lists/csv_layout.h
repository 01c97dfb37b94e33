// Which column of a CSV feed holds the URLs.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string_view>

namespace bloomwall::filter {

// Columns beyond are not looked at.
inline constexpr std::size_t kMaxCsvColumns = 64;

// The column that this line, taken as a header, names "url"; ParsePlan::kNoColumn where it is no header. A header has at
// least two columns and holds no URL itself.
std::size_t csv_header_column(std::string_view line);

// The column that most often holds a URL in the records of a sample; kNoColumn where none does.
std::size_t csv_url_column(std::string_view sample);

}  // namespace bloomwall::filter
