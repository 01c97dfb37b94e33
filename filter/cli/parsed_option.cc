// SPDX-License-Identifier: Apache-2.0
#include "filter/cli/parsed_option.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <vector>

namespace bloomwall::filter {

Result<Format> format_named(std::string_view name) {
  if (const auto format = parse_format(name)) return *format;
  std::vector<std::string> names;
  names.reserve(kFormats.size());
  for (const Format format : kFormats) names.emplace_back(to_string(format));
  return unexpected(Error{Errc::usage, {}, fmt::format("'{}' is none of {}", name, fmt::join(names, ", "))});
}

Result<FileId> file_id_from(std::string_view text) {
  if (const auto id = parse_file_id(text)) return *id;
  return unexpected(Error{Errc::usage, {}, fmt::format("'{}' is not 32 hexadecimal digits", text)});
}

}  // namespace bloomwall::filter
