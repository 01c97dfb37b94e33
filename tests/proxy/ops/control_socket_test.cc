// SPDX-License-Identifier: Apache-2.0
#include "proxy/ops/control_socket.h"

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <atomic>
#include <future>
#include <thread>

#include "proxy/ops/control_client.h"
#include "tests/proxy/ops/loop_thread.h"
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
  void open(ControlSocket::Bounds bounds = {.connections = 4, .patience = 5s}) {
    loop_.call([&] {
      auto opened = ControlSocket::open(loop_.io, path_, [this](std::uint64_t id) { on_reload(id); }, bounds);
      ASSERT_TRUE(opened.has_value()) << opened.error();
      control_ = *std::move(opened);
    });
  }
  void TearDown() override {
    loop_.call([&] { control_.reset(); });
  }
  // On the loop. Without an outcome the asker waits.
  void on_reload(std::uint64_t id) {
    last_ = id;
    ++asked_;
    if (outcome_) control_->answer(id, *outcome_);
  }
  void answer_with(const ReloadOutcome& outcome) {
    loop_.call([&] { outcome_ = outcome; });
  }
  ScriptedPeer connect() const { return ScriptedPeer(connect_to(path_).release()); }
  tl::expected<int, std::string> ask_reload(std::vector<std::string>& said) const {
    return ask(path_, "reload", [&](std::string_view line) { said.emplace_back(line); });
  }

  TempDir dir_;
  const std::filesystem::path path_ = dir_.path() / "control.sock";
  LoopThread loop_;
  std::unique_ptr<ControlSocket> control_;
  std::optional<ReloadOutcome> outcome_;
  std::atomic<std::uint64_t> last_{0};
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
    control_->say("verifying a.bwf: 50 %");
    control_->answer(last_, {1, {}, {"refused"}});
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

TEST_F(Control, KnowsOneRequestAndBoundsWhatItReads) {
  answer_with(ReloadOutcome{});
  open();
  for (const char* request : {"\n", "Reload\n", "reload now\n", "shutdown\n"}) {
    auto peer = connect();
    peer.send(request);
    peer.expect("say only \"reload\" can be asked for\nstatus 2\n");
    peer.expect_end();
  }
  auto flood = connect();
  flood.send(std::string(ControlSocket::kLongestRequest + 1, 'r'));
  flood.expect("say only \"reload\" can be asked for\nstatus 2\n");
  EXPECT_EQ(asked_, 0);
}

TEST_F(Control, TakesARequestInPieces) {
  answer_with(ReloadOutcome{0, {}, {"done"}});
  open();
  auto peer = connect();
  peer.send_in_pieces("reload\n", 1);
  peer.expect("say done\nstatus 0\n");
  peer.expect_end();
}

TEST_F(Control, SilenceIsNotWaitedForAndOthersAreServed) {
  answer_with(ReloadOutcome{});
  open({.connections = 2, .patience = 200ms});
  auto silent = connect();
  auto slow = connect();
  slow.send("rel");
  auto surplus = connect();
  silent.expect_end();  // no third one at a time: the oldest goes
  slow.expect_end();
  surplus.expect_end();
  std::vector<std::string> said;
  EXPECT_EQ(ask_reload(said), 0);
}

TEST_F(Control, AnAskerWhoLeavesIsForgotten) {
  open();
  {
    auto peer = connect();
    peer.send("reload\n");
    while (asked_ == 0) std::this_thread::yield();
  }
  answer_with(ReloadOutcome{0, {}, {"for the second"}});
  std::vector<std::string> said;
  const std::uint64_t gone = last_;
  EXPECT_EQ(ask_reload(said), 0);
  loop_.call([&] { control_->answer(gone, {}); });
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
    const auto second = ControlSocket::open(loop_.io, path_, [](std::uint64_t) {});
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
    const auto opened = ControlSocket::open(loop_.io, path_, [](std::uint64_t) {});
    ASSERT_FALSE(opened.has_value());
    EXPECT_NE(opened.error().find("File exists"), std::string::npos) << opened.error();
  });
  EXPECT_EQ(std::filesystem::file_size(path_), 8U);
}

TEST_F(Control, LeavesANameThatIsSomebodyElsesByNow) {
  open();
  std::filesystem::remove(path_);
  std::unique_ptr<ControlSocket> second;
  loop_.call([&] {
    auto opened = ControlSocket::open(loop_.io, path_, [](std::uint64_t) {});
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
  loop_.call([&] { control_->set_configuration("/etc/other.yaml"); });
  Answerer who;
  EXPECT_EQ(ask(path_, "reload", [](std::string_view) {}, &who), 0);
  EXPECT_EQ(who.configuration, "/etc/other.yaml");
  EXPECT_EQ(who.pid, std::to_string(::getpid()));
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
  const auto too_long = ask("/" + std::string(200, 'x'), "reload", [](std::string_view) {});
  EXPECT_FALSE(too_long.has_value());

  open();
  auto answer = std::async(std::launch::async, [&] { return ask_reload(said); });
  while (asked_ == 0) std::this_thread::yield();
  loop_.call([&] { control_.reset(); });
  const auto gone = answer.get();
  ASSERT_FALSE(gone.has_value());
  EXPECT_NE(gone.error().find("went away"), std::string::npos) << gone.error();
}

}  // namespace
}  // namespace bloomwall::proxy
