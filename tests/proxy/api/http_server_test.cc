// The admin address over real sockets: clients that are slow, many, rude or gone. And replies that go on.
// SPDX-License-Identifier: Apache-2.0
#include "proxy/api/http_server.h"

#include <gtest/gtest.h>

#include <atomic>
#include <functional>
#include <optional>
#include <thread>

#include "proxy/api/admin_pages.h"
#include "tests/support/loop_thread.h"
#include "tests/support/scripted_peer.h"

namespace bloomwall::proxy {
namespace {

using namespace std::chrono_literals;
using test::LoopThread;
using test::ScriptedPeer;

class Admin : public testing::Test {
 protected:
  void open(HttpServer::Bounds bounds = {.connections = 64, .patience = 10s}) {
    loop_.call([&] {
      auto opened = HttpServer::open(loop_.io, "127.0.0.1:0", HttpRoutes(routes(), std::vector<std::string>()), bounds);
      ASSERT_TRUE(opened.has_value()) << opened.error();
      admin_ = *std::move(opened);
      port_ = admin_->address().port();
    });
  }
  std::vector<HttpRoute> routes() {
    auto all =
        admin_routes([this] { return AdminAnswers{.phase = Phase::serving, .metrics = [this] { return metrics_; }}; });
    all.push_back({.method = "POST",
                   .path = "/echo/{what}",
                   .handler =
                       [](const HttpRequest& request) {
                         return HttpReply{.body =
                                              std::string(request.arguments.at(0)) + ":" + std::string(request.body)};
                       },
                   .most_body = 8});
    all.push_back({.method = "GET", .path = "/later", .handler = [this](const HttpRequest& request) {
                     stream_ = request.stream;
                     ++streams_;
                     return HttpReply{.is_later = true};
                   }});
    all.push_back({.method = "GET", .path = "/stream", .handler = [this](const HttpRequest& request) {
                     stream_ = request.stream;
                     ++streams_;
                     return HttpReply{.body = "begun\n", .goes_on = true};
                   }});
    return all;
  }
  // On the loop, once `streams` of them have begun.
  void on_stream(int streams, const std::function<void()>& work) {
    while (streams_ < streams) std::this_thread::yield();
    loop_.call(work);
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
  std::unique_ptr<HttpServer> admin_;
  std::uint16_t port_ = 0;
  std::string metrics_ = "metric 1\n";
  std::optional<HttpStream> stream_;  // the last that began; the loop's
  std::atomic<int> streams_{0};
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

// `nc -N` and the like: the request is complete, and its answer is not known yet.
TEST_F(Admin, AHalfClosedClientGetsAnAnswerThatComesLater) {
  open();
  auto peer = connect();
  peer.send("GET /later HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n");
  peer.shut_write();
  EXPECT_TRUE(exchange(kHealth).ends_with("alive\n")) << "the end of the other has been seen by now";
  on_stream(1, [&] { stream_->reply({.body = "now\n"}); });
  EXPECT_TRUE(peer.read_to_end().ends_with("\r\n\r\nnow\n"));
}

TEST_F(Admin, WhatIsNoHttpIs400AndTooMuchIs431) {
  open();
  EXPECT_TRUE(exchange("nonsense\r\n\r\n").starts_with("HTTP/1.1 400 "));
  EXPECT_TRUE(exchange("GET / HTTP/1.1\r\nHost: a\r\nX: " + std::string(HttpServer::kLongestHead, 'x') + "\r\n\r\n")
                  .starts_with("HTTP/1.1 431 "));
  EXPECT_TRUE(exchange("GET /" + std::string(HttpServer::kLongestHead, 'x') + " HTTP/1.1\r\nHost: a\r\n\r\n")
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
  EXPECT_TRUE(half.read_to_end().starts_with("HTTP/1.1 408 "));
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
    const auto second = HttpServer::open(loop_.io, taken, HttpRoutes({}, std::nullopt), {});
    ASSERT_FALSE(second.has_value());
    EXPECT_EQ(second.error(), "admin.address: " + taken + ": Address already in use");
  });
}

TEST_F(Admin, BodiesAreReadUpToWhatTheirRouteTakes) {
  open();
  const std::string post = "POST /echo/a HTTP/1.1\r\nHost: 127.0.0.1\r\n";
  EXPECT_TRUE(exchange(post + "Content-Length: 8\r\n\r\n12345678").ends_with("\r\n\r\na:12345678"));
  EXPECT_TRUE(exchange(post + "Content-Length: 0\r\n\r\n").ends_with("\r\n\r\na:"));
  EXPECT_TRUE(exchange(post + "Content-Length: 9\r\n\r\n").starts_with("HTTP/1.1 413 "));
  EXPECT_TRUE(exchange(post + "Transfer-Encoding: chunked\r\n\r\n2\r\nab\r\n3\r\ncde\r\n0\r\n\r\n")
                  .ends_with("\r\n\r\na:abcde"));
  EXPECT_TRUE(exchange(post + "Transfer-Encoding: chunked\r\n\r\n9\r\n123456789\r\n").starts_with("HTTP/1.1 413 "));
  auto asks_first = connect();
  asks_first.send(post + "Content-Length: 2\r\nExpect: 100-continue\r\n\r\n");
  asks_first.expect("HTTP/1.1 100 Continue\r\n\r\n");
  asks_first.send("xy");
  EXPECT_TRUE(asks_first.read_to_end().ends_with("\r\n\r\na:xy"));
}

TEST_F(Admin, ABodyThatDoesNotComeIsATimeout) {
  open({.connections = 8, .patience = 300ms});
  EXPECT_TRUE(
      exchange("POST /echo/a HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 2\r\n\r\nx").starts_with("HTTP/1.1 408 "));
}

constexpr const char* kStream = "GET /stream HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n";

TEST_F(Admin, AReplyGoesOnBeyondAllPatienceAndEndsWhenItIsTold) {
  open({.connections = 8, .patience = 100ms});
  auto peer = connect();
  peer.send(kStream);
  EXPECT_TRUE(peer.read_head().starts_with("HTTP/1.1 200 OK\r\n"));
  peer.expect("6\r\nbegun\n\r\n");
  EXPECT_TRUE(peer.is_quiet_for(400ms));
  on_stream(1, [&] {
    stream_->write("more\n");
    stream_->write("");
    stream_->end();
    stream_->write("too late\n");
  });
  peer.expect("5\r\nmore\n\r\n0\r\n\r\n");
  peer.expect_end();
}

TEST_F(Admin, AStreamIsNotDisplacedAndASurplusOneIsClosed) {
  open({.connections = 2, .patience = 20s});
  auto first = connect(), second = connect();
  first.send(kStream);
  first.read_head();
  second.send(kStream);
  second.read_head();
  connect().expect_end();
  on_stream(2, [&] { stream_->end(); });
  second.expect("6\r\nbegun\n\r\n0\r\n\r\n");
}

TEST_F(Admin, AStreamThatItsClientDoesNotReadIsCut) {
  open();
  auto deaf = connect();
  deaf.send(kStream);
  const std::string piece(std::size_t{64} << 10, 's');
  on_stream(1, [&] {
    for (int i = 0; i < 1000; ++i) stream_->write(piece);  // far more than the kernel and kMostBacklog hold
  });
  const std::string got = deaf.read_to_end();
  EXPECT_LT(got.size(), 900 * piece.size());
  EXPECT_FALSE(got.ends_with("0\r\n\r\n")) << "it does not look whole";
}

// What the kernels of both sides take would else hide it, for as long as little is said.
TEST_F(Admin, AStreamThatNobodyReadsIsNoticedBeforeMuchWaits) {
  open({.connections = 8, .patience = 200ms});
  auto deaf = connect();
  deaf.send(kStream);
  on_stream(1, [&] { stream_->write(std::string(std::size_t{200} << 10, 's')); });  // some 450 rows
  const auto end = std::chrono::steady_clock::now() + 60s;
  bool goes_on = true;
  while (goes_on && std::chrono::steady_clock::now() < end) {
    on_stream(1, [&] { goes_on = stream_->goes_on(); });
    std::this_thread::sleep_for(5ms);
  }
  EXPECT_FALSE(goes_on);
}

// Also one that is told little at a time: it holds a connection and memory all the same.
TEST_F(Admin, AStreamWhoseClientHasStoppedReadingIsCutInTime) {
  open({.connections = 8, .patience = 200ms});
  auto deaf = connect();
  deaf.send(kStream);
  const std::string piece(std::size_t{16} << 10, 's');
  std::size_t written = 0;
  bool goes_on = true;
  for (int i = 0; i < 4000 && goes_on; ++i) {
    on_stream(1, [&] {
      goes_on = stream_->goes_on();
      stream_->write(piece);
    });
    written += piece.size();
    std::this_thread::sleep_for(5ms);
  }
  EXPECT_FALSE(goes_on);
  const std::string got = deaf.read_to_end();
  EXPECT_LT(written, got.size() + HttpServer::kMostBacklog) << "it was not its backlog's length";
  EXPECT_FALSE(got.ends_with("0\r\n\r\n")) << "it does not look whole";
}

TEST_F(Admin, AStreamWhoseClientReadsSlowlyGoesOn) {
  open({.connections = 8, .patience = 1s});  // more than a busy machine stalls it; less than all of it takes
  auto slow = connect();
  slow.send(kStream);
  slow.read_head();
  slow.expect("6\r\nbegun\n\r\n");
  const std::string piece(std::size_t{64} << 10, 's');
  for (int i = 0; i < 5; ++i) {
    on_stream(1, [&] { stream_->write(piece); });
    slow.expect("10000\r\n" + piece + "\r\n");
    EXPECT_TRUE(slow.is_quiet_for(300ms));
  }
  on_stream(1, [&] { stream_->end(); });
  slow.expect("0\r\n\r\n");
}

TEST_F(Admin, AStreamWhoseClientLeftIsForgotten) {
  open();
  {
    auto peer = connect();
    peer.send(kStream);
    peer.read_head();
  }
  EXPECT_TRUE(exchange(kHealth).ends_with("alive\n"));
  on_stream(1, [&] {
    stream_->write("to nobody\n");
    stream_->end();
  });
  EXPECT_TRUE(exchange(kHealth).ends_with("alive\n"));
}

TEST_F(Admin, AnswersHeadWithoutABodyWhateverElseIsWrong) {
  open();
  const std::string long_path(100'000, 'x');
  for (const std::string& request :
       {std::string("HEAD /healthz HTTP/1.1\r\n\r\n"), std::string("HEAD /healthz HTTP/1.1\r\nX : y\r\n\r\n"),
        std::string("HEAD  / HTTP/1.1\r\n\r\n"), "HEAD /" + long_path + " HTTP/1.1\r\n\r\n"}) {
    const std::string answer = exchange(request);
    EXPECT_TRUE(answer.starts_with("HTTP/1.1 4")) << answer;
    EXPECT_TRUE(answer.ends_with("\r\n\r\n")) << answer;
    EXPECT_EQ(answer.find("\r\n\r\n") + 4, answer.size()) << answer;
  }
}

}  // namespace
}  // namespace bloomwall::proxy
