// SPDX-License-Identifier: Apache-2.0
#include "proxy/log/log_frame.h"

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <memory>
#include <string>

#include "base/handles.h"
#include "proxy/log/output_file.h"
#include "tests/proxy/log/scratch.h"

namespace bloomwall::proxy {
namespace {

using test::Scratch;

// The machine's log, for as long as it lives.
class LogSocket {
 public:
  explicit LogSocket(const std::string& path) : path_(path), fd_(::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0)) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    path.copy(address.sun_path, sizeof address.sun_path - 1);
    const timeval patience{.tv_sec = 20, .tv_usec = 0};
    ::setsockopt(fd_.get(), SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
    EXPECT_EQ(::bind(fd_.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address), 0)
        << std::strerror(errno);
  }
  ~LogSocket() { ::unlink(path_.c_str()); }
  LogSocket(const LogSocket&) = delete;
  LogSocket& operator=(const LogSocket&) = delete;
  std::string next() const {
    std::array<char, 65536> room{};
    const ssize_t size = ::recv(fd_.get(), room.data(), room.size(), 0);
    return size < 0 ? std::string("nothing came") : std::string(room.data(), static_cast<std::size_t>(size));
  }

 private:
  std::string path_;
  UniqueFd fd_;
};

std::string framed(LogFrame frame, std::string_view line, std::initializer_list<LogField> fields = {}) {
  std::string out;
  append_framed(out, frame, line, fields);
  return out;
}

TEST(LogFrame, IsKnownByTheTarget) {
  EXPECT_EQ(frame_of("journal"), LogFrame::journal);
  EXPECT_EQ(frame_of("syslog"), LogFrame::syslog);
  for (const char* const target : {"stdout", "off", "/var/log/journal", ""})
    EXPECT_EQ(frame_of(target), LogFrame::line);
}

TEST(LogFrame, ALineStaysAsItIs) { EXPECT_EQ(framed(LogFrame::line, "one\n", {{"ID", "7"}}), "one\n"); }

TEST(LogFrame, TheJournalGetsFieldsThatNobodyCanForge) {
  EXPECT_EQ(framed(LogFrame::journal, "{}\n", {{"ID", "7"}, {"GROUP", ""}, {"USER", "an na\nPRIORITY=0\x1fX=\x7f"}}),
            "PRIORITY=5\x1fSYSLOG_IDENTIFIER=bloomwall\x1f"
            "BLOOMWALL_ID=7\x1f"
            "BLOOMWALL_USER=an na?PRIORITY=0?X=?\x1f"
            "MESSAGE={}\x1f\n");
}

TEST(LogFrame, SyslogGetsPriorityAndProcess) {
  EXPECT_EQ(framed(LogFrame::syslog, "a\x1f line\n", {{"ID", "7"}}),
            "<29>bloomwall[" + std::to_string(::getpid()) + "]: a? line\n");
}

TEST(LogFrame, EachLineIsADatagram) {
  const Scratch scratch;
  const LogSocket log(scratch.path("log"));
  auto file = OutputFile::open_socket("journal", scratch.path("log"));
  ASSERT_TRUE(file.has_value()) << file.error();
  // In pieces, as rings give them.
  const std::array<std::string_view, 3> pieces{"A=1\x1f", "B=2\x1f\nC=3", "\x1f\n"};
  EXPECT_EQ(file->write(pieces).bytes, 9U);
  EXPECT_EQ(log.next(), "A=1\nB=2\n");
  const std::array<std::string_view, 2> rest{"C=3", "\x1f\n"};
  EXPECT_EQ(file->write(rest).bytes, 5U);
  EXPECT_EQ(log.next(), "C=3\n");
}

TEST(LogFrame, ALogThatWasStartedAnewGetsTheNextLine) {
  const Scratch scratch;
  auto log = std::make_unique<LogSocket>(scratch.path("log"));
  auto file = OutputFile::open_socket("syslog", scratch.path("log"));
  ASSERT_TRUE(file.has_value()) << file.error();
  log.reset();
  const std::array<std::string_view, 1> line{"<29>one\n"};
  const OutputFile::Written lost = file->write(line);
  EXPECT_EQ(lost.bytes, 0U);
  EXPECT_NE(lost.error, 0);
  log = std::make_unique<LogSocket>(scratch.path("log"));
  EXPECT_EQ(file->write(line).bytes, 8U);
  EXPECT_EQ(log->next(), "<29>one");
}

TEST(LogFrame, WhatNoDatagramHoldsIsLeftOut) {
  const Scratch scratch;
  const LogSocket log(scratch.path("log"));
  auto file = OutputFile::open_socket("syslog", scratch.path("log"));
  ASSERT_TRUE(file.has_value()) << file.error();
  const std::string large(std::size_t{64} << 20, 'x');
  const std::array<std::string_view, 2> pieces{large, "\nnext\n"};
  EXPECT_EQ(file->write(pieces).bytes, large.size() + 1);
  const std::array<std::string_view, 1> next{"next\n"};
  EXPECT_EQ(file->write(next).bytes, 5U);
  EXPECT_EQ(log.next(), "next");
}

TEST(LogFrame, SaysThatNobodyIsThere) {
  const Scratch scratch;
  const auto file = OutputFile::open_socket("journal", scratch.path("none"));
  ASSERT_FALSE(file.has_value());
  EXPECT_EQ(file.error(), "journal: No such file or directory");
}

}  // namespace
}  // namespace bloomwall::proxy
