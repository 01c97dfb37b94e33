// The real program: pipes, signals, and death at any moment.
// SPDX-License-Identifier: Apache-2.0
#include <fcntl.h>
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <spawn.h>
#include <sys/inotify.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <csignal>
#include <ctime>
#include <fstream>
#include <random>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "filter/file/filter_file.h"
#include "filter/policy/query.h"
#include "tests/support/temp_dir.h"

extern char** environ;

namespace bloomwall::filter {
namespace {

using std::chrono::microseconds;
using test::TempDir;
using testing::HasSubstr;

const std::string kProgram = BLOOMWALL_BINARY_DIR "/bloomwall-filter";
constexpr auto kPatience = std::chrono::seconds(60);

struct Shell {
  int status = -1;
  std::string out;
};

// `command` in bash, with $F for the program and everything it prints.
Shell bash(const std::string& command) {
  setenv("F", kProgram.c_str(), 1);
  const std::string line = "exec 2>&1; bash -c '" + command + "'";
  FILE* pipe = popen(line.c_str(), "r");
  Shell out;
  std::array<char, 4096> bytes{};
  while (const std::size_t n = std::fread(bytes.data(), 1, bytes.size(), pipe)) out.out.append(bytes.data(), n);
  const int status = pclose(pipe);
  out.status = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  return out;
}

// The program as a child; dies with this object.
class Child {
 public:
  Child(const std::vector<std::string>& arguments, int input) {
    std::vector<char*> argv{const_cast<char*>(kProgram.c_str())};
    for (const std::string& argument : arguments) argv.push_back(const_cast<char*>(argument.c_str()));
    argv.push_back(nullptr);
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    if (input >= 0) posix_spawn_file_actions_adddup2(&actions, input, STDIN_FILENO);
    posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
    posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
    EXPECT_EQ(posix_spawn(&pid_, kProgram.c_str(), &actions, nullptr, argv.data(), environ), 0);
    posix_spawn_file_actions_destroy(&actions);
    watch_ = static_cast<int>(syscall(SYS_pidfd_open, pid_, 0));
  }
  ~Child() {
    if (pid_ > 0) {
      kill(SIGKILL);
      wait();
    }
    close(watch_);
  }
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;

  void kill(int signal) const { ::kill(pid_, signal); }
  // Waits for the end, but no longer than `bound`; true where it ended.
  bool ends_within(microseconds bound) const {
    pollfd waiting{.fd = watch_, .events = POLLIN, .revents = 0};
    const timespec time{.tv_sec = bound.count() / 1'000'000, .tv_nsec = bound.count() % 1'000'000 * 1000};
    return ppoll(&waiting, 1, &time, nullptr) > 0;
  }
  // Exit status, or 128 + signal.
  int wait() {
    EXPECT_TRUE(ends_within(kPatience));
    int status = 0;
    waitpid(std::exchange(pid_, 0), &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  }

 private:
  pid_t pid_ = 0;
  int watch_ = -1;
};

std::string hosts(const std::string& prefix, int count) {
  std::string text;
  for (int i = 0; i < count; ++i) text += fmt::format("{}{}.example\n", prefix, i);
  return text;
}

std::set<std::string> names_in(const std::filesystem::path& folder) {
  std::set<std::string> out;
  for (const auto& item : std::filesystem::directory_iterator(folder)) out.insert(item.path().filename().string());
  return out;
}

class BinaryTest : public testing::Test {
 protected:
  std::string path(const std::string& name) const { return (dir_.path() / name).string(); }
  TempDir dir_;
};

TEST_F(BinaryTest, ListsComeThroughAPipeAndAnswersGoThroughOne) {
  const Shell built = bash("printf \"bad.example\\nworse.example\\n\" | gzip | $F build -q -o " + path("f.bwf") + " -");
  EXPECT_EQ(built.status, 0) << built.out;
  const Shell asked = bash("printf \"http://bad.example/x\\nhttp://ok.example/\\n\" | $F query " + path("f.bwf"));
  EXPECT_EQ(asked.status, 1);
  EXPECT_EQ(asked.out, "listed\thttp://bad.example/x\tbad.example\nclear\thttp://ok.example/\n");
}

TEST_F(BinaryTest, AReaderThatLeavesEndsTheQueryQuietly) {
  dir_.write("list.txt", "bad.example\n");
  ASSERT_EQ(bash("$F build -q -o " + path("f.bwf") + " " + path("list.txt")).status, 0);
  const Shell ran = bash("yes http://ok.example/ | $F query " + path("f.bwf") + " | head -n 1; echo ${PIPESTATUS[1]}");
  EXPECT_EQ(ran.out, "clear\thttp://ok.example/\n141\n");
}

TEST_F(BinaryTest, APersonWhoTypesGetsEachAnswerAtOnce) {
  dir_.write("list.txt", "bad.example\n");
  ASSERT_EQ(bash("$F build -q -o " + path("f.bwf") + " " + path("list.txt")).status, 0);
  const Shell ran =
      bash("coproc $F query " + path("f.bwf") +
           "; for u in bad.example ok.example; do echo $u >&${COPROC[1]}; read -t 20 -u ${COPROC[0]} answer; "
           "echo \"$answer\"; done");
  EXPECT_EQ(ran.out, "listed\tbad.example\tbad.example\nclear\tok.example\n");
}

TEST_F(BinaryTest, ASignalWhileItReadsEndsItAtOnce) {
  for (const int signal : {SIGINT, SIGTERM}) {
    std::array<int, 2> pipe{};
    ASSERT_EQ(::pipe2(pipe.data(), O_CLOEXEC), 0);
    Child child({"build", "-o", path("f.bwf"), "-"}, pipe[0]);
    EXPECT_FALSE(child.ends_within(microseconds(50'000))) << "waits for its list";
    child.kill(signal);
    EXPECT_EQ(child.wait(), 128 + signal);
    close(pipe[0]);
    close(pipe[1]);
    EXPECT_TRUE(names_in(dir_.path()).empty());
  }
}

// Waits until a temporary file appears in the folder.
class TempFileWatch {
 public:
  explicit TempFileWatch(const std::filesystem::path& folder) : fd_(inotify_init1(IN_CLOEXEC)) {
    inotify_add_watch(fd_, folder.c_str(), IN_CREATE);
  }
  ~TempFileWatch() { close(fd_); }
  TempFileWatch(const TempFileWatch&) = delete;
  TempFileWatch& operator=(const TempFileWatch&) = delete;
  bool wait() const {
    pollfd waiting{.fd = fd_, .events = POLLIN, .revents = 0};
    if (poll(&waiting, 1, 60'000) <= 0) return false;
    std::array<char, 4096> events{};
    return read(fd_, events.data(), events.size()) > 0;
  }

 private:
  int fd_;
};

TEST_F(BinaryTest, ASignalWhileItWritesLeavesNothingBehind) {
  dir_.write("list.txt", hosts("h", 60'000));
  int interrupted = 0;
  for (int i = 0; i < 5; ++i) {
    const int signal = i % 2 == 0 ? SIGTERM : SIGINT;
    const TempFileWatch watch(dir_.path());
    Child child({"build", "-q", "--measure", "3M", "-o", path("f.bwf"), path("list.txt")}, -1);
    ASSERT_TRUE(watch.wait());
    child.kill(signal);
    const int status = child.wait();
    EXPECT_TRUE(status == 128 + signal || status == 0) << status;
    interrupted += status != 0 ? 1 : 0;
    const auto names = names_in(dir_.path());
    EXPECT_EQ(names.size(), names.count("list.txt") + names.count("f.bwf")) << "a leftover";
  }
  EXPECT_GT(interrupted, 0) << "none came in time: the list is too small for this machine";
}

TEST_F(BinaryTest, AFileOverTheLimitOfSizeIsAnErrorThatLeavesNothingBehind) {
  dir_.write("list.txt", hosts("host", 100'000));
  const Shell ran = bash("ulimit -f 100; $F build -q -o " + path("f.bwf") + " " + path("list.txt"));
  EXPECT_EQ(ran.status, 2);
  EXPECT_THAT(ran.out, HasSubstr("File too large"));
  EXPECT_THAT(names_in(dir_.path()), testing::ElementsAre("list.txt"));
}

// kill -9 at random moments: the target is the old file whole or the new one whole, and the next build that ends leaves
// nothing else behind.
TEST_F(BinaryTest, KillAtAnyMomentLeavesTheOldFileOrTheNewOneWhole) {
  constexpr unsigned kSeed = 20261121;
  constexpr int kRounds = 36;
  RecordProperty("seed", static_cast<int>(kSeed));
  std::cout << "seed " << kSeed << '\n';
  std::mt19937 random(kSeed);
  const std::array lists{dir_.write("a.txt", hosts("a", 30'000)).string(),
                         dir_.write("b.txt", hosts("b", 30'000)).string()};
  const auto command = [&](std::size_t which) {
    return std::vector<std::string>{"build", "-q", "-o", path("f.bwf"), lists[which]};
  };
  const auto started = std::chrono::steady_clock::now();
  ASSERT_EQ(Child(command(0), -1).wait(), 0);
  const auto whole = std::chrono::duration_cast<microseconds>(std::chrono::steady_clock::now() - started);

  std::size_t holds = 0;  // whose entries the target has
  int killed = 0;
  int replaced = 0;
  Canonicaliser canonicaliser;
  for (int round = 0; round < kRounds; ++round) {
    const std::size_t next = 1 - holds;
    {
      Child child(command(next), -1);
      const microseconds moment(std::uniform_int_distribution<std::int64_t>(0, whole.count() * 11 / 10)(random));
      if (!child.ends_within(moment)) child.kill(SIGKILL);
      killed += child.wait() != 0 ? 1 : 0;
    }
    const auto file = FilterFile::open(path("f.bwf"));
    ASSERT_TRUE(file) << "round " << round << ": " << file.error().text();
    const auto intact = (*file)->verify(FilterFile::Depth::tampering);
    ASSERT_TRUE(intact) << "round " << round << ": " << intact.error().text();
    const FilterQuery query(**file);
    const bool has_a = query.url(canonicaliser.url("a29999.example")).has_value();
    const bool has_b = query.url(canonicaliser.url("b29999.example")).has_value();
    ASSERT_NE(has_a, has_b) << "round " << round;
    replaced += has_a == (holds == 0) ? 0 : 1;
    holds = has_a ? 0 : 1;
    if (round % 6 == 5) {
      ASSERT_EQ(Child(command(holds), -1).wait(), 0);
      ASSERT_EQ(names_in(dir_.path()), (std::set<std::string>{"a.txt", "b.txt", "f.bwf"})) << "round " << round;
    }
  }
  EXPECT_GT(killed, kRounds / 3) << "most moments lie within the build";
  std::cout << killed << " of " << kRounds << " killed, " << replaced << " replaced\n";
}

}  // namespace
}  // namespace bloomwall::filter
