// Feeds of JSON lines (NDJSON): one object a line, of which one field is an entry. Spamhaus publishes DROP so.
//   {"cidr":"1.10.16.0/20","sblid":"SBL256894","rir":"apnic"}
//   {"type":"metadata","timestamp":1786000000,"size":85321,"records":1395}
// The field is the one that is asked for (--csv-column), or else "cidr" (addresses and ranges, as in a list of
// networks), or else "url". Nothing is guessed: "domain" may be that of the network's owner.
// Memory: one line and what it holds. Lines are at most kMaxLineBytes; nesting deeper than kMaxJsonDepth is malformed.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

#include "filter/result.h"

namespace bloomwall::filter {

inline constexpr int kMaxJsonDepth = 16;

// Whether nine of ten of the first lines of `sample`, the very first among them, are an object each.
bool is_json_lines(std::string_view sample);

// The field of the file `path` that begins with `sample` (whole lines). Error `usage`, naming the fields, where
// `wanted` is in none of the first records, or where it is empty and neither "cidr" nor "url" is in nine of ten.
Result<std::string> json_field(std::string_view sample, std::string_view path, std::string_view wanted);

}  // namespace bloomwall::filter
