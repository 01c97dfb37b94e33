// Settings that are valid but probably unintended: `check`, start-up and each reload warn of them; none is refused.
// Reads the modes of files; cheap. Threads: any.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "proxy/decision/snapshot.h"
#include "proxy/io/endpoint.h"

namespace bloomwall::proxy {

// One line each: secrets that others may read, credentials that travel in clear, certificates that are not valid now or
// expire within two weeks, an admin address that others reach without TLS, an empty access.clients, no filters, lists
// that were not fetched for long, groups that nobody can be in.
void append_warnings(const Snapshot& snapshot, std::vector<std::string>& lines);

// Where every client decrypts and idles: whether limits.buffer_memory is enough for limits.client_connections.
std::optional<std::string> memory_warning(const conf::Limits& limits);

// Whether tokens and sessions may be sent to the admin address: it is of this host alone, or speaks TLS.
bool may_serve_api(const conf::Admin& admin);

// Errors that `run` would have with the logs: missing folders, or a folder at the file's path. Opens and creates
// nothing.
std::vector<std::string> log_errors(const conf::Log& settings);
// Errors that `run` would have with listening: addresses that collide among the listeners and the admin server.
std::vector<std::string> listener_errors(const conf::Config& settings);

// Whether two addresses collide. Sockets of listen_on() are dual-stack: the IPv6 wildcard also takes the IPv4 port.
bool collide(const Endpoint& one, const Endpoint& two);

}  // namespace bloomwall::proxy
