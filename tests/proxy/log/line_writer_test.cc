// SPDX-License-Identifier: Apache-2.0
#include "proxy/log/line_writer.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>

#include <condition_variable>
#include <mutex>
#include <thread>

#include "tests/proxy/log/scratch.h"

namespace bloomwall::proxy {
namespace {

using namespace std::chrono_literals;
using test::Fifo;
using test::lines_of;
using test::Scratch;

// What the writer says of its troubles.
class Notices {
 public:
  LineWriter::Notice sink() {
    return [this](const std::string& what) {
      const std::lock_guard lock(mutex_);
      all_.push_back(what);
      changed_.notify_all();
    };
  }
  std::vector<std::string> wait_for(std::size_t count) {
    std::unique_lock lock(mutex_);
    changed_.wait_for(lock, 20s, [&] { return all_.size() >= count; });
    return all_;
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<std::string> all_;
};

struct Opened {
  explicit Opened(const std::string& target, std::size_t ring_bytes = 65536)
      : writer(std::move(*LineWriter::open(target, ring_bytes, notices.sink(), {20ms, 50ms, 100ms}))) {}
  Notices notices;
  std::unique_ptr<LineWriter> writer;
};

TEST(LineWriter, WritesEveryLineOnce) {
  const Scratch scratch;
  Opened log(scratch.path("a.log"));
  LineWriter::Ring* ring = log.writer->add_ring();
  std::string want;
  for (int i = 0; i < 10'000; ++i) {
    const std::string line = "line " + std::to_string(i) + "\n";
    want += line;
    log.writer->push(ring, line);
    if (i % 500 == 0) {
      ASSERT_TRUE(log.writer->flush(20s));
    }
  }
  ASSERT_TRUE(log.writer->flush(20s));
  EXPECT_EQ(scratch.read("a.log"), want);
  EXPECT_EQ(log.writer->written(), 10'000U);
  EXPECT_EQ(log.writer->dropped(), 0U);
}

TEST(LineWriter, LinesOfManyThreadsStayWholeAndInTheirOrder) {
  const Scratch scratch;
  Opened log(scratch.path("a.log"), std::size_t{1} << 20);
  constexpr int kThreads = 4, kLines = 5000;
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t, ring = log.writer->add_ring()] {
      for (int i = 0; i < kLines; ++i) log.writer->push(ring, std::to_string(t) + " " + std::to_string(i) + "\n");
    });
  }
  for (int i = 0; i < 200; ++i) log.writer->flush(20s);  // it writes while they push
  for (auto& thread : threads) thread.join();
  ASSERT_TRUE(log.writer->flush(20s));
  ASSERT_EQ(log.writer->dropped(), 0U);
  std::vector<int> next(kThreads, 0);
  for (const auto& line : lines_of(scratch.read("a.log"))) {
    const auto t = static_cast<std::size_t>(line.at(0) - '0');
    ASSERT_LT(t, next.size()) << line;
    ASSERT_EQ(line, std::to_string(t) + " " + std::to_string(next[t]));
    ++next[t];
  }
  EXPECT_EQ(next, std::vector<int>(kThreads, kLines));
}

TEST(LineWriter, APipeThatNobodyReadsHoldsNobodyUpAndLossesAreCounted) {
  const Scratch scratch;
  const Fifo fifo(scratch.path("fifo"));
  fifo.shrink();
  Opened log(scratch.path("fifo"));
  LineWriter::Ring* ring = log.writer->add_ring();
  const std::string line = std::string(99, 'x') + "\n";
  constexpr std::uint64_t kLines = 100'000;  // 10 MB through a ring of 64 KiB
  for (std::uint64_t i = 0; i < kLines; ++i) log.writer->push(ring, line);
  EXPECT_GT(log.writer->dropped(), kLines / 2);
  EXPECT_FALSE(log.writer->flush(50ms));
  EXPECT_EQ(log.notices.wait_for(1).at(0),
            scratch.path("fifo") + ": accepts lines too slowly; lines are dropped while the queue is full");

  std::string all = fifo.read_all(500ms);
  ASSERT_TRUE(log.writer->flush(20s));
  all += fifo.read_all(0ms);
  EXPECT_EQ(all.size() / line.size(), log.writer->written());
  EXPECT_EQ(log.writer->written() + log.writer->dropped(), kLines);
  for (const auto& got : lines_of(all)) ASSERT_EQ(got + "\n", line) << "lines stay whole";
  EXPECT_EQ(log.notices.wait_for(2).at(1),
            scratch.path("fifo") + ": accepts lines again; " + std::to_string(log.writer->dropped()) + " were dropped");
}

TEST(LineWriter, AFullDiskIsSaidOnceAndCloseEndsInItsBound) {
  if (!std::filesystem::exists("/dev/full")) GTEST_SKIP() << "needs /dev/full";
  Opened log("/dev/full");
  LineWriter::Ring* ring = log.writer->add_ring();
  for (int i = 0; i < 10; ++i) log.writer->push(ring, "line\n");
  EXPECT_NE(log.notices.wait_for(1).at(0).find("No space left on device"), std::string::npos);
  const auto begin = std::chrono::steady_clock::now();
  log.writer->close(100ms);
  EXPECT_LT(std::chrono::steady_clock::now() - begin, 10s);
  EXPECT_EQ(log.writer->dropped(), 10U);
  EXPECT_EQ(log.notices.wait_for(1).size(), 1U);
}

// No room, as on a full disk, and then room again: what waited is written, whole and in order.
TEST(LineWriter, AFileWithoutRoomGetsItsLinesOnceThereIsSome) {
  ::signal(SIGXFSZ, SIG_IGN);
  const Scratch scratch;
  Opened log(scratch.path("a.log"));
  LineWriter::Ring* ring = log.writer->add_ring();
  rlimit saved{};
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &saved), 0);
  const rlimit small{.rlim_cur = 1003, .rlim_max = saved.rlim_max};  // in the middle of a line
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &small), 0);
  std::string want;
  for (int i = 1000; i < 2000; ++i) {
    const std::string line = std::to_string(i) + "\n";
    log.writer->push(ring, line);
    want += line;
  }
  const auto told = log.notices.wait_for(1);
  log.writer->reopen();  // the very same file: the line that is half written goes on there
  EXPECT_FALSE(log.writer->flush(100ms));
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &saved), 0);
  EXPECT_NE(told.at(0).find("File too large"), std::string::npos) << told.at(0);
  ASSERT_TRUE(log.writer->flush(20s));
  EXPECT_EQ(scratch.read("a.log"), want);
  EXPECT_EQ(log.writer->dropped(), 0U);
  EXPECT_NE(log.notices.wait_for(2).at(1).find("accepts lines again; 0 were dropped"), std::string::npos);
}

TEST(LineWriter, LinesBeforeAReopenStayInTheOldFile) {
  const Scratch scratch;
  Opened log(scratch.path("a.log"));
  LineWriter::Ring* ring = log.writer->add_ring();
  for (int i = 0; i < 20; ++i) {
    log.writer->push(ring, "old " + std::to_string(i) + "\n");
    std::filesystem::rename(scratch.path("a.log"), scratch.path("a.log." + std::to_string(i)));
    log.writer->reopen();
    ASSERT_TRUE(log.writer->flush(20s));
    EXPECT_EQ(scratch.read("a.log." + std::to_string(i)), "old " + std::to_string(i) + "\n");
    EXPECT_EQ(scratch.read("a.log"), "");
  }
}

TEST(LineWriter, GoesToAnotherTargetOrSaysWhyNot) {
  const Scratch scratch;
  Opened log(scratch.path("a.log"));
  LineWriter::Ring* ring = log.writer->add_ring();
  log.writer->reopen(scratch.path("none/b.log"));
  log.writer->push(ring, "one\n");
  ASSERT_TRUE(log.writer->flush(20s));
  EXPECT_NE(log.notices.wait_for(1).at(0).find("none/b.log: No such file or directory"), std::string::npos);
  EXPECT_EQ(scratch.read("a.log"), "one\n");
  log.writer->reopen(scratch.path("b.log"));
  log.writer->push(ring, "two\n");
  ASSERT_TRUE(log.writer->flush(20s));
  EXPECT_EQ(scratch.read("b.log") + scratch.read("a.log").substr(4), "two\n");
}

TEST(LineWriter, AHalfWrittenLineIsNotContinuedInAnotherFile) {
  const Scratch scratch;
  const Fifo fifo(scratch.path("fifo"));
  fifo.shrink();
  Opened log(scratch.path("fifo"));
  LineWriter::Ring* ring = log.writer->add_ring();
  log.writer->push(ring, std::string(9999, 'x') + "\n");  // longer than the pipe
  ASSERT_TRUE(fifo.has_bytes(20s));
  EXPECT_FALSE(log.writer->flush(50ms));
  log.writer->push(ring, "next\n");
  log.writer->reopen(scratch.path("b.log"));
  ASSERT_TRUE(log.writer->flush(20s));
  EXPECT_EQ(scratch.read("b.log"), "next\n");
  EXPECT_EQ(log.writer->dropped(), 1U);
}

TEST(LineWriter, ALineLongerThanTheRingIsDropped) {
  const Scratch scratch;
  Opened log(scratch.path("a.log"), 64);
  LineWriter::Ring* ring = log.writer->add_ring();
  log.writer->push(ring, std::string(100, 'x') + "\n");
  log.writer->push(nullptr, "no ring\n");
  log.writer->push(ring, "short\n");
  ASSERT_TRUE(log.writer->flush(20s));
  EXPECT_EQ(scratch.read("a.log"), "short\n");
  EXPECT_EQ(log.writer->dropped(), 2U);
}

TEST(LineWriter, RingsAreBounded) {
  const Scratch scratch;
  Opened log(scratch.path("a.log"), 64);
  for (std::size_t i = 0; i < LineWriter::kMostRings; ++i) ASSERT_NE(log.writer->add_ring(), nullptr);
  EXPECT_EQ(log.writer->add_ring(), nullptr);
}

TEST(LineWriter, CloseWritesWhatWaits) {
  const Scratch scratch;
  {
    Opened log(scratch.path("a.log"));
    log.writer->push(log.writer->add_ring(), "last\n");
  }
  EXPECT_EQ(scratch.read("a.log"), "last\n");
}

}  // namespace
}  // namespace bloomwall::proxy
