// SPDX-License-Identifier: Apache-2.0
#include "proxy/daemon/predecessor.h"

#include <sys/prctl.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <utility>

#include "base/units.h"

namespace bloomwall::proxy {
namespace {

constexpr std::size_t kMostText = 2000;
constexpr std::size_t kMostLine = 256;

void send_line(int channel, std::string line) {
  std::ranges::replace(line, '\n', ' ');
  line += '\n';
  [[maybe_unused]] const ssize_t sent = ::send(channel, line.data(), line.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
}

}  // namespace

Predecessor::Predecessor(EventLoop& loop, UniqueFd channel, Events events)
    : events_(std::move(events)), channel_(std::move(channel)) {
  event_.assign(
      loop.base(), channel_.get(), EV_READ | EV_PERSIST,
      [](evutil_socket_t, short, void* self) { static_cast<Predecessor*>(self)->on_readable(); }, this);
  event_.arm();
}

void Predecessor::tell(int channel, std::string_view text) {
  if (channel >= 0) send_line(channel, "text " + std::string(text.substr(0, kMostText)));
}

void Predecessor::say_ready() const { send_line(channel_.get(), "ready"); }

void Predecessor::say_serving() {
  ::prctl(PR_SET_PDEATHSIG, 0);
  is_serving_ = true;
  send_line(channel_.get(), "serving");
}

ssize_t Predecessor::receive(char* buffer, std::size_t size) {
  iovec octets{buffer, size};
  int passed = -1;
  alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof passed)> room{};
  msghdr message{};
  message.msg_iov = &octets;
  message.msg_iovlen = 1;
  message.msg_control = room.data();
  message.msg_controllen = room.size();
  const ssize_t got = ::recvmsg(channel_.get(), &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
  const cmsghdr* const header = got > 0 ? CMSG_FIRSTHDR(&message) : nullptr;
  const bool is_passed = header != nullptr && header->cmsg_level == SOL_SOCKET && header->cmsg_type == SCM_RIGHTS &&
                         header->cmsg_len == CMSG_LEN(sizeof passed);
  if (is_passed) {
    std::memcpy(&passed, CMSG_DATA(header), sizeof passed);
    memory_.reset(passed);
  }
  return got;
}

void Predecessor::on_readable() {
  std::array<char, kMostLine> buffer{};
  const ssize_t got = receive(buffer.data(), buffer.size());
  if (got < 0 && (errno == EAGAIN || errno == EINTR)) return;
  if (got <= 0) {
    event_.disarm();
    if (!is_serving_) return events_.on_lost();
    is_main_ = true;
    return events_.on_main();
  }
  line_.append(buffer.data(), static_cast<std::size_t>(got));
  if (const std::size_t end = line_.find('\n'); end != std::string::npos) on_line(line_.substr(0, end));
}

// There is one alone.
void Predecessor::on_line(std::string_view line) {
  line_.clear();
  if (!line.starts_with("go ")) return;
  line.remove_prefix(3);
  const std::size_t blank = std::min(line.find(' '), line.size());
  const auto succeeded = parse_integer(line.substr(0, blank));
  const auto failed = parse_integer(line.substr(std::min(blank + 1, line.size())));
  events_.on_go({.succeeded = succeeded.value_or(0), .failed = failed.value_or(0)}, std::move(memory_));
}

}  // namespace bloomwall::proxy
