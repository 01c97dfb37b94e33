// Two sessions that talk through memory: whole, in pieces of every size, against the wrong peer, and against garbage.
// SPDX-License-Identifier: Apache-2.0
#include "proxy/tls/tls_session.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <span>
#include <string>

#include "tests/support/temp_dir.h"
#include "tests/support/test_certificate.h"

namespace bloomwall::proxy {
namespace {

using State = TlsSession::State;

class TlsSessions : public ::testing::Test {
 protected:
  void SetUp() override {
    files_ = test::make_certificate(dir_.path(), "a", "proxy.test");
    const auto listener = TlsContext::for_listener(files_.certificate, files_.key);
    ASSERT_TRUE(listener.has_value()) << listener.error();
    const auto peers = TlsContext::for_peers(files_.certificate);
    ASSERT_TRUE(peers.has_value()) << peers.error();
    server_ = TlsSession::accept(**listener);
    listener_ = *listener;
    peers_ = *peers;
  }
  // Hands on what waits, in pieces; says whether there was anything.
  static bool move(TlsSession& from, TlsSession& to, std::string& read, std::size_t piece) {
    const std::string wire(from.pending().begin(), from.pending().end());
    from.sent();
    for (std::size_t at = 0; at < wire.size(); at += piece) {
      to.feed(std::string_view(wire).substr(at, piece));
      std::array<char, 4096> room;  // NOLINT: filled as far as it is used
      for (std::size_t got = 0; (got = to.read(room)) > 0;) read.append(room.data(), got);
    }
    return !wire.empty();
  }
  void run(TlsSession& client, std::size_t piece = 100'000) {
    for (bool moved = true; moved;) {
      moved = move(client, *server_, server_read_, piece);
      moved = move(*server_, client, client_read_, piece) || moved;
    }
  }

  test::TempDir dir_;
  test::TestCertificate files_;
  TlsContextPtr listener_, peers_;
  std::unique_ptr<TlsSession> server_;
  std::string server_read_, client_read_;
};

// Application data records in what waits to be sent.
std::size_t data_records(std::span<const char> wire) {
  constexpr std::size_t kHeader = 5;
  std::size_t count = 0;
  while (wire.size() >= kHeader) {
    if (wire[0] == 23) ++count;
    const std::size_t size = static_cast<unsigned char>(wire[3]) * 256U + static_cast<unsigned char>(wire[4]);
    wire = wire.subspan(std::min(wire.size(), kHeader + size));
  }
  return count;
}

// Who reads a head wants to find the body behind it.
TEST_F(TlsSessions, PiecesLeaveInAsFewRecordsAsTheyFitIn) {
  const auto client = TlsSession::connect(*peers_, "proxy.test");
  run(*client);
  std::string head(200, 'h'), body(1000, 'b'), large(40'000, 'l');
  const std::array<iovec, 2> small{iovec{head.data(), head.size()}, iovec{body.data(), body.size()}};
  server_->write(small);
  EXPECT_EQ(data_records(server_->pending()), 1U);
  run(*client);
  const std::array<iovec, 2> more{iovec{head.data(), head.size()}, iovec{large.data(), large.size()}};
  server_->write(more);
  EXPECT_EQ(data_records(server_->pending()), 3U);
  run(*client);
  EXPECT_EQ(client_read_, head + body + head + large);
}

TEST_F(TlsSessions, CarryBytesBothWaysHoweverTheyAreCut) {
  for (const std::size_t piece : {std::size_t{1}, std::size_t{7}, std::size_t{1000}, std::size_t{100'000}}) {
    server_ = TlsSession::accept(*listener_);
    const auto client = TlsSession::connect(*peers_, "proxy.test");
    server_read_.clear();
    client_read_.clear();
    client->write(std::string_view("held until the handshake is done"));
    EXPECT_GT(client->held(), 0U);
    run(*client, piece);
    ASSERT_TRUE(client->is_established() && server_->is_established()) << client->why() << server_->why();
    EXPECT_EQ(client->held(), 0U);
    const std::string large(50'000, 'x');
    server_->write(large);
    run(*client, piece);
    EXPECT_EQ(server_read_, "held until the handshake is done");
    EXPECT_EQ(client_read_, large);
    EXPECT_EQ(client->state(), State::open);
    server_->end();
    run(*client, piece);
    EXPECT_EQ(client->state(), State::ended);
    client->write(std::string_view("the other direction is still open"));
    run(*client, piece);
    EXPECT_TRUE(server_read_.ends_with("still open")) << server_read_;
  }
}

TEST_F(TlsSessions, AddressesAreVerifiedToo) {
  const auto client = TlsSession::connect(*peers_, "127.0.0.1");
  run(*client);
  EXPECT_TRUE(client->is_established()) << client->why();
}

TEST_F(TlsSessions, APeerOfAnotherNameIsNone) {
  for (const char* host : {"other.test", "127.0.0.2", "::1"}) {
    server_ = TlsSession::accept(*listener_);
    const auto client = TlsSession::connect(*peers_, host);
    client->write(std::string_view("secret"));
    run(*client);
    EXPECT_EQ(client->state(), State::failed) << host;
    EXPECT_NE(client->why().find("mismatch"), std::string::npos) << client->why();
    EXPECT_EQ(server_read_, "") << "nothing was said to a stranger";
  }
}

TEST_F(TlsSessions, APeerThatNobodyVouchesForIsNone) {
  const auto other = test::make_certificate(dir_.path(), "b", "proxy.test");
  const auto peers = TlsContext::for_peers(other.certificate);
  ASSERT_TRUE(peers.has_value());
  const auto client = TlsSession::connect(**peers, "proxy.test");
  run(*client);
  EXPECT_EQ(client->state(), State::failed);
  EXPECT_FALSE(client->why().empty());
}

TEST_F(TlsSessions, GarbageFailsAndSaysSoOnTheWire) {
  server_->feed(std::string_view("GET / HTTP/1.1\r\nHost: a\r\n\r\n"));
  EXPECT_EQ(server_->state(), State::failed);
  EXPECT_EQ(server_->why(), "http request");
  server_->write(std::string_view("lost"));
  std::array<char, 16> room{};
  EXPECT_EQ(server_->read(room), 0U);
}

TEST_F(TlsSessions, ARecordThatWasChangedFails) {
  const auto client = TlsSession::connect(*peers_, "proxy.test");
  run(*client);
  client->write(std::string_view("hello"));
  std::string wire(client->pending().begin(), client->pending().end());
  wire.back() = static_cast<char>(wire.back() ^ 1);
  server_->feed(wire);
  std::array<char, 16> room{};
  EXPECT_EQ(server_->read(room), 0U);
  EXPECT_EQ(server_->state(), State::failed);
}

TEST(TlsContexts, SayWhichFileIsWrongAndWhy) {
  test::TempDir dir;
  const auto a = test::make_certificate(dir.path(), "a", "a.test"),
             b = test::make_certificate(dir.path(), "b", "b.test");
  const auto text = dir.write("text", "no certificate\n");
  const auto cut = dir.write("cut", "-----BEGIN CERTIFICATE-----\n!\n-----END CERTIFICATE-----\n");
  const auto expect = [](const TlsContext::Made& made, const std::filesystem::path& file, const char* why) {
    ASSERT_FALSE(made.has_value());
    EXPECT_EQ(made.error(), file.string() + ": " + why);
  };
  const auto missing = dir.path() / "missing";
  expect(TlsContext::for_listener(missing, a.key), missing, "No such file or directory");
  expect(TlsContext::for_listener(a.certificate, missing), missing, "No such file or directory");
  expect(TlsContext::for_listener(text, a.key), text, "no certificate in PEM form");
  expect(TlsContext::for_listener(cut, a.key), cut, "bad base64 decode");
  expect(TlsContext::for_listener(a.certificate, text), text, "no private key in PEM form");
  expect(TlsContext::for_listener(a.certificate, b.key), b.key, "key values mismatch");
  expect(TlsContext::for_peers(text), text, "no certificate or crl found");
  expect(TlsContext::for_peers(missing), missing, "No such file or directory");
  EXPECT_TRUE(TlsContext::for_peers({}).has_value()) << "the system's";
}

}  // namespace
}  // namespace bloomwall::proxy
