// SPDX-License-Identifier: Apache-2.0
#include "proxy/io/unix_socket.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <grp.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstring>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

namespace bloomwall::proxy {
namespace {

constexpr std::string_view kUnix = "unix:";
constexpr std::size_t kMostGroupText = std::size_t{1} << 24;  // octets of one with a million members
constexpr timeval kConnectPatience{.tv_sec = 5, .tv_usec = 0};

// False if the path is too long.
bool set_path(sockaddr_un& address, const std::filesystem::path& path) {
  address.sun_family = AF_UNIX;
  if (path.native().size() >= sizeof address.sun_path) return false;
  std::memcpy(address.sun_path, path.c_str(), path.native().size());
  return true;
}

tl::unexpected<std::string> failure(const std::filesystem::path& path, int error) {
  return tl::unexpected(fmt::format("{}: {}", path.string(), std::generic_category().message(error)));
}

tl::expected<void, std::string> make_room(const std::filesystem::path& path) {
  struct stat status{};
  if (::lstat(path.c_str(), &status) != 0) return {};
  if (!S_ISSOCK(status.st_mode)) return failure(path, EEXIST);
  if (connect_to(path)) return failure(path, EADDRINUSE);
  if (errno != ECONNREFUSED || ::unlink(path.c_str()) != 0) return failure(path, errno);
  return {};
}

tl::unexpected<std::string> refused_group(const std::filesystem::path& path, gid_t wanted,
                                          const std::optional<std::string>& group, int error) {
  if (error != EPERM && error != EINVAL) return failure(path, error);
  const std::string name = group.value_or(std::to_string(wanted));
  return tl::unexpected(
      fmt::format("{} may not be given to the group {}: the user of this process must be a member of it; under systemd "
                  "SupplementaryGroups={} with PrivateUsers=no",
                  path.string(), name, name));
}

tl::expected<gid_t, std::string> group_of_new_files(const std::filesystem::path& folder) {
  struct stat status{};
  if (::stat(folder.c_str(), &status) != 0) return failure(folder, errno);
  return (status.st_mode & S_ISGID) != 0 ? status.st_gid : ::getegid();
}

}  // namespace

std::string unix_path_of(const std::string& address) {
  return address.starts_with(kUnix) ? address.substr(kUnix.size()) : std::string();
}

UniqueFd connect_to(const std::filesystem::path& socket) {
  sockaddr_un address{};
  if (!set_path(address, socket)) {
    errno = ENAMETOOLONG;
    return {};
  }
  UniqueFd fd(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (!fd) return fd;
  ::setsockopt(fd.get(), SOL_SOCKET, SO_SNDTIMEO, &kConnectPatience, sizeof kConnectPatience);
  if (::connect(fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) {
    const int error = errno;
    fd.reset();
    errno = error;
  }
  return fd;
}

SocketName::SocketName(std::filesystem::path path) : path_(std::move(path)) { keep(); }

void SocketName::keep() {
  struct stat made{};
  if (::lstat(path_.c_str(), &made) != 0) return;
  device_ = made.st_dev;
  inode_ = made.st_ino;
}

SocketName::~SocketName() {
  struct stat there{};
  if (::lstat(path_.c_str(), &there) != 0 || there.st_dev != device_ || there.st_ino != inode_) return;
  ::unlink(path_.c_str());
}

std::uint32_t user_of(int connected) {
  ucred peer{};
  socklen_t size = sizeof peer;
  if (::getsockopt(connected, SOL_SOCKET, SO_PEERCRED, &peer, &size) != 0) return ~0U;
  return peer.uid;
}

std::filesystem::path path_of_listening(int socket) {
  sockaddr_un address{};
  socklen_t size = sizeof address;
  int listens = 0;
  socklen_t listens_size = sizeof listens;
  if (::getsockopt(socket, SOL_SOCKET, SO_ACCEPTCONN, &listens, &listens_size) != 0 || listens != 1) return {};
  if (::getsockname(socket, reinterpret_cast<sockaddr*>(&address), &size) != 0) return {};
  if (address.sun_family != AF_UNIX || size <= offsetof(sockaddr_un, sun_path)) return {};
  const std::size_t most = std::min(std::size_t{size} - offsetof(sockaddr_un, sun_path), sizeof address.sun_path);
  return std::string(address.sun_path, ::strnlen(address.sun_path, most));
}

tl::expected<gid_t, std::string> group_id(const std::string& name) {
  std::vector<char> text(std::size_t{1} << 16);
  group entry{};
  group* found = nullptr;
  int error = ERANGE;
  while (error == ERANGE && text.size() <= kMostGroupText) {
    error = ::getgrnam_r(name.c_str(), &entry, text.data(), text.size(), &found);
    if (error == ERANGE) text.resize(text.size() * 4);
  }
  if (found != nullptr) return found->gr_gid;
  return tl::unexpected(fmt::format("this system has no group {}", name));
}

tl::expected<void, std::string> give_to_group(const std::filesystem::path& path,
                                              const std::optional<std::string>& group) {
  const auto wanted = group ? group_id(*group) : group_of_new_files(path.parent_path());
  if (!wanted) return tl::unexpected(wanted.error());
  struct stat status{};
  if (::lstat(path.c_str(), &status) != 0) return failure(path, errno);
  if (status.st_gid == *wanted || ::lchown(path.c_str(), static_cast<uid_t>(-1), *wanted) == 0) return {};
  return refused_group(path, *wanted, group, errno);
}

tl::expected<void, std::string> may_be_given(const std::filesystem::path& path,
                                             const std::optional<std::string>& group) {
  const auto wanted = group ? group_id(*group) : group_of_new_files(path.parent_path());
  if (!wanted) return tl::unexpected(wanted.error());
  struct stat status{};
  if (::lstat(path.c_str(), &status) == 0 && status.st_gid == *wanted) return {};
  const UniqueFd nameless(::open(path.parent_path().c_str(), O_WRONLY | O_TMPFILE | O_CLOEXEC, 0600));
  if (!nameless || ::fchown(nameless.get(), static_cast<uid_t>(-1), *wanted) == 0) return {};
  return refused_group(path, *wanted, group, errno);
}

tl::expected<UniqueFd, std::string> listen_at(const std::filesystem::path& path, std::size_t backlog,
                                              const std::optional<std::string>& group) {
  sockaddr_un address{};
  if (!set_path(address, path)) return failure(path, ENAMETOOLONG);
  if (auto room = make_room(path); !room) return tl::unexpected(room.error());
  UniqueFd fd(::socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  if (!fd) return failure(path, errno);
  // bind() gives the file the mode of the socket, so no other user can connect before a chmod().
  if (::fchmod(fd.get(), 0660) != 0 ||
      ::bind(fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) {
    return failure(path, errno);
  }
  SocketName name(path);  // removed again where the rest fails
  const auto given = group ? give_to_group(path, group) : tl::expected<void, std::string>();
  if (!given) return tl::unexpected(given.error());
  if (::chmod(path.c_str(), 0660) != 0 || ::listen(fd.get(), static_cast<int>(backlog)) != 0) {
    return failure(path, errno);
  }
  name.forget();
  return fd;
}

}  // namespace bloomwall::proxy
