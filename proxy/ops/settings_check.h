// What is good in itself and hardly meant: told by `check`, at the start and by each reload, and refused by nobody.
// Reads the modes of files; cheap. Threads: any.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "proxy/net/snapshot.h"

namespace bloomwall::proxy {

// One line each: secrets that others may read, credentials that travel in clear, certificates that are not valid now or end
// within two weeks, nobody who may use the proxy, no filters.
void append_warnings(const Snapshot& snapshot, std::vector<std::string>& lines);

// Why `run` could not open a log of these settings: folders that are missing, or stand where the file should. Opens and makes
// nothing.
std::vector<std::string> log_errors(const conf::Log& settings);
// Why `run` could not listen: addresses that two of the listeners and the admin's server would take from each other.
std::vector<std::string> listener_errors(const conf::Config& settings);

}  // namespace bloomwall::proxy
