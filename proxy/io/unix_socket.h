// Unix stream sockets by path: listening and connecting.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <tl/expected.hpp>

#include "proxy/io/handles.h"

namespace bloomwall::proxy {

// Connected and blocking, or nothing with errno set: ENOENT or ECONNREFUSED where no process listens, EAGAIN where the
// listener accepts nothing for kConnectPatience.
UniqueFd connect_to(const std::filesystem::path& socket);

// The path of a listening socket. Unlinked by the destructor, unless another process has replaced it.
class SocketName {
 public:
  explicit SocketName(std::filesystem::path path);  // bound just now
  void keep();                                      // what is there is this process's
  ~SocketName();
  void forget() { inode_ = 0; }  // it is another process's
  SocketName(const SocketName&) = delete;
  SocketName& operator=(const SocketName&) = delete;

 private:
  const std::filesystem::path path_;
  std::uint64_t device_ = 0, inode_ = 0;  // as this process made it
};

// The user who connected it, as the kernel noted it then; ~0: not known.
std::uint32_t user_of(int connected);

// The path at which a unix socket listens; empty: it is none that does.
std::filesystem::path path_of_listening(int socket);

// A non-blocking socket that listens at `path`, which only its owner and group may write to (0660), as connect()
// requires. Replaces a stale socket of a dead process; fails where a process listens or another file is at `path`.
// Error: "PATH: File exists".
tl::expected<UniqueFd, std::string> listen_at(const std::filesystem::path& path, std::size_t backlog);

}  // namespace bloomwall::proxy
