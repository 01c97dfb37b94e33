// Owners of what the system and C libraries hand out by bare number or pointer. Aliases of FreeWith for one library
// stand in the handles.h of the folder that uses it, or in the only file that does.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <unistd.h>

#include <utility>

namespace bloomwall {

// Deleter of a std::unique_ptr; takes no space in it.
template <auto Free>
struct FreeWith {
  template <typename T>
  void operator()(T* p) const noexcept {
    Free(p);
  }
};

// A file descriptor; closed when it goes out of scope.
class UniqueFd {
 public:
  UniqueFd() = default;
  explicit UniqueFd(int fd) : fd_(fd) {}
  UniqueFd(UniqueFd&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  UniqueFd& operator=(UniqueFd&& other) noexcept {
    if (this != &other) reset(std::exchange(other.fd_, -1));
    return *this;
  }
  ~UniqueFd() { reset(); }
  void reset(int fd = -1) {
    if (fd_ >= 0) ::close(fd_);
    fd_ = fd;
  }
  int get() const { return fd_; }
  int release() { return std::exchange(fd_, -1); }
  explicit operator bool() const { return fd_ >= 0; }

 private:
  int fd_ = -1;
};

}  // namespace bloomwall
