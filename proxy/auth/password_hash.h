// Hashes of passwords in the forms of crypt(5): yescrypt ($y$), bcrypt ($2b$, $2y$), SHA-crypt ($6$, $5$).
// Checking one costs 3 to 300 ms of CPU and up to 128 MiB of memory on purpose, so never on an event loop.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <crypt.h>

#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace bloomwall::proxy {

// Why this is no hash that can be checked in reasonable time, and what to do; nothing where it is one. Never quotes the
// hash itself, which may be a password.
std::optional<std::string> find_hash_fault(std::string_view hash);

// Not thread-safe; 32 KiB of memory, wiped after each use.
class PasswordHasher {
 public:
  enum class Result { same, different, failed };  // failed: no memory
  Result compare(const std::string& password, const std::string& hash);

 private:
  std::unique_ptr<crypt_data> data_;
};

}  // namespace bloomwall::proxy
