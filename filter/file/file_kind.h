// What a file given on a command line is, told from its first bytes alone.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>

#include "filter/result.h"

namespace bloomwall::filter {

enum class FileKind : std::uint8_t {
  filter,    // or anything else: opening it as a filter says what is wrong
  counting,  // a filter file of counters
  delta,     // text that begins as a delta does
};
// Errors: io.
Result<FileKind> file_kind(const std::filesystem::path& file);

}  // namespace bloomwall::filter
