// The other side of a conversation in TLS: a ScriptedPeer's socket with a session on top. Waits have its deadline.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <poll.h>
#include <sys/socket.h>

#include <array>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>

#include "proxy/tls/tls_session.h"
#include "tests/support/scripted_peer.h"

namespace bloomwall::test {

class TlsPeer {
 public:
  TlsPeer(ScriptedPeer socket, std::unique_ptr<proxy::TlsSession> session)
      : socket_(std::move(socket)), session_(std::move(session)) {
    flush();
  }
  void send(std::string_view text) {
    session_->write(text);
    flush();
  }
  void end() {
    session_->end();
    flush();
  }
  void shake_hands() {
    while (!session_->is_established()) {
      if (!fill()) throw std::runtime_error("no TLS: " + session_->why());
    }
  }
  std::string read_until(std::string_view end) {
    while (text_.find(end) == std::string::npos) {
      if (!fill()) throw std::runtime_error("the TLS peer ended after: " + text_.substr(0, 200) + session_->why());
    }
    return take(text_.find(end) + end.size());
  }
  std::string read_head() { return read_until("\r\n\r\n"); }
  std::string read_exactly(std::size_t size) {
    while (text_.size() < size) {
      if (!fill()) throw std::runtime_error("the TLS peer ended after: " + text_.substr(0, 200) + session_->why());
    }
    return take(size);
  }
  std::string read_to_end() {
    while (fill()) {
    }
    return take(text_.size());
  }
  const proxy::TlsSession& session() const { return *session_; }
  ScriptedPeer& socket() { return socket_; }

 private:
  void flush() {
    const std::string wire(session_->pending().begin(), session_->pending().end());
    session_->sent();
    if (!wire.empty()) socket_.send(wire);
  }
  // false: nothing more will come, with or without a word.
  bool fill() {
    if (session_->state() != proxy::TlsSession::State::open) return false;
    pollfd ready{.fd = socket_.fd(), .events = POLLIN, .revents = 0};
    if (::poll(&ready, 1, static_cast<int>(kPatience.count())) != 1) throw std::runtime_error("the TLS peer is silent");
    std::array<char, 65536> bytes;  // NOLINT: filled as far as it is used
    const ssize_t got = ::recv(socket_.fd(), bytes.data(), bytes.size(), 0);
    if (got <= 0) return false;
    session_->feed({bytes.data(), static_cast<std::size_t>(got)});
    for (std::size_t size = 0; (size = session_->read(bytes)) > 0;) text_.append(bytes.data(), size);
    flush();
    return true;
  }
  std::string take(std::size_t size) {
    std::string taken = text_.substr(0, size);
    text_.erase(0, size);
    return taken;
  }
  ScriptedPeer socket_;
  std::unique_ptr<proxy::TlsSession> session_;
  std::string text_;
};

}  // namespace bloomwall::test
