// The admin address over real sockets: clients that are slow, many, rude or gone.
// SPDX-License-Identifier: Apache-2.0
#include "proxy/ops/admin_server.h"

#include <gtest/gtest.h>

#include "tests/proxy/ops/loop_thread.h"
#include "tests/support/scripted_peer.h"

namespace bloomwall::proxy {
namespace {

using namespace std::chrono_literals;
using test::LoopThread;
using test::ScriptedPeer;

class Admin : public testing::Test {
 protected:
  void open(AdminServer::Bounds bounds = {}) {
    loop_.call([&] {
      auto opened = AdminServer::open(
          loop_.io, "127.0.0.1:0",
          [this] { return AdminAnswers{.phase = Phase::serving, .hosts = {}, .metrics = [this] { return metrics_; }}; },
          bounds);
      ASSERT_TRUE(opened.has_value()) << opened.error();
      admin_ = *std::move(opened);
      port_ = admin_->address().port();
    });
  }
  void TearDown() override {
    loop_.call([&] { admin_.reset(); });
  }
  ScriptedPeer connect() const { return ScriptedPeer::connect(port_); }
  std::string exchange(const std::string& request) const {
    auto peer = connect();
    peer.send(request);
    return peer.read_to_end();
  }

  LoopThread loop_;
  std::unique_ptr<AdminServer> admin_;
  std::uint16_t port_ = 0;
  std::string metrics_ = "metric 1\n";
};

constexpr const char* kHealth = "GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n";

TEST_F(Admin, AnswersAndCloses) {
  open();
  const std::string got = exchange(kHealth);
  EXPECT_TRUE(got.starts_with("HTTP/1.1 200 OK\r\n")) << got;
  EXPECT_TRUE(got.ends_with("\r\n\r\nalive\n")) << got;
}

TEST_F(Admin, ARequestMayComeInPieces) {
  open();
  auto peer = connect();
  peer.send_in_pieces(kHealth, 1);
  EXPECT_TRUE(peer.read_to_end().ends_with("alive\n"));
}

TEST_F(Admin, OneRequestAConnectionEvenWhenMoreFollow) {
  open();
  const std::string got = exchange(std::string(kHealth) + kHealth + kHealth);
  EXPECT_EQ(got.find("HTTP/1.1"), got.rfind("HTTP/1.1"));
}

TEST_F(Admin, AHalfClosedClientGetsItsWholeAnswer) {
  metrics_ = std::string(std::size_t{8} << 20, 'm');
  open();
  auto peer = connect();
  peer.send("GET /metrics HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n");
  peer.shut_write();
  const std::string got = peer.read_to_end();
  EXPECT_TRUE(got.ends_with("\r\n\r\n" + metrics_)) << got.size();
}

TEST_F(Admin, WhatIsNoHttpIs400AndTooMuchIs431) {
  open();
  EXPECT_TRUE(exchange("nonsense\r\n\r\n").starts_with("HTTP/1.1 400 "));
  EXPECT_TRUE(exchange("GET / HTTP/1.1\r\nHost: a\r\nX: " + std::string(AdminServer::kLongestHead, 'x') + "\r\n\r\n")
                  .starts_with("HTTP/1.1 431 "));
  EXPECT_TRUE(exchange("GET /" + std::string(AdminServer::kLongestHead, 'x') + " HTTP/1.1\r\nHost: a\r\n\r\n")
                  .starts_with("HTTP/1.1 414 "));
}

TEST_F(Admin, ForeignHostsAreRefused) {
  open();
  EXPECT_TRUE(exchange("GET /metrics HTTP/1.1\r\nHost: evil.example\r\n\r\n").starts_with("HTTP/1.1 421 "));
}

TEST_F(Admin, SlowClientsAreCutAndOthersServedMeanwhile) {
  metrics_ = std::string(std::size_t{8} << 20, 'm');
  open({.connections = 8, .patience = 300ms});
  auto silent = connect();
  auto half = connect();
  half.send("GET /healthz HT");
  auto deaf = connect();
  deaf.send("GET /metrics HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n");  // and never reads
  EXPECT_TRUE(exchange(kHealth).ends_with("alive\n"));
  silent.expect_end();
  half.expect_end();
  EXPECT_TRUE(exchange(kHealth).ends_with("alive\n"));
}

TEST_F(Admin, ThoseWhoHoldConnectionsKeepNobodyOut) {
  open({.connections = 3, .patience = 20s});
  std::vector<ScriptedPeer> held;
  for (int i = 0; i < 10; ++i) held.push_back(connect());
  EXPECT_TRUE(exchange(kHealth).ends_with("alive\n"));
  held.front().expect_end();
  held.back().send(kHealth);
  EXPECT_TRUE(held.back().read_to_end().ends_with("alive\n")) << "the newest are still there";
}

TEST_F(Admin, ClientsThatVanishLeaveNothing) {
  open({.connections = 4, .patience = 20s});
  for (int i = 0; i < 50; ++i) {
    auto peer = connect();
    peer.send("GET /healthz");
    i % 2 == 0 ? peer.reset() : peer.close();
    loop_.call([] {});
  }
  std::string got;
  for (int attempt = 0; attempt < 1000 && got.empty(); ++attempt) {
    try {
      got = exchange(kHealth);
    } catch (const std::runtime_error&) {
      got.clear();
    }
  }
  EXPECT_TRUE(got.ends_with("alive\n")) << got;
}

TEST_F(Admin, AnAddressThatIsTakenIsAnErrorWithItsKey) {
  open();
  loop_.call([&] {
    const std::string taken = "127.0.0.1:" + std::to_string(port_);
    const auto second = AdminServer::open(loop_.io, taken, [] { return AdminAnswers{}; });
    ASSERT_FALSE(second.has_value());
    EXPECT_EQ(second.error(), "admin.address: " + taken + ": Address already in use");
  });
}

}  // namespace
}  // namespace bloomwall::proxy
