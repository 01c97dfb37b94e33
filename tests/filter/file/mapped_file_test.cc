// SPDX-License-Identifier: Apache-2.0
#include "filter/file/mapped_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <thread>

#include <gtest/gtest.h>

#include "tests/filter/file/sample_filter.h"

namespace bloomwall::filter {
namespace {

using testing_support::TempDir;
using testing_support::write_bytes;

constexpr std::size_t kPage = 4096;

std::vector<std::byte> pages_of_ones(std::size_t pages) { return std::vector<std::byte>(pages * kPage, std::byte{1}); }

// One byte of each page.
std::size_t sum_pages(std::span<const std::byte> bytes) {
  std::size_t sum = 0;
  for (std::size_t at = 0; at < bytes.size(); at += kPage) {
    sum += static_cast<std::size_t>(*const_cast<const volatile std::byte*>(&bytes[at]));
  }
  return sum;
}

TEST(MappedFileTest, HoldsTheBytesOfTheFile) {
  const TempDir dir;
  write_bytes(dir / "a", pages_of_ones(3));
  const auto map = MappedFile::open(dir / "a");
  ASSERT_TRUE(map);
  EXPECT_EQ((*map)->bytes().size(), 3 * kPage);
  EXPECT_EQ(sum_pages((*map)->bytes()), 3U);
  EXPECT_FALSE((*map)->lost());
  std::array<std::byte, 10> end{};
  EXPECT_EQ(*(*map)->read_at(3 * kPage - 4, end), 4U);
  EXPECT_EQ(end[3], std::byte{1});
}

TEST(MappedFileTest, AnEmptyFileIsAnEmptySpan) {
  const TempDir dir;
  write_bytes(dir / "a", {});
  const auto map = MappedFile::open(dir / "a");
  ASSERT_TRUE(map);
  EXPECT_TRUE((*map)->bytes().empty());
  EXPECT_FALSE((*map)->lost());
}

TEST(MappedFileTest, AFileThatShrinksIsLostAndReadsAsZeros) {
  const TempDir dir;
  write_bytes(dir / "a", pages_of_ones(64));
  write_bytes(dir / "b", pages_of_ones(8));
  const auto map = MappedFile::open(dir / "a");
  const auto other = MappedFile::open(dir / "b");
  ASSERT_TRUE(map && other);
  ASSERT_EQ(truncate((dir / "a").c_str(), 16 * kPage), 0);
  EXPECT_EQ(sum_pages((*map)->bytes()), 16U);
  EXPECT_TRUE((*map)->lost());
  EXPECT_FALSE((*other)->lost()) << "another file has nothing to do with it";
  EXPECT_EQ(sum_pages((*other)->bytes()), 8U);
}

TEST(MappedFileTest, ManyReadersOfAShrinkingFileGoOn) {
  const TempDir dir;
  for (int round = 0; round < 20; ++round) {
    write_bytes(dir / "a", pages_of_ones(256));
    const auto map = MappedFile::open(dir / "a");
    ASSERT_TRUE(map);
    std::atomic<int> ready{0};
    std::atomic<bool> truncated{false};
    const auto read_to_the_end = [&] {
      ++ready;
      std::size_t sum = 0;
      while (!truncated) sum += sum_pages((*map)->bytes());
      sum = sum_pages((*map)->bytes());
      EXPECT_EQ(sum, 0U);
      EXPECT_TRUE((*map)->lost());
    };
    std::jthread first(read_to_the_end);
    std::jthread second(read_to_the_end);
    while (ready < 2) std::this_thread::yield();
    ASSERT_EQ(truncate((dir / "a").c_str(), 0), 0);
    truncated = true;
  }
}

TEST(MappedFileTest, AMappingThatIsGoneIsNoLongerGuarded) {
  const TempDir dir;
  write_bytes(dir / "a", pages_of_ones(4));
  for (std::size_t i = 0; i < 3 * kMaxGuardedMappings; ++i) ASSERT_TRUE(MappedFile::open(dir / "a")) << i;
}

TEST(MappedFileTest, TooManyMappingsAreAnError) {
  const TempDir dir;
  write_bytes(dir / "a", pages_of_ones(1));
  const auto memory = pages_of_ones(1);
  std::vector<std::unique_ptr<BusGuard>> guards;
  while (guards.size() < kMaxGuardedMappings) {
    auto guard = std::make_unique<BusGuard>(memory.data(), memory.size());
    if (!guard->guarded()) break;
    guards.push_back(std::move(guard));
  }
  const auto map = MappedFile::open(dir / "a");
  ASSERT_FALSE(map);
  EXPECT_EQ(map.error().code, Errc::limit);
  guards.clear();
  EXPECT_TRUE(MappedFile::open(dir / "a"));
}

// In a child: a SIGBUS that is not ours. Returns how the child ended.
template <typename Before>
int foreign_fault(const std::filesystem::path& path, Before before) {
  const pid_t child = fork();
  if (child == 0) {
    before();
    const auto guarded = MappedFile::open(path);
    const int fd = open(path.c_str(), O_RDWR);
    void* const raw = mmap(nullptr, kPage, PROT_READ, MAP_SHARED, fd, 0);
    if (!guarded || raw == MAP_FAILED || ftruncate(fd, 0) != 0) _exit(1);
    sum_pages({static_cast<const std::byte*>(raw), kPage});
    _exit(2);
  }
  int status = 0;
  EXPECT_EQ(waitpid(child, &status, 0), child);
  return status;
}

TEST(MappedFileTest, AFaultElsewhereGoesToTheHandlerBefore) {
  const TempDir dir;
  write_bytes(dir / "a", pages_of_ones(1));
  const int status = foreign_fault(dir / "a", [] {
    struct sigaction action{};
    action.sa_handler = [](int) { _exit(42); };
    sigaction(SIGBUS, &action, nullptr);
  });
  ASSERT_TRUE(WIFEXITED(status));
  // Where this process had installed the guard before the fork, the child's own handler replaced it: 42 either way.
  EXPECT_EQ(WEXITSTATUS(status), 42);
}

TEST(MappedFileTest, AFaultElsewhereEndsTheProcessAsWithoutUs) {
  const TempDir dir;
  write_bytes(dir / "a", pages_of_ones(1));
  const int status = foreign_fault(dir / "a", [] {});
#ifdef BLOOMWALL_SANITIZED
  EXPECT_NE(status, 0);  // the sanitizer's handler was there before us and reports it
#else
  ASSERT_TRUE(WIFSIGNALED(status));
  EXPECT_EQ(WTERMSIG(status), SIGBUS);
#endif
}

}  // namespace
}  // namespace bloomwall::filter
