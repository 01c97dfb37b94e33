// SPDX-License-Identifier: Apache-2.0
#include "filter/cli/parsed_option.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <vector>

#include "filter/build/quantity.h"

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

Result<double> parse_percent(std::string_view text) {
  std::string_view number = text;
  if (number.ends_with('%')) number.remove_suffix(1);
  const auto value = parse_weight(number);
  if (value && *value <= 100) return *value / 100;
  return unexpected(Error{Errc::usage, {}, fmt::format("'{}' is not a percentage from 0 to 100", text)});
}

CLI::Option* add_rebuild_at(CLI::App& app, double& share) {
  return add_parsed(app, "--rebuild-at", "PERCENT",
                    "say that a rebuild is due where the delta is more of its filter than this; default 2%",
                    parse_percent, [&share](double value) { share = value; });
}

}  // namespace bloomwall::filter
