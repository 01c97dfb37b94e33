// The error of a failed system call on a file.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <string>

#include "filter/result.h"

namespace bloomwall::filter {

// "PATH: cannot ACTION: reason"; `code` is an errno.
inline tl::unexpected<Error> system_error(const std::filesystem::path& path, const char* action, int code = errno) {
  return unexpected(Error{Errc::io, path.string(), std::string("cannot ") + action + ": " + std::strerror(code)});
}

}  // namespace bloomwall::filter
