// `bloomwall reload` and what answers it, over a control socket.
// SPDX-License-Identifier: Apache-2.0
#include "proxy/api/reload_api.h"

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <atomic>
#include <future>
#include <optional>
#include <thread>

#include "proxy/api/http_server.h"
#include "proxy/io/unix_socket.h"
#include "tests/support/loop_thread.h"
#include "tests/support/scripted_peer.h"
#include "tests/support/temp_dir.h"

namespace bloomwall::proxy {
namespace {

using namespace std::chrono_literals;
using test::LoopThread;
using test::ScriptedPeer;
using test::TempDir;

class Control : public testing::Test {
 protected:
  HttpServer::Opened open_at(const std::filesystem::path& path, HttpServer::Bounds bounds = {4, 5s}) {
    return HttpServer::open_unix(loop_.io, path, HttpRoutes({api_.route()}, std::nullopt), bounds);
  }
  void open(HttpServer::Bounds bounds = {4, 5s}) {
    loop_.call([&] {
      auto opened = open_at(path_, bounds);
      ASSERT_TRUE(opened.has_value()) << opened.error();
      control_ = *std::move(opened);
    });
  }
  void TearDown() override {
    loop_.call([&] { control_.reset(); });
  }
  // On the loop. Without an outcome the asker waits.
  void on_reload(Reloader::Done done) {
    last_ = std::move(done);
    ++asked_;
    if (outcome_) last_(*outcome_);
  }
  void answer_with(const ReloadOutcome& outcome) {
    loop_.call([&] { outcome_ = outcome; });
  }
  ScriptedPeer connect() const { return ScriptedPeer(connect_to(path_).release()); }
  std::string exchange(const std::string& request) const {
    auto peer = connect();
    peer.send(request);
    return peer.read_to_end();
  }
  tl::expected<int, std::string> ask_reload(std::vector<std::string>& said) const {
    return ask_to_reload(path_, [&](std::string_view line) { said.emplace_back(line); })
        .map([](const ReloadAnswer& answer) { return answer.exit_status; });
  }

  TempDir dir_;
  const std::filesystem::path path_ = dir_.path() / "control.sock";
  LoopThread loop_;
  ReloadApi api_{loop_.loop, "/etc/other.yaml", [this](Reloader::Done done) { on_reload(std::move(done)); }};
  std::unique_ptr<HttpServer> control_;
  std::optional<ReloadOutcome> outcome_;
  Reloader::Done last_;
  std::atomic<int> asked_{0};
};

TEST_F(Control, AsksAndGetsTheOutcome) {
  answer_with(ReloadOutcome{0, {"careful"}, {"generation 2 is served", "a\nforged\rline"}});
  open();
  std::vector<std::string> said;
  EXPECT_EQ(ask_reload(said), 0);
  EXPECT_EQ(said, (std::vector<std::string>{"careful", "generation 2 is served", "a forged line"}));
  answer_with(ReloadOutcome{78, {}, {"bad"}});
  EXPECT_EQ(ask_reload(said), 78);
}

TEST_F(Control, WhoeverWaitsHearsOfProgress) {
  open();
  std::vector<std::string> said;
  auto answer = std::async(std::launch::async, [&] { return ask_reload(said); });
  while (asked_ == 0) std::this_thread::yield();
  loop_.call([&] {
    api_.say("verifying a.bwf: 50 %");
    last_({1, {}, {"refused"}});
  });
  EXPECT_EQ(answer.get(), 1);
  EXPECT_EQ(said, (std::vector<std::string>{"verifying a.bwf: 50 %", "refused"}));
}

TEST_F(Control, OnlyOwnerAndGroupMayAsk) {
  open();
  struct stat status{};
  ASSERT_EQ(::stat(path_.c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 07777U, 0660U);
}

constexpr const char* kRequest = "POST /api/v1/reload HTTP/1.1\r\nHost: a\r\n\r\n";

TEST_F(Control, KnowsOneRequestAndBoundsWhatItReads) {
  answer_with(ReloadOutcome{});
  open();
  const struct {
    std::string request;
    const char* status;
  } rows[] = {
      {"reload\n", "400"},
      {"\r\n\r\nreload now\r\n\r\n", "400"},
      {"POST /shutdown HTTP/1.1\r\nHost: a\r\n\r\n", "404"},
      {"POST /api/v1/reload/now HTTP/1.1\r\nHost: a\r\n\r\n", "404"},
      {"GET /api/v1/reload HTTP/1.1\r\nHost: a\r\n\r\n", "405"},
      {"POST /api/v1/reload HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\n\r\n1", "413"},
      {"POST /" + std::string(HttpServer::kLongestHead, 'r'), "414"},
  };
  for (const auto& row : rows) {
    const std::string got = exchange(row.request);
    EXPECT_TRUE(got.starts_with(std::string("HTTP/1.1 ") + row.status + " ")) << row.request << "\n" << got;
  }
  EXPECT_EQ(asked_, 0);
}

TEST_F(Control, TakesARequestInPieces) {
  answer_with(ReloadOutcome{0, {}, {"done"}});
  open();
  auto peer = connect();
  peer.send_in_pieces(kRequest, 1);
  EXPECT_NE(peer.read_head().find("\r\nContent-Type: application/x-ndjson\r\n"), std::string::npos);
  EXPECT_TRUE(peer.read_chunked().ends_with("\n{\"text\":\"done\"}\n{\"exit_status\":0}\n"));
  peer.expect_end();
}

TEST_F(Control, SilenceIsNotWaitedForAndOthersAreServed) {
  answer_with(ReloadOutcome{});
  open({.connections = 2, .patience = 200ms});
  auto silent = connect();
  auto slow = connect();
  slow.send("POS");
  auto surplus = connect();
  silent.expect_end();  // no third one at a time: the oldest goes
  EXPECT_TRUE(slow.read_to_end().starts_with("HTTP/1.1 408 "));
  surplus.expect_end();
  std::vector<std::string> said;
  EXPECT_EQ(ask_reload(said), 0);
}

TEST_F(Control, AnAskerWhoLeavesIsForgotten) {
  open();
  {
    auto peer = connect();
    peer.send(kRequest);
    while (asked_ == 0) std::this_thread::yield();
  }
  answer_with(ReloadOutcome{0, {}, {"for the second"}});
  std::vector<std::string> said;
  const Reloader::Done gone = last_;
  EXPECT_EQ(ask_reload(said), 0);
  loop_.call([&] { gone({0, {}, {"for nobody"}}); });
  loop_.call([] {});
  EXPECT_EQ(said.size(), 1U);
}

TEST_F(Control, TakesOverFromTheDeadButNotFromTheLiving) {
  {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    path_.string().copy(address.sun_path, sizeof address.sun_path - 1);
    const UniqueFd dead(::socket(AF_UNIX, SOCK_STREAM, 0));
    ASSERT_EQ(::bind(dead.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
  }
  open();
  loop_.call([&] {
    const auto second = open_at(path_);
    ASSERT_FALSE(second.has_value());
    EXPECT_NE(second.error().find("Address already in use"), std::string::npos) << second.error();
  });
  answer_with(ReloadOutcome{});
  std::vector<std::string> said;
  EXPECT_EQ(ask_reload(said), 0) << "the first one still answers";
}

TEST_F(Control, NeverRemovesWhatIsNoSocket) {
  dir_.write("control.sock", "precious");
  loop_.call([&] {
    const auto opened = open_at(path_);
    ASSERT_FALSE(opened.has_value());
    EXPECT_NE(opened.error().find("File exists"), std::string::npos) << opened.error();
  });
  EXPECT_EQ(std::filesystem::file_size(path_), 8U);
}

TEST_F(Control, LeavesANameThatIsSomebodyElsesByNow) {
  open();
  std::filesystem::remove(path_);
  std::unique_ptr<HttpServer> second;
  loop_.call([&] {
    auto opened = open_at(path_);
    ASSERT_TRUE(opened.has_value()) << opened.error();
    second = *std::move(opened);
    control_.reset();
  });
  EXPECT_TRUE(std::filesystem::exists(path_));
  loop_.call([&] { second.reset(); });
  EXPECT_FALSE(std::filesystem::exists(path_));
}

TEST_F(Control, SaysWhoAnswers) {
  answer_with(ReloadOutcome{});
  open();
  const auto who = ask_to_reload(path_, [](std::string_view) {});
  ASSERT_TRUE(who.has_value()) << who.error();
  EXPECT_EQ(who->exit_status, 0);
  EXPECT_EQ(who->configuration, "/etc/other.yaml");
  EXPECT_EQ(who->pid, ::getpid());
}

TEST_F(Control, WhatIsNoUtf8IsShownInHexadecimal) {
  answer_with(ReloadOutcome{0, {}, {"a\xff\"b"}});
  open();
  std::vector<std::string> said;
  EXPECT_EQ(ask_reload(said), 0);
  EXPECT_EQ(said, std::vector<std::string>{"a\\xFF\"b"});
}

TEST_F(Control, LeavesNoNameBehind) {
  open();
  EXPECT_TRUE(std::filesystem::exists(path_));
  loop_.call([&] { control_.reset(); });
  EXPECT_FALSE(std::filesystem::exists(path_));
}

TEST_F(Control, TheClientSaysWhyThereIsNoAnswer) {
  std::vector<std::string> said;
  const auto nobody = ask_reload(said);
  ASSERT_FALSE(nobody.has_value());
  EXPECT_NE(nobody.error().find("no bloomwall listens there"), std::string::npos) << nobody.error();
  const auto too_long = ask_to_reload("/" + std::string(200, 'x'), [](std::string_view) {});
  EXPECT_FALSE(too_long.has_value());

  open();
  auto answer = std::async(std::launch::async, [&] { return ask_reload(said); });
  while (asked_ == 0) std::this_thread::yield();
  loop_.call([&] { control_.reset(); });
  const auto gone = answer.get();
  ASSERT_FALSE(gone.has_value());
  EXPECT_NE(gone.error().find("went away"), std::string::npos) << gone.error();
}

// Somebody who listens, says this to whoever asks, and closes.
std::string error_from_one_who_says(const std::filesystem::path& path, const std::string& words,
                                    const HttpPatience& patience = {}) {
  auto fd = listen_at(path, 4);
  if (!fd) return fd.error();
  const SocketName name(path);
  std::atomic<bool> is_over = false;
  auto server = std::async(std::launch::async, [&] {
    int accepted = -1;
    while ((accepted = ::accept(fd->get(), nullptr, nullptr)) < 0) std::this_thread::yield();
    ScriptedPeer peer(accepted);
    peer.read_head();
    peer.send(words);
    while (patience.head < 1s && !is_over) std::this_thread::yield();
  });
  const auto answer = ask_to_reload(path, [](std::string_view) {}, patience);
  is_over = true;
  return answer ? "answered" : answer.error();
}

TEST_F(Control, TheClientDoubtsWhatItIsTold) {
  const std::string ok = "HTTP/1.1 200 OK\r\n";
  const struct {
    const char* name;
    std::string words;
    const char* error;
  } rows[] = {
      {"whole", ok + "\r\n{\"exit_status\":0}\n", "answered"},
      {"nothing", "", "went away before it answered"},
      {"a protocol of former days", "say only \"reload\" can be asked for\nstatus 2\n", "does not speak HTTP"},
      {"refused", "HTTP/1.1 403 Forbidden\r\nContent-Length: 13\r\n\r\nnot you\nmore\n", ": 403 not you"},
      {"no status", ok + "Content-Length: 16\r\n\r\n{\"text\": \"done\"}", "went away before it answered"},
      {"cut", ok + "Transfer-Encoding: chunked\r\n\r\n5\r\n{\"exi", "went away before it answered"},
      {"no JSON", ok + "\r\nstatus 0\n[0]\n{\"exit_status\":\"0\"}\n", "went away before it answered"},
      {"a line without end", ok + "\r\n" + std::string(100'000, ' ') + "{\"exit_status\":0}\n",
       "went away before it answered"},
  };
  for (const auto& row : rows) {
    const std::string got = error_from_one_who_says(path_, row.words);
    EXPECT_NE(got.find(row.error), std::string::npos) << row.name << ": " << got;
  }
  const HttpPatience brief{.head = 50ms, .silence = 50ms};
  EXPECT_NE(error_from_one_who_says(path_, "", brief).find("has said nothing for 1s"), std::string::npos);
  EXPECT_NE(error_from_one_who_says(path_, ok + "\r\n", brief).find("has said nothing for 1s"), std::string::npos);
}

}  // namespace
}  // namespace bloomwall::proxy
