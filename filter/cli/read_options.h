// The options that say how lists are read, of every command that reads them.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <CLI/CLI.hpp>

#include "filter/lists/list_reader.h"

namespace bloomwall::filter {

// `raw`: of --raw.
void add_read_options(CLI::App& app, ReadOptions& read, bool& raw);

}  // namespace bloomwall::filter
