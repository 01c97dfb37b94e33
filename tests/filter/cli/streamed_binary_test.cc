// The real program while it streams: killed, stopped, short of memory. Its input is a pipe that the test holds, so that
// it is at work for as long as the test wants.
// SPDX-License-Identifier: Apache-2.0
#include <fcntl.h>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <spawn.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "filter/file/filter_file.h"
#include "tests/support/temp_dir.h"

extern char** environ;

namespace bloomwall::filter {
namespace {

using test::TempDir;

pid_t start(std::vector<std::string> arguments) {
  const std::string program = BLOOMWALL_BINARY_DIR "/bloomwall-filter";
  arguments.insert(arguments.begin(), program);
  std::vector<char*> argv;
  for (std::string& argument : arguments) argv.push_back(argument.data());
  argv.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
  pid_t pid = -1;
  EXPECT_EQ(posix_spawn(&pid, program.c_str(), &actions, nullptr, argv.data(), environ), 0);
  posix_spawn_file_actions_destroy(&actions);
  return pid;
}

struct Ended {
  int status = 0;
  std::uint64_t peak_bytes = 0;
};
Ended wait_for(pid_t pid) {
  Ended out;
  rusage usage{};
  EXPECT_EQ(wait4(pid, &out.status, 0, &usage), pid);
  out.peak_bytes = static_cast<std::uint64_t>(usage.ru_maxrss) * 1024;
  return out;
}

class StreamedBinaryTest : public testing::Test {
 protected:
  void SetUp() override {
    std::signal(SIGPIPE, SIG_IGN);
    dir_.write("key", std::string(64, 'a'));
    ASSERT_EQ(mkfifo(at("pipe").c_str(), 0600), 0);
  }
  std::string at(const std::string& name) const { return (dir_.path() / name).string(); }
  pid_t start_build(const std::string& list) const {
    return start({"build", "-q", "--raw", "-o", at("out.bwf"), "--series-key", at("key"), "--entries", "1M",
                  "--threads", "2", "--ram", "16MB", list});
  }
  // Returns once the program has opened its list, which it does after it made its temporary file.
  int open_pipe() const {
    const int fd = open(at("pipe").c_str(), O_WRONLY | O_CLOEXEC);
    EXPECT_GE(fd, 0);
    return fd;
  }
  std::vector<std::string> temporary_files() const {
    std::vector<std::string> out;
    for (const auto& item : std::filesystem::directory_iterator(dir_.path())) {
      if (item.path().string().ends_with(".bwf-tmp")) out.push_back(item.path().filename().string());
    }
    return out;
  }
  void build_whole() const {
    dir_.write("list.txt", "one\ntwo\n");
    EXPECT_EQ(wait_for(start_build(at("list.txt"))).status, 0);
  }
  std::string target_bytes() const {
    std::ifstream file(at("out.bwf"), std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }
  TempDir dir_;
};

TEST_F(StreamedBinaryTest, KilledItLeavesTheTargetAloneAndTheNextBuildCleansUp) {
  build_whole();
  const std::string before = target_bytes();
  ASSERT_FALSE(before.empty());
  const pid_t pid = start_build(at("pipe"));
  const int fd = open_pipe();
  ASSERT_EQ(write(fd, "three\n", 6), 6);
  kill(pid, SIGKILL);
  EXPECT_TRUE(WIFSIGNALED(wait_for(pid).status));
  close(fd);
  EXPECT_TRUE(target_bytes() == before);
  EXPECT_EQ(temporary_files().size(), 1U);
  build_whole();
  EXPECT_TRUE(temporary_files().empty());
}

TEST_F(StreamedBinaryTest, StoppedItLeavesNothing) {
  const pid_t pid = start_build(at("pipe"));
  const int fd = open_pipe();
  ASSERT_EQ(temporary_files().size(), 1U);
  kill(pid, SIGTERM);
  close(fd);  // it notices when its input gives something, or ends
  const Ended ended = wait_for(pid);
  EXPECT_TRUE(WIFSIGNALED(ended.status) && WTERMSIG(ended.status) == SIGTERM) << ended.status;
  EXPECT_TRUE(temporary_files().empty());
  EXPECT_FALSE(std::filesystem::exists(at("out.bwf")));
}

TEST_F(StreamedBinaryTest, MoreKeysThanMemoryAreStreamedInRounds) {
  constexpr int kKeys = 1'000'000;  // six bytes each where they wait: as much as three rounds
  std::string text;
  for (int i = 0; i < kKeys; ++i) fmt::format_to(std::back_inserter(text), "{}\n", i);
  dir_.write("list.txt", text);
  const Ended ended = wait_for(start({"build", "-q", "--raw", "-o", at("out.bwf"), "--series-key", at("key"),
                                      "--entries", "1M", "--threads", "1", "--ram", "8500kB", at("list.txt")}));
  ASSERT_EQ(ended.status, 0);
#ifndef BLOOMWALL_SANITIZED  // whose own memory would be measured
  // What the program itself takes, with its libraries, comes on top.
  EXPECT_LT(ended.peak_bytes, 40'000'000U);
#endif
  const auto file = FilterFile::open(at("out.bwf"));
  ASSERT_TRUE(file);
  const SectionView raw = (*file)->raw();
  for (int i = 0; i < kKeys; i += 97) {
    ASSERT_TRUE(raw.test(raw.place((*file)->keys().raw(std::to_string(i))))) << i;
  }
}

}  // namespace
}  // namespace bloomwall::filter
