// Work that root leaves to the user whom a folder belongs to: what is written there belongs to the service then, and
// what is read there from the network is not parsed as root.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <filesystem>
#include <functional>
#include <optional>

namespace bloomwall::proxy {

struct Owner {
  uid_t user = 0;
  gid_t group = 0;
};
// Of the folder, or of the nearest one above that is there. Nothing: it is root's, or the caller is not root.
std::optional<Owner> other_owner(const std::filesystem::path& folder);

// In a process of its own, with the rights of that user alone. Returns the exit status of `work`; kExitError where that
// was ended by a signal, or cannot begin. Signals that have a handler here are passed on, as SIGTERM. The caller must
// have no other threads. Streams must be flushed before, and `work` flushes what it has written.
int run_as(const Owner& owner, const std::function<int()>& work);

}  // namespace bloomwall::proxy
