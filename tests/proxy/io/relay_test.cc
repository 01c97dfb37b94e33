// Streams that relay through a pipe: what arrives, in which order, and what becomes of it when one side fails.
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <sys/socket.h>

#include <atomic>
#include <csignal>
#include <cstring>
#include <optional>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "proxy/io/pipe_pool.h"
#include "proxy/io/tcp_transport.h"
#include "tests/support/scripted_peer.h"
#include "tests/support/turn_loop.h"

namespace bloomwall::proxy {
namespace {

using test::ScriptedPeer;

constexpr std::size_t kMuch = std::size_t{24} << 20;

std::string noise(std::size_t size) {
  std::mt19937_64 random(20261121);
  std::string text(size, '\0');
  for (std::size_t i = 0; i + 8 <= size; i += 8) {
    const std::uint64_t word = random();
    std::memcpy(text.data() + i, &word, 8);
  }
  return text;
}

// One direction of a tunnel: what is shown is copied, what is relayed is counted; either waits for a full sink.
struct End final : Transport::Handler {
  std::size_t on_data(std::span<const char> bytes) override {
    shown += bytes.size();
    other->transport->send({bytes.data(), bytes.size()});
    wait_for_sink();
    return bytes.size();
  }
  void on_relayed() override {
    ++relays;
    wait_for_sink();
  }
  void wait_for_sink() {
    if (other->transport->backlog() > 0) transport->pause(PauseReason::peer_full);
  }
  void on_end() override { other->transport->shut_write(); }
  void on_drained() override { other->transport->resume(PauseReason::peer_full); }
  void on_write_failed(int error) override { write_error = error; }
  void on_failed(int error) override { failure = error; }

  std::optional<TcpTransport> transport;
  End* other = nullptr;
  std::size_t shown = 0;
  int relays = 0, write_error = 0, failure = 0;
};

class Relay : public testing::Test {
 protected:
  Relay() {
    std::signal(SIGPIPE, SIG_IGN);
    left_.other = &right_;
    right_.other = &left_;
    left_peer_ = open(left_);
    right_peer_ = open(right_);
    left_.transport->relay_to(*right_.transport);
    right_.transport->relay_to(*left_.transport);
  }
  ScriptedPeer open(End& end) {
    int fds[2];
    EXPECT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, fds), 0);
    end.transport.emplace(io_, UniqueFd(fds[0]), end);
    return ScriptedPeer(fds[1]);
  }
  template <typename Done>
  void turn_until(Done done) {
    test::turn_until(loop_, done);
  }

  EventLoop loop_;
  BufferPool pool_{64 << 20};
  PipePool pipes_;
  std::vector<char> scratch_ = std::vector<char>(256 * 1024);
  IoContext io_{loop_, pool_, scratch_, &pipes_};
  End left_, right_;
  ScriptedPeer left_peer_{-1}, right_peer_{-1};
};

TEST_F(Relay, MovesEveryOctetInOrderAndHoldsNothingAfterwards) {
  const std::string sent = noise(kMuch);
  std::string received;
  std::atomic<bool> done = false;
  std::thread writer([&] {
    left_peer_.send(sent);
    left_peer_.shut_write();
  });
  std::thread reader([&] {
    received = right_peer_.read_to_end();
    done = true;
  });
  turn_until([&] { return done.load(); });
  writer.join();
  reader.join();
  EXPECT_TRUE(received == sent);
  EXPECT_GT(left_.relays, 0);
  EXPECT_LT(left_.shown, kMuch / 2) << "most of it never passes through this process";
  EXPECT_EQ(left_.transport->bytes_in(), kMuch);
  EXPECT_EQ(right_.transport->bytes_out(), kMuch);
  EXPECT_EQ(right_.transport->backlog(), 0U);
  EXPECT_EQ(pipes_.in_use(), 0U);
  EXPECT_EQ(pool_.in_use(), 0U);
}

TEST_F(Relay, WaitsForAReaderThatDoesNotRead) {
  const std::string sent = noise(kMuch);
  std::atomic<bool> written = false;
  std::thread writer([&] {
    left_peer_.send(sent);
    written = true;
  });
  turn_until([&] { return right_.transport->backlog() > 0 && !left_.transport->gate().open(); });
  EXPECT_LE(right_.transport->backlog(), PipePool::kBytes + scratch_.size());
  EXPECT_FALSE(written.load());
  std::string received;
  std::thread reader([&] { received = right_peer_.read_exactly(kMuch); });
  turn_until([&] { return right_.transport->bytes_out() == kMuch && right_.transport->backlog() == 0; });
  writer.join();
  reader.join();
  EXPECT_TRUE(received == sent);
}

TEST_F(Relay, WordsSentBehindAFullPipeComeAfterIt) {
  const std::string sent = noise(kMuch);
  std::thread writer([&] { left_peer_.send(sent); });
  turn_until([&] { return pipes_.in_use() == 1; });
  right_.transport->send("last words");
  const std::size_t before = right_.transport->bytes_out() - 10;
  std::string received;
  std::thread reader([&] { received = right_peer_.read_exactly(kMuch + 10); });
  turn_until([&] { return right_.transport->bytes_out() == kMuch + 10 && right_.transport->backlog() == 0; });
  writer.join();
  reader.join();
  EXPECT_EQ(received.substr(before, 10), "last words");
}

TEST_F(Relay, ASinkThatClosesIsAWriteErrorAndGivesThePipeBack) {
  std::atomic<bool> stop = false;
  std::thread writer([&] {
    try {
      left_peer_.send(noise(kMuch));
    } catch (const std::runtime_error&) {  // it is cut, as it should be
    }
    stop = true;
  });
  turn_until([&] { return pipes_.in_use() == 1; });
  right_peer_.close();
  turn_until([&] { return right_.write_error != 0 || right_.failure != 0; });
  EXPECT_EQ(right_.transport->backlog(), 0U);
  EXPECT_EQ(pipes_.in_use(), 0U);
  left_.transport->close();
  turn_until([&] { return stop.load(); });
  writer.join();
}

TEST_F(Relay, WithoutAPipeToBeHadItIsCopied) {
  std::vector<Pipe> taken;
  for (std::size_t i = 0; i < PipePool::kMost; ++i) taken.push_back(pipes_.take());
  EXPECT_FALSE(pipes_.take());
  const std::string sent = noise(kMuch);
  std::string received;
  std::atomic<bool> done = false;
  std::thread writer([&] { left_peer_.send(sent); });
  std::thread reader([&] {
    received = right_peer_.read_exactly(kMuch);
    done = true;
  });
  turn_until([&] { return done.load(); });
  writer.join();
  reader.join();
  EXPECT_TRUE(received == sent);
  EXPECT_EQ(left_.relays, 0);
  for (Pipe& pipe : taken) pipes_.give(std::move(pipe));
  EXPECT_EQ(pipes_.in_use(), 0U);
}

}  // namespace
}  // namespace bloomwall::proxy
