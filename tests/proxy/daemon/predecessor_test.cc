// The old process is the other end of a pair of sockets.
// SPDX-License-Identifier: Apache-2.0
#include "proxy/daemon/predecessor.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cstring>
#include <optional>
#include <utility>

#include "tests/support/turn_loop.h"

namespace bloomwall::proxy {
namespace {

class PredecessorTest : public testing::Test {
 protected:
  PredecessorTest() {
    std::array<int, 2> ends{};
    EXPECT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()), 0);
    old_.reset(ends[0]);
    predecessor_.emplace(loop_, UniqueFd(ends[1]),
                         Predecessor::Events{.on_go =
                                                 [this](const UpgradeCounts& before, UniqueFd logins) {
                                                   before_ = before;
                                                   logins_ = std::move(logins);
                                                   loop_.stop();
                                                 },
                                             .on_main =
                                                 [this] {
                                                   is_main_ = true;
                                                   loop_.stop();
                                                 },
                                             .on_lost =
                                                 [this] {
                                                   is_lost_ = true;
                                                   loop_.stop();
                                                 }});
  }
  void send(std::string_view text) const {
    EXPECT_EQ(::send(old_.get(), text.data(), text.size(), MSG_NOSIGNAL), static_cast<ssize_t>(text.size()));
  }
  void send_with(std::string_view text, int passed) const {
    iovec octets{const_cast<char*>(text.data()), text.size()};
    alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof passed)> room{};
    msghdr message{};
    message.msg_iov = &octets;
    message.msg_iovlen = 1;
    message.msg_control = room.data();
    message.msg_controllen = room.size();
    cmsghdr* const header = CMSG_FIRSTHDR(&message);
    header->cmsg_level = SOL_SOCKET;
    header->cmsg_type = SCM_RIGHTS;
    header->cmsg_len = CMSG_LEN(sizeof passed);
    std::memcpy(CMSG_DATA(header), &passed, sizeof passed);
    EXPECT_EQ(::sendmsg(old_.get(), &message, MSG_NOSIGNAL), static_cast<ssize_t>(text.size()));
  }
  std::string received() const {
    std::array<char, 4096> buffer{};
    const ssize_t got = ::recv(old_.get(), buffer.data(), buffer.size(), MSG_DONTWAIT);
    return {buffer.data(), static_cast<std::size_t>(std::max<ssize_t>(got, 0))};
  }
  void run() { test::run_until_stopped(loop_); }

  EventLoop loop_;
  UniqueFd old_;
  std::optional<Predecessor> predecessor_;
  std::optional<UpgradeCounts> before_;
  UniqueFd logins_;
  bool is_main_ = false, is_lost_ = false;
};

TEST_F(PredecessorTest, IsToldWhatIsGoingOnInLines) {
  predecessor_->say("loads\nads");
  predecessor_->say_ready();
  predecessor_->say_serving();
  EXPECT_EQ(received(), "text loads ads\nready\nserving\n");
}

TEST_F(PredecessorTest, ALongTextIsCutAndNoChannelIsNoError) {
  predecessor_->say(std::string(5000, 'x'));
  EXPECT_EQ(received(), "text " + std::string(2000, 'x') + "\n");
  Predecessor::tell(-1, "nobody");
}

TEST_F(PredecessorTest, SaysGoWithWhatWasCounted) {
  send("go 3 1\n");
  run();
  ASSERT_TRUE(before_.has_value());
  EXPECT_EQ(before_->succeeded, 3U);
  EXPECT_EQ(before_->failed, 1U);
  EXPECT_FALSE(logins_);
}

TEST_F(PredecessorTest, HandsOnTheFileThatComesWithGo) {
  std::array<int, 2> pipe_ends{};
  ASSERT_EQ(::pipe2(pipe_ends.data(), O_CLOEXEC), 0);
  const UniqueFd reads(pipe_ends[0]);
  UniqueFd writes(pipe_ends[1]);
  send_with("go 0 0\n", reads.get());
  run();
  ASSERT_TRUE(before_.has_value());
  ASSERT_TRUE(logins_);
  EXPECT_EQ(::write(writes.get(), "x", 1), 1);
  char octet = 0;
  EXPECT_EQ(::read(logins_.get(), &octet, 1), 1);
  EXPECT_EQ(octet, 'x');
}

TEST_F(PredecessorTest, ItsEndBeforeWeServeIsTheLossOfIt) {
  old_.reset();
  run();
  EXPECT_TRUE(is_lost_);
  EXPECT_FALSE(is_main_ || predecessor_->is_main());
}

TEST_F(PredecessorTest, ItsEndOnceWeServeMakesUsTheMainProcess) {
  predecessor_->say_serving();
  old_.reset();
  run();
  EXPECT_TRUE(is_main_ && predecessor_->is_main());
  EXPECT_FALSE(is_lost_);
}

}  // namespace
}  // namespace bloomwall::proxy
