// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "proxy/answers/squid_helper.h"
#include "proxy/cli/commands.h"
#include "proxy/io/unix_socket.h"

namespace bloomwall::proxy {
namespace {

using SteadyTime = std::chrono::steady_clock::time_point;

constexpr std::size_t kMostLine = std::size_t{64} * 1024;
constexpr std::size_t kMostWaiting = std::size_t{1}
                                     << 20;  // octets for the proxy; then Squid's are left where they are

// Lines out of octets that come in pieces.
class LineCutter {
 public:
  void add(std::string_view octets) { rest_.append(octets); }
  // Without its end. False: none is complete.
  bool next(std::string& line) {
    const std::size_t end = rest_.find('\n');
    if (end == std::string::npos) return false;
    line = rest_.substr(0, end);
    if (line.ends_with('\r')) line.pop_back();
    rest_.erase(0, end + 1);
    return true;
  }
  // What has come behind the last end of a line.
  std::string take_rest() { return std::exchange(rest_, {}); }
  bool is_too_long() const { return rest_.size() > kMostLine; }
  void clear() { rest_.clear(); }

 private:
  std::string rest_;
};

// Squid's pipes, the proxy's socket, and what stands between them.
class HelperLoop {
 public:
  explicit HelperLoop(const AnswerCommand& command)
      : command_(command),
        helper_({.rewrites = command.rewrites, .page = command.page, .fails_closed = command.fails_closed}) {}

  int run() {
    while (!(stdin_ended_ && !helper_.has_open())) {
      const bool may_ask = !stdin_ended_ && to_proxy_.size() < kMostWaiting;
      const short of_proxy = to_proxy_.empty() ? POLLIN : POLLIN | POLLOUT;
      std::array<pollfd, 2> wanted{{{.fd = may_ask ? STDIN_FILENO : -1, .events = POLLIN, .revents = 0},
                                    {.fd = proxy_ ? proxy_.get() : -1, .events = of_proxy, .revents = 0}}};
      const int ready = ::poll(wanted.data(), wanted.size(), time_left());
      if (ready < 0 && errno != EINTR) return kExitError;
      if (ready <= 0) {
        if (helper_.has_open() && std::chrono::steady_clock::now() >= deadline_) give_up("the proxy is too slow");
      } else {
        if (wanted[1].revents != 0) hear_proxy();
        if ((wanted[1].revents & POLLOUT) != 0 && !send_waiting()) ask_again();
        if (wanted[0].revents != 0 && !hear_squid()) {
          give_up("what Squid says cannot be read");
          say_answers();
          return kExitError;
        }
      }
      if (!say_answers()) return kExitError;
    }
    return kExitDone;
  }

 private:
  int time_left() const {
    if (!helper_.has_open()) return -1;
    const auto left =
        std::chrono::duration_cast<std::chrono::milliseconds>(deadline_ - std::chrono::steady_clock::now());
    return static_cast<int>(std::max<std::int64_t>(left.count() + 1, 0));
  }

  // False: stdin cannot be read, or holds no lines.
  bool hear_squid() {
    const ssize_t size = ::read(STDIN_FILENO, octets_.data(), octets_.size());
    if (size < 0) return errno == EINTR || errno == EAGAIN;
    stdin_ended_ = size == 0;
    from_squid_.add({octets_.data(), static_cast<std::size_t>(size)});
    std::string lines;
    for (std::string line; from_squid_.next(line);) {
      if (!helper_.has_open()) set_deadline();
      lines += helper_.take(line);
    }
    if (const std::string last = stdin_ended_ ? from_squid_.take_rest() : std::string(); !last.empty()) {
      if (!helper_.has_open()) set_deadline();
      lines += helper_.take(last);
    }
    if (!lines.empty() && !ask(lines)) ask_again();
    return !from_squid_.is_too_long();
  }

  bool ask(std::string_view lines) {
    if (!proxy_) proxy_ = connect_to(command_.socket);
    if (!proxy_) return false;
    to_proxy_.append(lines);
    return send_waiting();
  }

  // As much as the socket takes: answers are read meanwhile, for the proxy reads no further while nobody does.
  bool send_waiting() {
    while (proxy_ && !to_proxy_.empty()) {
      const ssize_t sent = ::send(proxy_.get(), to_proxy_.data(), to_proxy_.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
      if (sent < 0 && errno == EINTR) continue;
      if (sent < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) return true;
      if (sent < 0) {
        drop_proxy();
        return false;
      }
      to_proxy_.erase(0, static_cast<std::size_t>(sent));
    }
    return true;
  }

  // Once: a connection that has idled may have been closed, or the proxy was restarted.
  void ask_again() {
    if (was_asked_again_ || !ask(helper_.open_lines())) return give_up("the proxy is not there");
    was_asked_again_ = true;
  }

  void hear_proxy() {
    const ssize_t size = ::recv(proxy_.get(), octets_.data(), octets_.size(), MSG_DONTWAIT);
    if (size < 0 && (errno == EINTR || errno == EAGAIN)) return;
    if (size <= 0) {
      drop_proxy();
      if (helper_.has_open()) ask_again();
      return;
    }
    from_proxy_.add({octets_.data(), static_cast<std::size_t>(size)});
    for (std::string line; from_proxy_.next(line);) {
      if (!helper_.answer(line)) return give_up("the proxy does not answer as one");
      was_asked_again_ = false;
      set_deadline();
    }
    if (from_proxy_.is_too_long()) give_up("the proxy does not answer as one");
  }

  void give_up(std::string_view why) {
    drop_proxy();
    helper_.lose(why);
    was_asked_again_ = false;
  }

  void drop_proxy() {
    proxy_.reset();
    from_proxy_.clear();
    to_proxy_.clear();
  }

  void set_deadline() { deadline_ = std::chrono::steady_clock::now() + std::chrono::seconds(command_.timeout); }

  // Squid 5 takes a line that comes in pieces for several.
  bool say_answers() {
    for (std::string line; !(line = helper_.next_answer()).empty();) {
      for (std::string_view rest = line; !rest.empty();) {
        const ssize_t said = ::write(STDOUT_FILENO, rest.data(), rest.size());
        if (said < 0 && errno != EINTR) return false;
        if (said > 0) rest.remove_prefix(static_cast<std::size_t>(said));
      }
    }
    return true;
  }

  const AnswerCommand& command_;
  SquidHelper helper_;
  UniqueFd proxy_;
  LineCutter from_squid_, from_proxy_;
  std::string to_proxy_;  // that its socket has not taken yet
  std::array<char, kMostLine> octets_{};
  SteadyTime deadline_;  // while questions are open: for the next answer
  bool was_asked_again_ = false;
  bool stdin_ended_ = false;
};

}  // namespace

int run_answer(const AnswerCommand& command, const Streams&) { return HelperLoop(command).run(); }

}  // namespace bloomwall::proxy
