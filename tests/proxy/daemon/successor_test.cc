// A program of bash in the place of the new one.
// SPDX-License-Identifier: Apache-2.0
#include "proxy/daemon/successor.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include "proxy/io/service_manager.h"
#include "tests/support/turn_loop.h"

namespace bloomwall::proxy {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::SizeIs;

// $channel is then the descriptor of the channel.
constexpr const char* kFindChannel =
    "names=(${LISTEN_FDNAMES//:/ }); [ $LISTEN_PID = $$ ] && [ $LISTEN_FDS = ${#names[@]} ] || exit 99; "
    "for i in ${!names[@]}; do [ ${names[i]} = upgrade.channel ] && channel=$((3 + i)); done; ";

class SuccessorTest : public testing::Test {
 protected:
  void start(const std::string& script, std::vector<Successor::Passed> sockets = {}) {
    auto started =
        Successor::start(loop_, {.command = {"/bin/bash", "-c", kFindChannel + script}, .sockets = std::move(sockets)},
                         {.on_line =
                              [this](std::string_view line) {
                                lines_.emplace_back(line);
                                if (on_line_) on_line_();
                              },
                          .on_end =
                              [this](const std::string& why) {
                                ends_.push_back(why);
                                loop_.stop();
                              }});
    ASSERT_TRUE(started.has_value()) << started.error();
    successor_ = *std::move(started);
  }
  // Until it has ended, or on_line_ has stopped the loop.
  void run() { test::run_until_stopped(loop_); }

  EventLoop loop_;
  std::vector<std::string> lines_, ends_;
  std::function<void()> on_line_;
  std::unique_ptr<Successor> successor_;
};

TEST_F(SuccessorTest, SaysAndIsToldLines) {
  start("echo text a b >&$channel; echo ready >&$channel; read -u $channel line; echo \"$line\" >&$channel; exit 7");
  on_line_ = [this] {
    if (lines_.back() == "ready") successor_->tell("go 3 1");
  };
  run();
  EXPECT_THAT(lines_, ElementsAre("text a b", "ready", "go 3 1"));
  EXPECT_THAT(ends_, ElementsAre("the new process ended with exit status 7"));
}

TEST_F(SuccessorTest, HasTheSocketsInTheirOrder) {
  std::vector<Successor::Passed> sockets;
  for (const char* const name : {kPassedListener, kPassedAdmin}) {
    sockets.push_back({UniqueFd(::open(name == kPassedAdmin ? "/dev/zero" : "/dev/null", O_RDONLY | O_CLOEXEC)), name});
  }
  start("echo $LISTEN_FDNAMES $(readlink /proc/$$/fd/3 /proc/$$/fd/4) >&$channel", std::move(sockets));
  run();
  EXPECT_THAT(lines_, ElementsAre("upgrade.listener:upgrade.admin:upgrade.channel:upgrade.errors /dev/null /dev/zero"));
}

TEST_F(SuccessorTest, ItsLastWordsAreKept) {
  start("printf 'first\\nsecond\\n' >&2; exit 78");
  run();
  EXPECT_THAT(successor_->last_words(), ElementsAre("first", "second"));
  EXPECT_THAT(ends_, ElementsAre("the new process ended with exit status 78"));
}

TEST_F(SuccessorTest, OfManyWordsTheLastAreKept) {
  start("for i in {1..2000}; do echo line $i; done >&2");
  run();
  const std::vector<std::string> words = successor_->last_words();
  ASSERT_FALSE(words.empty());
  EXPECT_EQ(words.back(), "line 2000");
  std::size_t octets = 0;
  for (const std::string& line : words) octets += line.size() + 1;
  EXPECT_LE(octets, Successor::kMostWords);
  EXPECT_EQ(words.front().substr(0, 5), "line ") << "whole lines";
}

TEST_F(SuccessorTest, IsKilledForAReasonThatIsGivenOnce) {
  start("echo ready >&$channel; read -u $channel line");
  on_line_ = [this] {
    successor_->kill("first");
    successor_->kill("second");
  };
  run();
  EXPECT_THAT(ends_, ElementsAre("first"));
}

// A queue that it had open would go on taking clients, for nobody.
TEST_F(SuccessorTest, KilledAtOnceItHasNoQueueOpen) {
  for (int round = 0; round < 4; ++round) {
    UniqueFd listener(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address;
    auto* const at = reinterpret_cast<sockaddr*>(&address);
    ASSERT_EQ(::bind(listener.get(), at, size), 0);
    ASSERT_EQ(::listen(listener.get(), 8), 0);
    ASSERT_EQ(::getsockname(listener.get(), at, &size), 0);
    std::vector<Successor::Passed> sockets;
    sockets.push_back({UniqueFd(::fcntl(listener.get(), F_DUPFD_CLOEXEC, 3)), kPassedListener});
    // Much memory, which takes the kernel a while to give back.
    start("m=$(head -c 40000000 /dev/zero | tr '\\0' x); echo ready >&$channel; read -u $channel line",
          std::move(sockets));
    on_line_ = [this] { loop_.stop(); };
    run();
    listener.reset();
    successor_->kill_at_once("stopping");
    const UniqueFd client(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    EXPECT_NE(::connect(client.get(), at, size), 0) << "who would be reset";
    on_line_ = {};
    successor_.reset();
  }
}

TEST_F(SuccessorTest, ThatClosesTheChannelIsKilled) {
  start("exec {channel}>&-; read -u 0 < <(sleep 1000)");
  run();
  EXPECT_THAT(ends_, ElementsAre(HasSubstr("has closed the channel")));
}

TEST_F(SuccessorTest, ThatSaysALineWithoutEndIsKilled) {
  start("while printf %01000d 0; do :; done >&$channel");
  run();
  EXPECT_THAT(ends_, ElementsAre(HasSubstr("what is not understood")));
  EXPECT_THAT(lines_, SizeIs(0));
}

TEST_F(SuccessorTest, OnceReleasedItLivesOn) {
  start("echo serving >&$channel; read -u $channel line; exit 5");
  on_line_ = [this] { successor_->release(); };  // the end of the channel, which it waits for
  run();
  EXPECT_THAT(ends_, ElementsAre("the new process ended with exit status 5")) << "of its own";
}

TEST_F(SuccessorTest, ThatIsNoProgramIsAnError) {
  const auto started = Successor::start(loop_, {.command = {"/nowhere/bloomwall"}, .sockets = {}}, {});
  ASSERT_FALSE(started.has_value());
  EXPECT_EQ(started.error(), "/nowhere/bloomwall: No such file or directory");
}

}  // namespace
}  // namespace bloomwall::proxy
