// The other side of a conversation in TLS: a ScriptedPeer's socket with a session on top.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/socket.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>

#include "proxy/tls/tls_session.h"
#include "tests/support/scripted_peer.h"

namespace bloomwall::test {

class TlsPeer final : public Peer {
 public:
  TlsPeer(ScriptedPeer socket, std::unique_ptr<proxy::TlsSession> session)
      : socket_(std::move(socket)), session_(std::move(session)) {
    flush();
  }
  void send(std::string_view text) override {
    session_->write(text);
    flush();
  }
  void end() {
    session_->end();
    flush();
  }
  void shake_hands() {
    const Deadline deadline = std::chrono::steady_clock::now() + kPatience;
    while (!session_->is_established()) {
      if (!fill(deadline)) throw std::runtime_error("no TLS: " + session_->why());
    }
  }
  const proxy::TlsSession& session() const { return *session_; }
  ScriptedPeer& socket() { return socket_; }
  // How it ended: by a reset; else with or without TLS's word for it (close_notify).
  bool was_reset() const { return was_reset_; }
  bool was_told() const { return session_->state() == proxy::TlsSession::State::ended; }

 private:
  void flush() {
    const std::string wire(session_->pending().begin(), session_->pending().end());
    session_->sent();
    if (!wire.empty()) socket_.send(wire);
  }
  // False: nothing more will come, with or without a word.
  bool fill(Deadline deadline) override {
    if (session_->state() != proxy::TlsSession::State::open) return false;
    socket_.await_news(deadline);
    std::array<char, 65536> bytes;  // NOLINT: filled as far as it is used
    const ssize_t got = ::recv(socket_.fd(), bytes.data(), bytes.size(), 0);
    was_reset_ = got < 0 && errno == ECONNRESET;
    if (got <= 0) return false;
    session_->feed({bytes.data(), static_cast<std::size_t>(got)});
    for (std::size_t size = 0; (size = session_->read(bytes)) > 0;) unread_.append(bytes.data(), size);
    flush();
    return true;
  }
  ScriptedPeer socket_;
  std::unique_ptr<proxy::TlsSession> session_;
  bool was_reset_ = false;
};

}  // namespace bloomwall::test
