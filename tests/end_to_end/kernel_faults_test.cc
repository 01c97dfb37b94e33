// A kernel that has nothing left: no descriptors, no ports, no memory for sockets, pipes and watches. Those who are
// connected notice nothing, who asks for more is told so, the proxy does not spin and leaks nothing, and afterwards all
// is as before.
// SPDX-License-Identifier: Apache-2.0
#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <functional>
#include <future>
#include <iterator>
#include <optional>
#include <thread>

#include "tests/end_to_end/kernel_faults.h"
#include "tests/end_to_end/load.h"
#include "tests/end_to_end/servers.h"
#include "tests/support/scripted_dns.h"
#include "tests/support/scripted_peer.h"

namespace bloomwall::test {
namespace {

using std::chrono::milliseconds;

// A client and the origin that it asks, each of which sees the other's octets as they were sent.
class Talk {
 public:
  explicit Talk(std::uint16_t proxy, std::string host = "127.0.0.1")
      : host_(std::move(host)), client(ScriptedPeer::connect(proxy)) {}
  std::string authority() const { return host_ + ":" + std::to_string(listener_.port()); }
  void ask() { client.send("GET http://" + authority() + "/ HTTP/1.1\r\nHost: " + authority() + "\r\n\r\n"); }
  void serve() {
    if (!origin) origin.emplace(listener_.accept());
    EXPECT_TRUE(origin->read_head().starts_with("GET / "));
    origin->send("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok");
  }
  void expect_answer() {
    EXPECT_TRUE(client.read_head().starts_with("HTTP/1.1 200 "));
    client.expect("ok");
  }
  void exchange() {
    ask();
    serve();
    expect_answer();
  }
  void rest() { EXPECT_TRUE(origin->is_quiet_for(milliseconds(1050))); }  // before it carries the next request
  void open_tunnel() {
    client.send("CONNECT " + authority() + " HTTP/1.1\r\nHost: " + authority() + "\r\n\r\n");
    EXPECT_TRUE(client.read_head().starts_with("HTTP/1.1 200 "));
    origin.emplace(listener_.accept());
  }

 private:
  std::string host_;
  ScriptedListener listener_;

 public:
  ScriptedPeer client;
  std::optional<ScriptedPeer> origin;
};

// Sends more than the kernel's buffers hold, and reads it once `meanwhile` has returned.
void expect_carried(ScriptedPeer& from, ScriptedPeer& to, const std::function<void()>& meanwhile = [] {}) {
  std::string octets(std::size_t{16} << 20, '\0');
  for (std::size_t i = 0; i < octets.size(); ++i) octets[i] = static_cast<char>(pattern(i));
  auto sent = std::async(std::launch::async, [&] { from.send(octets); });
  meanwhile();
  EXPECT_TRUE(to.read_exactly(octets.size()) == octets) << "changed on the way";
  sent.get();
}

class KernelRunsOut : public testing::Test {
 protected:
  void SetUp() override {
    if (!KernelFaults::available()) GTEST_SKIP() << "no filter over a child's system calls is permitted here";
    names_.set("there.example.test", {.v4 = {"127.0.0.1"}});
    proxy_.emplace(folder_,
                   "workers: 1\naccess: {connect_ports: [], deny_destinations: []}\nlog: {access: {file: off}}\n"
                   "dns: {servers: [\"" +
                       names_.address() + "\"]}\n" + filters(),
                   Proxy::Admin::off, faults_.before_exec());
    idle_descriptors_ = descriptors();
  }
  virtual std::string filters() { return {}; }
  std::size_t descriptors() {
    const std::filesystem::directory_iterator open("/proc/" + std::to_string(proxy_->process().pid()) + "/fd");
    return static_cast<std::size_t>(std::distance(begin(open), end(open)));
  }
  // Once everybody has left, but for pipes that are kept for the next tunnel.
  void expect_as_before(std::size_t most_pipes = 0) {
    EXPECT_TRUE(comes_true([&] { return descriptors() <= idle_descriptors_ + 2 * most_pipes; }))
        << descriptors() << " descriptors, at first " << idle_descriptors_;
    EXPECT_FALSE(proxy_->process().wait(Seconds(0)).has_value()) << proxy_->process().output();
    EXPECT_LE(proxy_->process().lines(), lines_ + 4) << "the log is flooded:\n" << proxy_->process().output();
    lines_ = proxy_->process().lines();
  }
  std::uint16_t port() const { return proxy_->port(); }

  TempDir folder_;
  ScriptedDns names_;
  KernelFaults faults_;
  std::optional<Proxy> proxy_;
  std::size_t idle_descriptors_ = 0;
  std::size_t lines_ = 6;
};

TEST_F(KernelRunsOut, WhoCannotBeAcceptedWaitsForHisTurn) {
  for (const int error : {ENFILE, EMFILE, ENOBUFS, ENOMEM}) {
    SCOPED_TRACE(std::strerror(error));
    {
      Talk steady(port());
      steady.exchange();
      steady.rest();
      faults_.begin(SYS_accept4, error);
      Talk fresh(port());
      fresh.ask();
      ASSERT_TRUE(faults_.wait_for_failed(1));
      const auto first = std::chrono::steady_clock::now();
      steady.exchange();
      ASSERT_TRUE(faults_.wait_for_failed(2)) << "it has given up";
      EXPECT_GE(std::chrono::steady_clock::now() - first, milliseconds(150)) << "it spins instead of pausing";
      steady.rest();
      steady.exchange();
      faults_.end();
      fresh.serve();
      fresh.expect_answer();
    }
    expect_as_before();
  }
}

// They are gone, and with them what the kernel had to say of them.
TEST_F(KernelRunsOut, ConnectionsThatWereAbortedDoNotHoldUpTheNext) {
  {
    faults_.begin(SYS_accept4, ECONNABORTED, 3);
    Talk fresh(port());
    fresh.exchange();
    EXPECT_EQ(faults_.failed(), 3U);
  }
  expect_as_before();
}

TEST_F(KernelRunsOut, WhatNeedsASocketIsToldAndTheRestGoesOn) {
  const struct {
    unsigned call;
    int error;
    const char* status;
    const char* why;
  } rows[] = {
      {SYS_socket, EMFILE, "503 ", "connection_limit_reached"},
      {SYS_socket, ENFILE, "503 ", "connection_limit_reached"},
      {SYS_socket, ENOBUFS, "503 ", "connection_limit_reached"},
      {SYS_socket, ENOMEM, "503 ", "connection_limit_reached"},
      {SYS_connect, EAGAIN, "503 ", "connection_limit_reached"},
      {SYS_connect, EADDRNOTAVAIL, "503 ", "connection_limit_reached"},
      {SYS_connect, ENOBUFS, "503 ", "connection_limit_reached"},
      {SYS_connect, ENOMEM, "503 ", "connection_limit_reached"},
      {SYS_connect, ENETUNREACH, "502 ", "destination_ip_unroutable"},
  };
  for (const auto& row : rows) {
    SCOPED_TRACE(std::string(row.call == SYS_socket ? "socket: " : "connect: ") + std::strerror(row.error));
    {
      Talk steady(port());
      steady.exchange();
      steady.rest();
      faults_.begin(row.call, row.error);
      steady.exchange();
      EXPECT_EQ(faults_.failed(), 0U) << "a pooled connection needs no other";
      Talk fresh(port());
      fresh.ask();
      const std::string head = fresh.client.read_head();
      EXPECT_TRUE(head.starts_with("HTTP/1.1 " + std::string(row.status))) << head;
      EXPECT_NE(head.find(row.why), std::string::npos) << head;
      EXPECT_EQ(faults_.failed(), 1U) << "once for each address";
      steady.rest();
      steady.exchange();
      faults_.end();
      Talk(port()).exchange();
    }
    expect_as_before();
  }
}

TEST_F(KernelRunsOut, ANameThatCouldNotBeAskedForIsNotTakenForOneThatIsNotThere) {
  for (const int error : {EMFILE, ENFILE, ENOBUFS, ENOMEM}) {
    SCOPED_TRACE(std::strerror(error));
    names_.set("there.example.test", {.v4 = {"127.0.0.1"}, .ttl = 0});
    {
      Talk fresh(port(), "there.example.test");
      faults_.begin(SYS_socket, error);
      fresh.ask();
      const std::string head = fresh.client.read_head();
      EXPECT_TRUE(head.starts_with("HTTP/1.1 503 ")) << head;
      EXPECT_GE(faults_.failed(), 1U);
      EXPECT_LE(faults_.failed(), 16U) << "tries of two families over one server";
      faults_.end();
      Talk(port(), "there.example.test").exchange();
    }
    expect_as_before();
  }
}

TEST_F(KernelRunsOut, WithoutRoomToWatchSocketsTheyAreLookedAt) {
  for (const int error : {ENOSPC, ENOMEM}) {
    SCOPED_TRACE(std::strerror(error));
    names_.set("there.example.test", {.v4 = {"127.0.0.1"}, .ttl = 0});
    {
      Talk steady(port());
      steady.exchange();
      steady.rest();
      faults_.begin(SYS_epoll_ctl, error);
      steady.exchange();
      EXPECT_EQ(faults_.failed(), 0U) << "a socket that is watched is not watched anew";
      Talk fresh(port(), "there.example.test");
      const auto begun = std::chrono::steady_clock::now();
      fresh.exchange();
      steady.rest();
      steady.exchange();
      EXPECT_GE(faults_.failed(), 1U);
      const auto periods = (std::chrono::steady_clock::now() - begun) / milliseconds(50) + 1;
      EXPECT_LE(faults_.failed(), 8 * static_cast<std::size_t>(periods)) << "it spins";
      faults_.end();
      fresh.rest();
      fresh.exchange();
      EXPECT_TRUE(comes_true([&] {
        faults_.begin(SYS_epoll_ctl, error);
        const bool asks_again = faults_.wait_for_failed(1, milliseconds(200));
        faults_.end();
        return !asks_again;
      })) << "it has not come back to being told";
      Talk(port()).exchange();
    }
    expect_as_before();
  }
}

// Reading from the far end has to begin again whenever the client has caught up.
TEST_F(KernelRunsOut, ATunnelThatPausedGoesOnWithoutRoomToWatchIt) {
  {
    Talk tunnel(port());
    tunnel.open_tunnel();
    faults_.begin(SYS_epoll_ctl, ENOSPC);
    expect_carried(*tunnel.origin, tunnel.client);
    EXPECT_GE(faults_.failed(), 1U) << "the test has not met what it is for";
    expect_carried(tunnel.client, *tunnel.origin);
    faults_.end();
    EXPECT_TRUE(proxy_->process().wait_for_line(std::strerror(ENOSPC))) << "the operator should know";
  }
  Talk(port()).exchange();
}

// Of each error with a process of its own: one keeps the pipe that a tunnel is given in the end for the next.
class PipesRunOut : public KernelRunsOut, public testing::WithParamInterface<int> {};

TEST_P(PipesRunOut, ATunnelWithoutPipesIsCopied) {
  SCOPED_TRACE(std::strerror(GetParam()));
  {
    Talk tunnel(port());
    tunnel.open_tunnel();
    faults_.begin(SYS_pipe2, GetParam());
    expect_carried(*tunnel.origin, tunnel.client, [&] { EXPECT_TRUE(faults_.wait_for_failed(1)); });
    expect_carried(tunnel.client, *tunnel.origin);
    faults_.end();  // the tunnel may still look for octets, and be given a pipe
  }
  expect_as_before(1);
}

INSTANTIATE_TEST_SUITE_P(OfProcessAndSystem, PipesRunOut, testing::Values(EMFILE, ENFILE));

// Each file that a reload opens, one after the other, cannot be: it is refused, or all is there nevertheless.
class ReloadRunsOut : public KernelRunsOut {
 protected:
  std::string filters() override {
    build_filter(folder_.path("listed.bwf"), "listed.example.test\nwrong.example.test\n", {"--format", "domains"});
    const auto added = run({filter_program(), "update", folder_.path("listed.bwf"), "--delta", folder_.path("delta"),
                            "--add", folder_.write("added", "added.example.test\n")});
    EXPECT_EQ(added.status, 0) << added.out;
    folder_.write("allow.txt", "wrong.example.test\n");
    folder_.write("page.html", "<!doctype html><title>the house's own page</title>\n");
    return "filters: [{name: listed, file: listed.bwf, delta: delta}]\nallow_lists: [allow.txt]\n"
           "block_page: {template: page.html}\n";
  }
  // What is as it was would not be opened.
  void touch_files() const {
    for (const char* name : {"listed.bwf", "delta", "allow.txt"}) {
      std::filesystem::last_write_time(folder_.path(name), std::filesystem::file_time_type::clock::now());
    }
  }
  std::string answer_to(const std::string& host) {
    auto client = ScriptedPeer::connect(port());
    client.send("GET http://" + host + "/ HTTP/1.1\r\nHost: " + host +
                "\r\nAccept: text/html\r\nConnection: close\r\n\r\n");
    return client.read_to_end();
  }
  void expect_all_there() {
    for (const char* host : {"listed.example.test", "added.example.test"}) {
      const std::string answer = answer_to(host);
      EXPECT_TRUE(answer.starts_with("HTTP/1.1 403 ")) << host << ": " << answer;
      EXPECT_NE(answer.find("the house's own page"), std::string::npos) << host << ": " << answer;
    }
    const std::string answer = answer_to("wrong.example.test");  // the name server knows of no such name
    EXPECT_TRUE(answer.starts_with("HTTP/1.1 502 ")) << answer;
  }
};

TEST_F(ReloadRunsOut, ItIsRefusedOrWhole) {
  for (const int error : {EMFILE, ENFILE, ENOMEM}) {
    for (std::size_t nth = 0;; ++nth) {
      SCOPED_TRACE(std::string(std::strerror(error)) + " at file " + std::to_string(nth));
      ASSERT_EQ(proxy_->reload().status, 0);  // so that each begins alike
      touch_files();
      faults_.begin(SYS_openat, error, 1, nth);
      const auto answer = proxy_->reload();
      faults_.end();
      if (faults_.failed() == 0) {
        EXPECT_EQ(answer.status, 0) << answer.out;
        break;
      }
      if (answer.status != 0) {
        EXPECT_NE(answer.out.find(std::strerror(error)), std::string::npos) << answer.out;
      }
      expect_all_there();
    }
    for (const char* file : {"bloomwall.yaml", "listed.bwf", "delta", "allow.txt", "page.html", "/etc/hosts"}) {
      SCOPED_TRACE(std::string(std::strerror(error)) + " at " + file);
      touch_files();
      faults_.begin_for_files(file, error);
      const auto answer = proxy_->reload();
      faults_.end();
      EXPECT_NE(answer.status, 0) << answer.out;
      EXPECT_NE(answer.out.find(std::strerror(error)), std::string::npos) << answer.out;
      expect_all_there();
    }
  }
  // Every reload says what became of it, and the last words may be on their way.
  lines_ = proxy_->process().lines() + 100;
  expect_as_before();
}

// A verdict on a URL whose page is on the disk, which a thread reads that begins when it is first needed.
class ThreadsRunOut : public KernelRunsOut {
 protected:
  std::string filters() override {
    // So large that the pages of the URLs lie apart from those of section H, which stay in memory, and from each other.
    const std::string key = folder_.write("key", std::string(64, '1'));
    std::string urls;
    for (int i = 0; i < kUrls; ++i) urls += "http://127.0.0.1/listed/" + std::to_string(i) + "\n";
    build_filter(file_, urls, {"--format", "urls", "--entries", "4M", "--kinds", "U=1", "--series-key", key});
    std::filesystem::create_directory(folder_.path("state"));
    return "state_dir: state\nfilters: [{name: paged, file: paged.bwf, memory: paged}]\n";
  }
  void drop_pages() {
    const int fd = ::open(copy().c_str(), O_RDONLY | O_CLOEXEC);
    EXPECT_EQ(::fsync(fd), 0);
    EXPECT_EQ(::posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED), 0);  // what nobody has mapped leaves the memory
    ::close(fd);
  }
  std::string answer_to_listed(int url) {
    auto client = ScriptedPeer::connect(port());
    client.send("GET http://127.0.0.1:2/listed/" + std::to_string(url) + " HTTP/1.1\r\nHost: 127.0.0.1:2\r\n\r\n");
    return client.read_head();
  }
  // The answer to the first URL for whose page a thread was wanted and refused. A page may stay in memory, or come from
  // a quick disk before it is missed, and one that was read is mapped and stays: so each attempt asks for another.
  std::string answer_without_thread() {
    faults_.begin(SYS_clone3, EAGAIN);
    std::string head;
    do {
      drop_pages();
      head = answer_to_listed(++url_);
    } while (faults_.failed() == 0 && url_ + 1 < kUrls);
    EXPECT_EQ(faults_.failed(), 1U) << "the file system keeps all pages in memory";
    faults_.end();
    return head;
  }

  // The file without a name that is served.
  std::string copy() {
    std::error_code gone;
    const std::string folder = "/proc/" + std::to_string(proxy_->process().pid()) + "/fd";
    for (const auto& fd : std::filesystem::directory_iterator(folder)) {
      const std::string name = std::filesystem::read_symlink(fd, gone).string();
      if (name.starts_with(folder_.path("state/")) && name.ends_with(" (deleted)")) return fd.path();
    }
    ADD_FAILURE() << "no copy is served";
    return file_;
  }

  static constexpr int kUrls = 64;
  const std::string file_ = folder_.path("paged.bwf");
  int url_ = 0;  // the last that was asked for
};

TEST_F(ThreadsRunOut, AVerdictComesAllTheSame) {
  EXPECT_TRUE(answer_without_thread().starts_with("HTTP/1.1 403 "));
  drop_pages();
  EXPECT_TRUE(answer_to_listed(0).starts_with("HTTP/1.1 403 "));
  expect_as_before();
}

// Without a thread the page is looked for again after 20 ms, which is too late here.
class PagesComeLate : public ThreadsRunOut {
 protected:
  std::string filters() override { return "timeouts: {announce: 0, connect: 1ms}\n" + ThreadsRunOut::filters(); }
};

TEST_F(PagesComeLate, TheClientIsToldInTimeAndHasTheVerdictLater) {
  std::string head = answer_without_thread();
  EXPECT_TRUE(head.starts_with("HTTP/1.1 503 ")) << head;
  EXPECT_NE(head.find("pages of a filter did not come within timeouts.connect"), std::string::npos) << head;
  EXPECT_TRUE(comes_true([&] {
    head = answer_to_listed(url_);
    return !head.starts_with("HTTP/1.1 503 ");
  })) << "the page never comes";
  EXPECT_TRUE(head.starts_with("HTTP/1.1 403 ")) << head;
  expect_as_before();
}

}  // namespace
}  // namespace bloomwall::test
