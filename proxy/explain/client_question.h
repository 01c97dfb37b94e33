// Who asks, and when, as a person types it: options of `explain` and `tls`.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

namespace bloomwall::proxy {

struct ClientQuestion {
  std::string client = {};    // an address; empty: one that no group asks for
  std::string listener = {};  // one of listeners[].address; empty: the first
  // Who has logged in; empty: nobody. Without a client: from wherever clients log in. `user_groups`: of that user;
  // empty: those that authentication.users_file gives.
  std::string user = {};
  std::vector<std::string> user_groups = {};
  std::vector<std::string> certificates = {};  // names of the client's certificate: "cn:NAME" and the like
  std::string at = {};  // "2026-11-23T21:15[:00]" of the configured time zone, or with "Z" of UTC; empty: now
};

}  // namespace bloomwall::proxy
