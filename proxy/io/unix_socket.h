// Unix stream sockets by path: listening and connecting.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <tl/expected.hpp>

#include "proxy/io/handles.h"

namespace bloomwall::proxy {

// The path of "unix:/path", as `answers[].address` has it; empty: it is an address.
std::string unix_path_of(const std::string& address);

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
// `group`: of the system, which it is given to before anybody can connect; nothing: that of every new file there.
// Error: "PATH: File exists".
tl::expected<UniqueFd, std::string> listen_at(const std::filesystem::path& path, std::size_t backlog,
                                              const std::optional<std::string>& group = {});

// The number of a group of the system. Error: there is none of that name.
tl::expected<gid_t, std::string> group_id(const std::string& name);
// Gives the socket at `path` to the group, as listen_at() does. Error: there is none of that name, or this process may
// not: without root its user must be a member.
tl::expected<void, std::string> give_to_group(const std::filesystem::path& path,
                                              const std::optional<std::string>& group);
// Whether that would do, of a socket that another process still has; a nameless file beside it is tried. Where the
// folder's file system has none, it is taken to do.
tl::expected<void, std::string> may_be_given(const std::filesystem::path& path,
                                             const std::optional<std::string>& group);

}  // namespace bloomwall::proxy
