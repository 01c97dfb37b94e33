// SPDX-License-Identifier: Apache-2.0
#include "proxy/log/output_file.h"

#include <gtest/gtest.h>
#include <limits.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include <array>
#include <cerrno>

#include "tests/proxy/log/scratch.h"

namespace bloomwall::proxy {
namespace {

using test::Fifo;
using test::Scratch;

OutputFile::Written write(OutputFile& file, std::initializer_list<std::string_view> pieces) {
  return file.write(std::span(pieces.begin(), pieces.size()));
}

TEST(OutputFile, AppendsToAFileThatOthersMayNotRead) {
  const Scratch scratch;
  auto file = OutputFile::open(scratch.path("a.log"));
  ASSERT_TRUE(file.has_value()) << file.error();
  EXPECT_EQ(write(*file, {"one\n", "two\n"}).bytes, 8U);
  auto again = OutputFile::open(scratch.path("a.log"));
  ASSERT_TRUE(again.has_value());
  EXPECT_EQ(write(*again, {"three\n"}).bytes, 6U);
  EXPECT_EQ(scratch.read("a.log"), "one\ntwo\nthree\n");
  struct stat status{};
  ASSERT_EQ(::stat(scratch.path("a.log").c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 07U, 0U);
}

TEST(OutputFile, SaysWhichFileAndWhy) {
  const Scratch scratch;
  const auto missing = OutputFile::open(scratch.path("none/a.log"));
  ASSERT_FALSE(missing.has_value());
  EXPECT_EQ(missing.error(), scratch.path("none/a.log") + ": No such file or directory");
  const auto folder = OutputFile::open(scratch.path(""));
  ASSERT_FALSE(folder.has_value());
  EXPECT_NE(folder.error().find("Is a directory"), std::string::npos);
  const std::string fifo = scratch.path("fifo");
  ASSERT_EQ(::mkfifo(fifo.c_str(), 0600), 0);
  EXPECT_FALSE(OutputFile::open(fifo).has_value()) << "nobody reads it: an error, not a wait";
}

TEST(OutputFile, ReopensByName) {
  const Scratch scratch;
  auto file = OutputFile::open(scratch.path("a.log"));
  ASSERT_TRUE(file.has_value());
  write(*file, {"old\n"});
  std::filesystem::rename(scratch.path("a.log"), scratch.path("a.log.1"));
  write(*file, {"still old\n"});
  ASSERT_TRUE(file->reopen().has_value());
  write(*file, {"new\n"});
  EXPECT_EQ(scratch.read("a.log.1"), "old\nstill old\n");
  EXPECT_EQ(scratch.read("a.log"), "new\n");
}

TEST(OutputFile, KeepsTheOldFileWhereTheNewOneCannotBeOpened) {
  const Scratch scratch;
  std::filesystem::create_directory(scratch.path("logs"));
  auto file = OutputFile::open(scratch.path("logs/a.log"));
  ASSERT_TRUE(file.has_value());
  std::filesystem::rename(scratch.path("logs"), scratch.path("moved"));
  EXPECT_FALSE(file->reopen().has_value());
  EXPECT_EQ(write(*file, {"kept\n"}).bytes, 5U);
  EXPECT_EQ(scratch.read("moved/a.log"), "kept\n");
}

TEST(OutputFile, AFullPipeIsNoWait) {
  const Scratch scratch;
  const Fifo fifo(scratch.path("fifo"));
  auto file = OutputFile::open(scratch.path("fifo"));
  ASSERT_TRUE(file.has_value());
  std::size_t written = 0;
  OutputFile::Written last;
  const std::string line = std::string(999, 'x') + "\n";
  while ((last = write(*file, {line})).error == 0) written += last.bytes;
  EXPECT_EQ(last.error, EAGAIN);
  EXPECT_GE(written, 16 * line.size());
  EXPECT_EQ(fifo.read_all(std::chrono::milliseconds(0)).size(), written);
  EXPECT_EQ(write(*file, {line}).bytes, line.size());
}

TEST(OutputFile, PiecesIntoAPipeEndWithALineWhereOneEnds) {
  const Scratch scratch;
  const Fifo fifo(scratch.path("fifo"));
  auto file = OutputFile::open(scratch.path("fifo"));
  ASSERT_TRUE(file.has_value());
  const std::string half(PIPE_BUF / 2, 'x');
  EXPECT_EQ(write(*file, {half, "a\n", half, "b\n"}).bytes, half.size() + 2);
  const std::string longer(2 * PIPE_BUF, 'y');
  EXPECT_EQ(write(*file, {longer}).bytes, static_cast<std::size_t>(PIPE_BUF));
}

TEST(OutputFile, AReaderThatLeavesIsAnError) {
  const Scratch scratch;
  auto fifo = std::make_unique<Fifo>(scratch.path("fifo"));
  auto file = OutputFile::open(scratch.path("fifo"));
  ASSERT_TRUE(file.has_value());
  fifo.reset();
  struct sigaction ignore{}, before{};
  ignore.sa_handler = SIG_IGN;
  ::sigaction(SIGPIPE, &ignore, &before);
  EXPECT_EQ(write(*file, {"x\n"}).error, EPIPE);
  ::sigaction(SIGPIPE, &before, nullptr);
}

TEST(OutputFile, AFullDiskIsAnError) {
  auto full = OutputFile::open("/dev/full");
  if (!full) GTEST_SKIP() << "needs /dev/full: " << full.error();
  EXPECT_EQ(write(*full, {"x\n"}).error, ENOSPC);
}

TEST(OutputFile, AFullSocketIsNoWait) {
  std::array<int, 2> pair{};
  ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair.data()), 0);
  const int before = ::fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 10);
  ASSERT_EQ(::dup2(pair[0], STDOUT_FILENO), STDOUT_FILENO);  // as systemd does for a service
  auto file = OutputFile::open("stdout");
  OutputFile::Written last;
  std::size_t written = 0;
  const std::string line(65536, 'x');
  for (int i = 0; i < 1000 && last.error == 0; ++i) {
    last = write(*file, {line});
    written += last.bytes;
  }
  ::dup2(before, STDOUT_FILENO);
  ::close(before);
  EXPECT_EQ(last.error, EAGAIN);
  EXPECT_GT(written, 0U);
  ::close(pair[0]);
  ::close(pair[1]);
}

TEST(OutputFile, KnowsTheJournalByItsInode) {
  const Scratch scratch;
  auto file = OutputFile::open(scratch.path("a.log"));
  ASSERT_TRUE(file.has_value());
  struct stat status{};
  ASSERT_EQ(::fstat(file->fd(), &status), 0);
  EXPECT_FALSE(file->is_journal());
  ::setenv("JOURNAL_STREAM", (std::to_string(status.st_dev) + ":" + std::to_string(status.st_ino)).c_str(), 1);
  EXPECT_TRUE(file->is_journal());
  ::setenv("JOURNAL_STREAM", (std::to_string(status.st_dev) + ":" + std::to_string(status.st_ino + 1)).c_str(), 1);
  EXPECT_FALSE(file->is_journal());
  ::unsetenv("JOURNAL_STREAM");
}

}  // namespace
}  // namespace bloomwall::proxy
