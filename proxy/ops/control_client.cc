// SPDX-License-Identifier: Apache-2.0
#include "proxy/ops/control_client.h"

#include <fmt/format.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <optional>
#include <system_error>

namespace bloomwall::proxy {
namespace {

constexpr std::size_t kLongestLine = std::size_t{64} << 10;
constexpr int kHighestStatus = 255;

std::string reason(const std::filesystem::path& socket, int error) {
  const std::string why =
      error == ENOENT || error == ECONNREFUSED ? "no bloomwall listens there" : std::generic_category().message(error);
  return fmt::format("{}: {}", socket.string(), why);
}

bool send_line(int fd, std::string_view text) {
  const std::string line = std::string(text) + "\n";
  return ::send(fd, line.data(), line.size(), MSG_NOSIGNAL) == static_cast<ssize_t>(line.size());
}

// The status that a line holds; nothing where it is another kind of line.
std::optional<int> status_in(std::string_view line) {
  constexpr std::string_view kMark = "status ";
  if (!line.starts_with(kMark)) return std::nullopt;
  line.remove_prefix(kMark.size());
  int status = 0;
  const auto [end, error] = std::from_chars(line.data(), line.data() + line.size(), status);
  const bool good = error == std::errc{} && end == line.data() + line.size() && status >= 0 && status <= kHighestStatus;
  return good ? std::optional(status) : std::nullopt;
}

Answerer answerer_in(std::string_view line) {
  const std::size_t space = std::min(line.find(' '), line.size());
  return {std::string(line.substr(0, space)), std::string(line.substr(std::min(space + 1, line.size())))};
}

}  // namespace

UniqueFd connect_to(const std::filesystem::path& socket) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (socket.native().size() >= sizeof address.sun_path) {
    errno = ENAMETOOLONG;
    return {};
  }
  std::memcpy(address.sun_path, socket.c_str(), socket.native().size());
  UniqueFd fd(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (fd && ::connect(fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) {
    const int error = errno;
    fd.reset();
    errno = error;
  }
  return fd;
}

tl::expected<int, std::string> ask(const std::filesystem::path& socket, std::string_view request,
                                   const std::function<void(std::string_view)>& said, Answerer* who) {
  const UniqueFd fd = connect_to(socket);
  if (!fd) return tl::unexpected(reason(socket, errno));
  if (!send_line(fd.get(), request)) return tl::unexpected(reason(socket, errno));
  std::string pending;
  std::array<char, 4096> piece{};
  for (;;) {
    const ssize_t got = ::recv(fd.get(), piece.data(), piece.size(), 0);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return tl::unexpected(fmt::format("{}: bloomwall went away before it answered", socket.string()));
    pending.append(piece.data(), static_cast<std::size_t>(got));
    for (std::size_t end = 0; (end = pending.find('\n')) != std::string::npos; pending.erase(0, end + 1)) {
      const std::string_view line = std::string_view(pending).substr(0, end);
      if (const auto status = status_in(line)) return *status;
      if (line.starts_with("say ")) said(line.substr(4));
      if (who != nullptr && line.starts_with("from ")) *who = answerer_in(line.substr(5));
    }
    if (pending.size() > kLongestLine)
      return tl::unexpected(fmt::format("{}: not bloomwall's language", socket.string()));
  }
}

}  // namespace bloomwall::proxy
