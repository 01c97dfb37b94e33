// Options that several commands of builds have: how lists are read, what error is wanted, identity.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <CLI/CLI.hpp>
#include <functional>

#include "filter/builder/builder.h"

namespace bloomwall::filter {

// `run` gives the exit status.
CLI::App& add_command(CLI::App& app, const char* name, const char* help, int& status, std::function<int()> run);

void add_reading_options(CLI::App& app, BuildOptions& o);
void add_target_options(CLI::App& app, Target& target);
void add_fpr(CLI::App& app, Target& target);  // a part of these: --fpr and --fpr-of
// What else of a file varies between two equal builds.
void add_pins(CLI::App& app, IdentityOptions& o);
CLI::Option* add_series_key(CLI::App& app, IdentityOptions& o);
void add_identity_options(CLI::App& app, IdentityOptions& o);
void add_threads(CLI::App& app, unsigned& threads);

}  // namespace bloomwall::filter
