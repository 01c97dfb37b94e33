// TLS over whatever lies below: a pair in memory, a socket, another TLS. The two ends are both ours.
// SPDX-License-Identifier: Apache-2.0
#include "proxy/io/tls_transport.h"

#include <gtest/gtest.h>
#include <sys/socket.h>

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "proxy/io/tcp_transport.h"
#include "tests/support/memory_transport.h"
#include "tests/support/scripted_peer.h"
#include "tests/support/temp_dir.h"
#include "tests/support/test_certificate.h"
#include "tests/support/turn_loop.h"

namespace bloomwall::proxy {
namespace {

using test::MemoryTransport;

// One end: says back what it hears, or keeps it.
struct TlsEnd final : Transport::Handler {
  std::size_t on_data(std::span<const char> bytes) override {
    const std::size_t used = std::min(bytes.size(), appetite);
    heard.append(bytes.data(), used);
    if (echoes) transport->send({bytes.data(), used});
    const bool is_full = echoes && transport->backlog() > kMostBacklog;
    if (used < bytes.size() || is_full) transport->pause(PauseReason::peer_full);
    return used;
  }
  void on_end() override {
    ++ends;
    if (echoes) transport->shut_write();
  }
  void on_drained() override {
    ++drains;
    if (echoes) transport->resume(PauseReason::peer_full);
  }
  void on_write_failed(int error) override { write_error = error; }
  void on_failed(int error) override { failure = error; }

  static constexpr std::size_t kMostBacklog = std::size_t{256} * 1024;
  TransportPtr transport;
  std::string heard;
  std::size_t appetite = SIZE_MAX;
  bool echoes = false;
  int ends = 0, drains = 0, write_error = 0, failure = 0;
};

class TlsTransports : public testing::Test {
 protected:
  void SetUp() override {
    files_ = test::make_certificate(dir_.path(), "a", "proxy.test");
    listener_ = *TlsContext::for_listener(files_.certificate, files_.key);
    peers_ = *TlsContext::for_peers(files_.certificate);
    server_.echoes = true;
  }
  ~TlsTransports() override {
    for (TlsEnd* const end : {&client_, &server_}) {
      if (end->transport != nullptr) end->transport->close();
    }
  }
  void over_memory() {
    auto a = std::make_unique<MemoryTransport>(io_, client_);
    auto b = std::make_unique<MemoryTransport>(io_, server_);
    MemoryTransport::join(*a, *b);
    client_.transport = std::move(a);
    server_.transport = std::move(b);
  }
  void over_sockets() {
    int fds[2];
    ASSERT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, fds), 0);
    client_.transport = std::make_unique<TcpTransport>(io_, UniqueFd(fds[0]), client_);
    server_.transport = std::make_unique<TcpTransport>(io_, UniqueFd(fds[1]), server_);
  }
  void secure_client(const std::string& host = "proxy.test") {
    client_.transport =
        std::make_unique<TlsTransport>(io_, std::move(client_.transport), TlsSession::connect(*peers_, host), client_);
  }
  void secure_server() {
    server_.transport =
        std::make_unique<TlsTransport>(io_, std::move(server_.transport), TlsSession::accept(*listener_), server_);
  }
  template <typename Done>
  void turn_until(Done done) {
    test::turn_until(loop_, done);
  }
  // Sends `text` and hears it again; then both sides end.
  void expect_echo(const std::string& text) {
    client_.transport->send(text);
    turn_until([&] { return client_.heard.size() >= text.size(); });
    EXPECT_TRUE(client_.heard == text);
    client_.transport->shut_write();
    turn_until([&] { return server_.ends == 1 && (client_.ends == 1 || client_.failure != 0); });
    EXPECT_EQ(client_.failure, 0);
    EXPECT_EQ(server_.failure, 0);
    EXPECT_EQ(client_.transport->bytes_out(), text.size());
    EXPECT_EQ(client_.transport->bytes_in(), text.size());
    EXPECT_EQ(client_.transport->backlog(), 0U);
  }

  EventLoop loop_;
  BufferPool pool_{64 << 20};
  std::vector<char> scratch_ = std::vector<char>(256 * 1024);
  StepQueue steps_{loop_};
  IoContext io_{loop_, pool_, scratch_, nullptr, nullptr, &steps_};
  test::TempDir dir_;
  test::TestCertificate files_;
  TlsContextPtr listener_, peers_;
  TlsEnd client_, server_;
};

std::string much() {
  std::string text(std::size_t{3} << 20, '\0');
  for (std::size_t i = 0; i < text.size(); ++i) text[i] = static_cast<char>('a' + i % 23);
  return text;
}

TEST_F(TlsTransports, EchoOverMemory) {
  over_memory();
  secure_client();
  secure_server();
  expect_echo("hello");
}

TEST_F(TlsTransports, EchoOverTcp) {
  over_sockets();
  secure_client();
  secure_server();
  expect_echo(much());
}

TEST_F(TlsTransports, EchoOverTlsOverTcp) {
  over_sockets();
  secure_client();
  secure_client();
  secure_server();
  secure_server();
  EXPECT_EQ(client_.transport->socket(), nullptr) << "nothing of it may be relayed by the kernel";
  expect_echo(much());
}

TEST_F(TlsTransports, WhatIsSentBeforeTheHandshakeLeavesBehindItAndThenTheEnd) {
  over_memory();
  secure_client();
  client_.transport->send("early");
  client_.transport->shut_write();
  EXPECT_GE(client_.transport->backlog(), 5U);
  secure_server();
  turn_until([&] { return server_.ends == 1; });
  EXPECT_EQ(server_.heard, "early");
  EXPECT_EQ(client_.drains, 1);
}

TEST_F(TlsTransports, WhatWasDecryptedWhilePausedIsOfferedAgainLater) {
  over_memory();
  secure_client();
  secure_server();
  server_.echoes = false;
  server_.appetite = 3;
  client_.transport->send("abcdefgh");
  client_.transport->shut_write();
  turn_until([&] { return server_.heard == "abc"; });
  EXPECT_EQ(server_.transport->unread(), 5U);
  server_.appetite = SIZE_MAX;
  server_.transport->resume(PauseReason::peer_full);
  EXPECT_EQ(server_.heard, "abc") << "not from within resume()";
  EXPECT_EQ(server_.ends, 0);
  turn_until([&] { return server_.ends == 1; });
  EXPECT_EQ(server_.heard, "abcdefgh");
}

TEST_F(TlsTransports, AClientThatEndsWithoutAWordHasEndedAServerThatDoesHasFailed) {
  for (const bool client_leaves : {true, false}) {
    client_ = TlsEnd();
    server_ = TlsEnd();
    server_.echoes = true;
    over_memory();
    secure_client();
    secure_server();
    client_.transport->send("x");
    turn_until([&] { return client_.heard == "x"; });
    TlsEnd& leaver = client_leaves ? client_ : server_;
    TlsEnd& other = client_leaves ? server_ : client_;
    leaver.transport->close();
    turn_until([&] { return other.ends + other.failure != 0; });
    EXPECT_EQ(other.ends, client_leaves ? 1 : 0);
    EXPECT_EQ(other.failure, client_leaves ? 0 : kEndedUntold);
  }
}

TEST_F(TlsTransports, AnotherNameOrNoTlsAtAllFailsTheHandshake) {
  over_memory();
  secure_client("other.test");
  secure_server();
  turn_until([&] { return client_.failure != 0; });
  EXPECT_EQ(client_.failure, EPROTO);
  over_memory();
  secure_server();
  server_.failure = 0;
  client_.transport->send("GET / HTTP/1.1\r\n\r\n");
  turn_until([&] { return server_.failure != 0; });
  EXPECT_EQ(server_.failure, EPROTO);
}

// A PROXY header before TLS: the handler that finds where TLS begins leaves the rest unused, wherever the read was cut.
TEST_F(TlsTransports, ItTakesOverInTheMiddleOfARead) {
  struct Preface final : Transport::Handler {
    explicit Preface(std::function<void()> next) : then(std::move(next)) {}
    std::size_t on_data(std::span<const char> bytes) override {
      const std::size_t used = std::min(bytes.size(), left);
      left -= used;
      if (left == 0) then();
      return used;
    }
    void on_end() override {}
    void on_drained() override {}
    void on_write_failed(int) override {}
    void on_failed(int error) override { ADD_FAILURE() << error; }
    std::function<void()> then;
    std::size_t left = 4;
  } preface([this] { secure_server(); });
  over_memory();
  server_.transport->set_handler(preface);
  client_.transport->send("PROX");
  secure_client();
  expect_echo("hello");
}

// Others hold all of the pool: who is served already is read and keeps what its handler does not take yet.
TEST_F(TlsTransports, WhoIsEstablishedIsReadWithoutMemory) {
  over_memory();
  secure_client();
  secure_server();
  server_.echoes = false;
  client_.transport->send("x");
  turn_until([&] { return server_.heard == "x"; });
  Reservation others(pool_, BufferKind::heads);
  ASSERT_TRUE(others.set(pool_.left()));
  const std::string text = much().substr(0, 300'000);
  server_.appetite = 1000;
  client_.transport->send(text);
  turn_until([&] {
    server_.transport->resume(PauseReason::peer_full);
    return server_.heard.size() > text.size() || server_.failure != 0;
  });
  EXPECT_EQ(server_.failure, 0);
  EXPECT_TRUE(server_.heard == "x" + text);
  EXPECT_LE(pool_.in_use(), pool_.limit() + pool_.limit() / 8);
}

TEST_F(TlsTransports, AHandshakeWithoutMemoryFails) {
  Reservation others(pool_, BufferKind::heads);
  ASSERT_TRUE(others.set(pool_.left()));
  over_memory();
  secure_client();
  secure_server();
  turn_until([&] { return server_.failure != 0; });
  EXPECT_EQ(server_.failure, ENOBUFS);
}

TEST_F(TlsTransports, ItHoldsNoMemoryOfThePoolOnceClosed) {
  over_memory();
  secure_client();
  secure_server();
  client_.transport->send("x");
  turn_until([&] { return client_.heard == "x"; });
  EXPECT_GT(pool_.in_use(), 0U);
  client_.transport->close();
  server_.transport->close();
  EXPECT_EQ(pool_.in_use(), 0U);
}

}  // namespace
}  // namespace bloomwall::proxy
