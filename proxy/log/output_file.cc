// SPDX-License-Identifier: Apache-2.0
#include "proxy/log/output_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <limits.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <system_error>
#include <utility>

#include "proxy/log/log_frame.h"

namespace bloomwall::proxy {
namespace {

constexpr const char* kJournal = "/run/systemd/journal/socket";
constexpr const char* kSyslog = "/dev/log";

UniqueFd connect_to(const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.size() >= sizeof address.sun_path) {
    errno = ENAMETOOLONG;
    return {};
  }
  path.copy(address.sun_path, path.size());
  UniqueFd fd(::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  const bool is_open = fd && ::connect(fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0;
  return is_open ? std::move(fd) : UniqueFd();
}

UniqueFd open_target(const std::string& target) {
  if (target == "stdout") return UniqueFd(::fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3));
  if (target == "stderr") return UniqueFd(::fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 3));
  // O_NONBLOCK: a FIFO without a reader is an error at once, and a terminal does not become ours.
  return UniqueFd(::open(target.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOCTTY | O_NONBLOCK, 0640));
}

tl::unexpected<std::string> failure(const std::string& target, int error) {
  return tl::unexpected(fmt::format("{}: {}", target, std::generic_category().message(error)));
}

// The start of the pieces, copied together; it ends with a line where one ends within PIPE_BUF.
std::size_t gather(std::span<const std::string_view> pieces, std::array<char, PIPE_BUF>& out) {
  std::size_t size = 0;
  for (const std::string_view piece : pieces) {
    const std::size_t take = std::min(piece.size(), out.size() - size);
    std::memcpy(out.data() + size, piece.data(), take);
    size += take;
  }
  const auto line_end = std::string_view(out.data(), size).rfind('\n');
  return line_end == std::string_view::npos ? size : line_end + 1;
}

OutputFile::Written result_of(ssize_t written) {
  if (written >= 0) return {static_cast<std::size_t>(written), 0};
  return {0, errno == EWOULDBLOCK ? EAGAIN : errno};
}

}  // namespace

OutputFile::OutputFile(std::string target, UniqueFd fd) : target_(std::move(target)), fd_(std::move(fd)) {
  struct stat status{};
  if (::fstat(fd_.get(), &status) != 0) return;
  if (S_ISREG(status.st_mode)) kind_ = Kind::regular;
  if (S_ISSOCK(status.st_mode)) kind_ = Kind::socket;
}

tl::expected<OutputFile, std::string> OutputFile::open(const std::string& target) {
  switch (frame_of(target)) {
    case LogFrame::journal:
      return open_socket(target, kJournal);
    case LogFrame::syslog:
      return open_socket(target, kSyslog);
    case LogFrame::line:
      break;
  }
  UniqueFd fd = open_target(target);
  if (!fd) return failure(target, errno);
  return OutputFile(target, std::move(fd));
}

tl::expected<OutputFile, std::string> OutputFile::open_socket(const std::string& target, const std::string& path) {
  UniqueFd fd = connect_to(path);
  if (!fd) return failure(target, errno);
  OutputFile file(target, std::move(fd));
  file.kind_ = Kind::datagrams;
  file.socket_ = path;
  return file;
}

tl::expected<void, std::string> OutputFile::reopen() {
  if (target_ == "stdout" || target_ == "stderr") return {};
  auto again = socket_.empty() ? open(target_) : open_socket(target_, socket_);
  if (!again) return tl::unexpected(again.error());
  *this = std::move(*again);
  return {};
}

OutputFile::Written OutputFile::write(std::span<const std::string_view> pieces) {
  Written done;
  do {
    done = write_some(pieces);
  } while (done.error == EINTR);
  return done;
}

OutputFile::Written OutputFile::write_some(std::span<const std::string_view> pieces) {
  if (kind_ == Kind::datagrams) return send_line(pieces);
  if (kind_ == Kind::other) {
    // POLLOUT means room for PIPE_BUF octets. O_NONBLOCK is not set because other processes may share the open file
    // description.
    pollfd room{fd_.get(), POLLOUT, 0};
    if (::poll(&room, 1, 0) == 0) return {0, EAGAIN};
    std::array<char, PIPE_BUF> together;
    const std::size_t size = gather(pieces, together);
    return result_of(::write(fd_.get(), together.data(), size));
  }
  std::array<iovec, kMostPieces> vectors;
  std::size_t count = 0;
  for (const std::string_view piece : pieces.first(std::min(pieces.size(), kMostPieces))) {
    vectors[count++] = {const_cast<char*>(piece.data()), piece.size()};
  }
  if (kind_ == Kind::regular) return result_of(::writev(fd_.get(), vectors.data(), static_cast<int>(count)));
  msghdr message{};
  message.msg_iov = vectors.data();
  message.msg_iovlen = count;
  return result_of(::sendmsg(fd_.get(), &message, MSG_DONTWAIT | MSG_NOSIGNAL));
}

// The first line. A socket whose log has ended is of no use to the next one.
OutputFile::Written OutputFile::send_line(std::span<const std::string_view> pieces) {
  std::string line;
  for (const std::string_view piece : pieces) {
    const std::size_t end = piece.find('\n');
    line.append(piece.substr(0, end));
    if (end != std::string_view::npos) break;
  }
  const std::size_t taken = line.size() + 1;
  std::ranges::replace(line, kLineFeed, '\n');
  const auto send = [&] { return ::send(fd_.get(), line.data(), line.size(), MSG_DONTWAIT | MSG_NOSIGNAL); };
  ssize_t sent = send();
  if (sent < 0 && (errno == ECONNREFUSED || errno == ECONNRESET || errno == ENOTCONN)) {
    if (UniqueFd fd = connect_to(socket_)) {
      fd_ = std::move(fd);
      sent = send();
    }
  }
  if (sent < 0 && errno != EMSGSIZE) return result_of(sent);
  return {.bytes = taken};
}

std::pair<std::uint64_t, std::uint64_t> OutputFile::identity() const {
  struct stat status{};
  if (::fstat(fd_.get(), &status) != 0) return {};
  return {status.st_dev, status.st_ino};
}

bool OutputFile::is_journal() const {
  // JOURNAL_STREAM holds device and inode of the stream that systemd made; a descriptor with others is not the journal
  // (systemd.exec(5)).
  const char* stream = std::getenv("JOURNAL_STREAM");
  struct stat status{};
  if (stream == nullptr || ::fstat(fd_.get(), &status) != 0) return false;
  return fmt::format("{}:{}", status.st_dev, status.st_ino) == stream;
}

}  // namespace bloomwall::proxy
