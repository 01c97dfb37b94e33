// SPDX-License-Identifier: Apache-2.0
#include "proxy/io/tcp_transport.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/socket.h>

#include <atomic>
#include <filesystem>
#include <fstream>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "tests/support/scripted_peer.h"
#include "tests/support/turn_loop.h"

namespace bloomwall::proxy {
namespace {

using test::ScriptedPeer;

// A transport on one end of a pair of sockets, a scripted peer on the other, and a loop that is turned by hand.
class TcpTransportTest : public testing::Test, public Transport::Handler {
 protected:
  TcpTransportTest() {
    int fds[2];
    EXPECT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, fds), 0);
    near_fd = fds[0];
    transport.emplace(io, UniqueFd(near_fd), *this);
    peer = ScriptedPeer(fds[1]);
  }
  // Turns the loop until `done` or patience ends.
  template <typename Done>
  void turn_until(Done done) {
    test::turn_until(loop, done);
  }
  void turn(int times) {
    for (int i = 0; i < times; ++i) event_base_loop(loop.base(), EVLOOP_NONBLOCK);
  }

  // What the peer hears while the loop turns.
  std::string read_meanwhile(std::size_t size) {
    std::string received;
    std::atomic<bool> done = false;
    std::thread reader([&] {
      received = peer.read_exactly(size);
      done = true;
    });
    turn_until([&] { return done.load(); });
    reader.join();
    return received;
  }

  std::size_t on_data(std::span<const char> bytes) override {
    const std::size_t n = std::min(bytes.size(), appetite);
    got.append(bytes.data(), n);
    ++deliveries;
    if (n < bytes.size() || pause_after_each) transport->pause(PauseReason::busy);
    return n;
  }
  void on_end() override { ++ends; }
  void on_drained() override { ++drains; }
  void on_write_failed(int error) override { write_errors.push_back(error); }
  void on_failed(int error) override { errors.push_back(error); }

  int near_fd = -1;  // the transport's
  EventLoop loop;
  BufferPool pool{64 << 20};
  std::vector<char> scratch = std::vector<char>(256 * 1024);
  IoContext io{loop, pool, scratch};
  std::optional<TcpTransport> transport;
  ScriptedPeer peer{-1};
  std::string got;
  std::size_t appetite = SIZE_MAX;
  bool pause_after_each = false;
  int deliveries = 0, ends = 0, drains = 0;
  std::vector<int> write_errors, errors;
};

TEST_F(TcpTransportTest, AnEmptyQueueHasRoomHoweverSmallItIs) {
  constexpr std::size_t kLeastRead = 4096;  // MemoryWait's
  const int smallest = 1;
  ASSERT_EQ(setsockopt(near_fd, SOL_SOCKET, SO_SNDBUF, &smallest, sizeof smallest), 0);
  EXPECT_GE(transport->kernel_room(), kLeastRead);
}

TEST_F(TcpTransportTest, NothingMoreFitsBehindWhatWaits) {
  transport->send(std::string(std::size_t{16} << 20, 'x'));
  ASSERT_GT(transport->backlog(), 0U);
  EXPECT_EQ(transport->kernel_room(), 0U);
  std::vector<char> taken(std::size_t{1} << 20);
  while (recv(peer.fd(), taken.data(), taken.size(), MSG_DONTWAIT) > 0) {
  }
  EXPECT_EQ(transport->kernel_room(), 0U) << "although the kernel has some";
  turn_until([&] { return recv(peer.fd(), taken.data(), taken.size(), MSG_DONTWAIT), transport->backlog() == 0; });
}

TEST_F(TcpTransportTest, DeliversWhatArrivesThenTheEndOnce) {
  peer.send("hello");
  turn_until([&] { return got == "hello"; });
  EXPECT_EQ(pool.in_use(), 0u) << "nothing is kept of what was used";
  peer.shut_write();
  turn_until([&] { return ends == 1; });
  turn(5);
  EXPECT_EQ(ends, 1);
  EXPECT_TRUE(transport->is_open()) << "its own side may still speak";
  transport->send("bye");
  peer.expect("bye");
}

TEST_F(TcpTransportTest, KeepsWhatTheHandlerDoesNotUseAndOffersItAgain) {
  appetite = 3;
  peer.send("abcdefgh");
  turn_until([&] { return got == "abc"; });
  EXPECT_EQ(transport->unread(), 5u);
  turn(5);
  EXPECT_EQ(got, "abc") << "paused";
  transport->resume(PauseReason::busy);
  turn_until([&] { return got == "abcdef"; });
  transport->resume(PauseReason::busy);
  turn_until([&] { return got == "abcdefgh"; });
  EXPECT_EQ(transport->unread(), 0u);
  EXPECT_EQ(pool.in_use(), 0u);
}

TEST_F(TcpTransportTest, PauseReasonsAddUp) {
  transport->pause(PauseReason::busy);
  transport->pause(PauseReason::peer_full);
  peer.send("x");
  turn(5);
  transport->resume(PauseReason::busy);
  turn(5);
  EXPECT_EQ(got, "");
  transport->resume(PauseReason::peer_full);
  turn_until([&] { return got == "x"; });
}

TEST_F(TcpTransportTest, TheEndWaitsUntilEverythingWasUsed) {
  appetite = 2;
  peer.send("abcd");
  peer.shut_write();
  turn_until([&] { return got == "ab"; });
  turn(5);
  EXPECT_EQ(ends, 0);
  transport->resume(PauseReason::busy);
  turn_until([&] { return ends == 1; });
  EXPECT_EQ(got, "abcd");
}

TEST_F(TcpTransportTest, WritesAtOnceAndTellsWhenABacklogHasGone) {
  transport->send("now");
  peer.expect("now");
  EXPECT_EQ(transport->backlog(), 0u);
  EXPECT_EQ(drains, 0) << "nothing had to wait";
  const std::string large(4 << 20, 'z');
  transport->send(large);
  EXPECT_GT(transport->backlog(), 0u);
  transport->send("tail");
  const std::string received = read_meanwhile(large.size() + 4);
  EXPECT_EQ(received, large + "tail");
  turn_until([&] { return drains == 1; });
  EXPECT_EQ(transport->backlog(), 0u);
  EXPECT_EQ(pool.in_use(), 0u);
  EXPECT_EQ(transport->bytes_out(), large.size() + 7);
}

TEST_F(TcpTransportTest, ItsEndFollowsTheBacklog) {
  const std::string large(1 << 20, 'z');
  transport->send(large);
  transport->shut_write();
  EXPECT_EQ(read_meanwhile(large.size()), large);
  turn_until([&] { return drains == 1; });
  peer.expect_end();
}

TEST_F(TcpTransportTest, AWriteToAClosedPeerIsToldLaterAndNotFromWithinSend) {
  peer.close();
  transport->send("into the void");
  EXPECT_TRUE(write_errors.empty());
  turn_until([&] { return write_errors.size() == 1; });
  EXPECT_TRUE(transport->write_failed());
  transport->send("again");
  turn(5);
  EXPECT_EQ(write_errors.size(), 1u);
}

TEST_F(TcpTransportTest, WhatThePeerSaidBeforeItLeftIsStillRead) {
  peer.send("last words");
  peer.close();
  transport->send("x");
  turn_until([&] { return got == "last words"; });
  EXPECT_EQ(write_errors.size(), 1u);
}

TEST_F(TcpTransportTest, NothingComesAfterClose) {
  peer.send("abc");
  transport->close();
  turn(5);
  EXPECT_EQ(got, "");
  EXPECT_EQ(ends, 0);
}

// How many epoll instances of this process have the descriptor, closed or not.
int watches_of(int fd) {
  int count = 0;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fdinfo")) {
    std::ifstream lines(entry.path());
    std::string word;
    int watched = -1;
    while (lines >> word) count += word == "tfd:" && lines >> watched && watched == fd ? 1 : 0;
  }
  return count;
}

// Between vfork() and exec() a child has all descriptors of its parent: closing one here does not remove it from epoll.
TEST_F(TcpTransportTest, NoEpollKeepsOneThatIsClosedWhileAChildStillHasIt) {
  HangupWatch hangups(loop);
  io.hangups = &hangups;
  int fds[2];
  ASSERT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, fds), 0);
  peer = ScriptedPeer(fds[1]);
  transport.emplace(io, UniqueFd(fds[0]), *this);
  transport->set_notices_reset(true);
  transport->pause(PauseReason::busy);
  peer.send("x");
  turn(5);
  ASSERT_EQ(watches_of(fds[0]), 1) << "not by the loop, whose reads are paused";
  const UniqueFd of_child(fcntl(fds[0], F_DUPFD_CLOEXEC, 0));
  transport->close();
  EXPECT_EQ(watches_of(fds[0]), 0) << "its events would name a transport that is gone";
  transport.reset();
  turn(2);
}

TEST_F(TcpTransportTest, AHandlerThatUsesNothingAndDoesNotPauseIsCutOff) {
  struct Stubborn final : Transport::Handler {
    std::size_t on_data(std::span<const char>) override { return 0; }
    void on_end() override {}
    void on_drained() override {}
    void on_write_failed(int) override {}
    void on_failed(int error) override { failed_with = error; }
    int failed_with = 0;
  } stubborn;
  transport->set_handler(stubborn);
  peer.send("abc");
  turn_until([&] { return stubborn.failed_with != 0; });
  EXPECT_EQ(stubborn.failed_with, EPROTO);
  EXPECT_FALSE(transport->is_open());
}

TEST_F(TcpTransportTest, APoolWithoutRoomCutsTheConnectionNotTheProcess) {
  BufferPool tiny(sizeof(BufferPool::Block));
  IoContext tight{loop, tiny, scratch};
  int fds[2];
  ASSERT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, fds), 0);
  ScriptedPeer other(fds[1]);
  TcpTransport starved(tight, UniqueFd(fds[0]), *this);
  starved.send(std::string(8 << 20, 'q'));
  turn_until([&] { return write_errors.size() == 1; });
  EXPECT_EQ(write_errors[0], ENOBUFS);
  EXPECT_EQ(tiny.in_use(), 0u);
}

TEST(EventLoop, RunsMessagesOfOtherThreadsInOrderAndThenStops) {
  EventLoop loop;
  std::vector<int> order;
  std::thread other([&] {
    for (int i = 0; i < 1000; ++i) loop.post([&order, i] { order.push_back(i); });
    loop.stop();
  });
  loop.run();
  other.join();
  ASSERT_EQ(order.size(), 1000u);
  for (int i = 0; i < 1000; ++i) EXPECT_EQ(order[static_cast<std::size_t>(i)], i);
}

TEST(DeferredDeletion, DestroysOnTheNextTurnAndTakesWhatDestructorsDefer) {
  struct Deleted final : DeletedLater {
    Deleted(EventLoop& at, int& dead, int left) : loop(at), count(dead), more(left) {}
    ~Deleted() override {
      ++count;
      if (more > 0) loop.deferred().delete_later(std::make_unique<Deleted>(loop, count, more - 1));
    }
    EventLoop& loop;
    int& count;
    int more;
  };
  EventLoop loop;
  int dead = 0;
  loop.deferred().delete_later(std::make_unique<Deleted>(loop, dead, 2));
  EXPECT_EQ(dead, 0);
  loop.stop();
  while (!loop.deferred().empty()) event_base_loop(loop.base(), EVLOOP_NONBLOCK);
  EXPECT_EQ(dead, 3);
}

}  // namespace
}  // namespace bloomwall::proxy
