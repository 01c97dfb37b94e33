// What an Authenticator remembers, as one process hands it to the next in an upgrade, so that nobody's password is
// checked again: the key of its hashes, and who is behind which of them. No password is in it.
// It is passed in memory alone (memfd_create(2)), which no file name leads to and nobody can write to afterwards.
//   "bloomwall logins 1\n", the secret of 32 octets, then passwords and groups: each a count of 4 octets, and rows of
//   the key (32 octets), since (8), helpers (8), password (8), until (8), the name as spelt, the name, a count of
//   groups (4), and their names; a name is its length in 4 octets and its octets. Numbers as this machine has them.
// The reader takes nothing that is not whole: another version's memory is none.
// Cost: a copy of all of it. Threads: any.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/handles.h"
#include "proxy/auth/credential_cache.h"
#include "proxy/auth/credential_key.h"

namespace bloomwall::proxy {

struct LoginMemory {
  CredentialHasher::Secret secret{};
  std::vector<CredentialCache::Row> passwords = {};  // Authenticator's
  std::vector<CredentialCache::Row> groups = {};     // HelperLogins'
};

std::string encode(const LoginMemory& memory);
std::optional<LoginMemory> decode(std::string_view octets);

UniqueFd write_memory(const LoginMemory& memory);        // empty: the system has no memory for it
std::optional<LoginMemory> read_memory(int descriptor);  // nothing: it is no such memory

}  // namespace bloomwall::proxy
