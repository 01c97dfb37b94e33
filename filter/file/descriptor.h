// Inside filter/file: a file descriptor that is owned, and the text of a failed system call.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <string>
#include <utility>

#include "filter/result.h"

namespace bloomwall::filter {

class Descriptor {
 public:
  explicit Descriptor(int fd = -1) : fd_(fd) {}
  Descriptor(Descriptor&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  Descriptor& operator=(Descriptor&& other) noexcept {
    std::swap(fd_, other.fd_);
    return *this;
  }
  ~Descriptor() {
    if (fd_ >= 0) close(fd_);
  }
  explicit operator bool() const { return fd_ >= 0; }
  int get() const { return fd_; }

 private:
  int fd_;
};

// "PATH: cannot ACTION: reason"; `code` is an errno.
inline tl::unexpected<Error> system_error(const std::filesystem::path& path, const char* action, int code = errno) {
  return unexpected(Error{Errc::io, path.string(), std::string("cannot ") + action + ": " + std::strerror(code)});
}

}  // namespace bloomwall::filter
