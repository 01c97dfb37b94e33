// Command-line options whose text is read by one of our own parsers.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <CLI/CLI.hpp>

#include <cstdint>
#include <string>
#include <string_view>

#include "filter/file/header.h"
#include "filter/file/temp_file.h"
#include "filter/lists/list_format.h"
#include "filter/lists/list_reader.h"
#include "filter/result.h"

namespace bloomwall::filter {

// Parsers of what several commands take; errors are Errc::usage and say what is expected.
Result<Format> format_named(std::string_view name);
Result<FileId> file_id_from(std::string_view text);
Result<double> share_from(std::string_view text);  // "2%", "0.5" (percent): a share, 0 to 1
// Of base/units.h; the message repeats the text.
Result<std::uint64_t> count_from(std::string_view text);
Result<std::uint64_t> bytes_from(std::string_view text);
Result<double> rate_from(std::string_view text);
Result<double> weight_from(std::string_view text);

// Where the parser refuses the text, the command line is refused with its words. `assign` takes the value.
template <typename T, typename Assign>
CLI::Option* add_parsed(CLI::App& app, const std::string& name, const char* type, const std::string& help,
                        Result<T> (*parse)(std::string_view), Assign assign) {
  return app
      .add_option_function<std::string>(
          name,
          [name, parse, assign](const std::string& text) {
            auto value = parse(text);
            if (!value) throw CLI::ValidationError(name, value.error().what);
            assign(*value);
          },
          help)
      ->type_name(type);
}

// --mode and --group of the files that a command writes.
void add_access_options(CLI::App& app, FileAccess& access);

// --rebuild-at: the share of a filter's entries from which on a delta makes a rebuild due.
CLI::Option* add_rebuild_at(CLI::App& app, double& share);

// The options that say how lists are read. `raw`: of --raw.
void add_read_options(CLI::App& app, ReadOptions& read, bool& raw);

}  // namespace bloomwall::filter
