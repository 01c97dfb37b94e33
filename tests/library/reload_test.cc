// Files are swapped while threads ask: what ThreadSanitizer should see.
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <array>

#include <atomic>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "tests/filter/policy/policy_maker.h"
#include "tests/library/library_maker.h"

namespace bloomwall::library {
namespace {

using filter::make_filter;
using filter::TempFolder;

// A new file in the place of the old one, as bloomwall-filter puts it there.
class ReplacedFile {
 public:
  ReplacedFile() { put(true); }
  void put(bool is_listed) {
    const auto fresh = folder_ / "new.bwf";
    make_filter(fresh, {.entries = {is_listed ? "S listed.test" : "S other.test"}, .file_id = ++made_});
    std::filesystem::rename(fresh, path());
  }
  std::filesystem::path path() const { return folder_ / "f.bwf"; }
  // How often this process has files of the folder mapped.
  int mapped() const {
    int count = 0;
    std::ifstream maps("/proc/self/maps");
    for (std::string line; std::getline(maps, line);) count += line.find(path().string()) != std::string::npos ? 1 : 0;
    return count;
  }

 private:
  TempFolder folder_;
  std::uint8_t made_ = 0;
};

// `check`: of bw_set().
void ask_during_reloads(const char* check) {
  ReplacedFile file;
  const OwnPolicy policy(bw_new());
  bw_add_filter(policy.get(), nullptr, file.path().c_str());
  bw_set(policy.get(), "check", check);
  ASSERT_EQ(bw_reload(policy.get()), 0) << bw_error_text();
  constexpr int kThreads = 4;
  std::atomic<bool> is_over = false;
  std::atomic<int> wrong = 0;
  std::array<std::atomic<std::uint64_t>, kThreads> asked{};
  std::vector<std::thread> threads;
  for (std::atomic<std::uint64_t>& count : asked) {
    threads.emplace_back([&] {
      constexpr std::string_view kLines = "listed.test\nhttp://www.listed.test/a\nfree.test\n";
      const OwnAnswer answer(bw_answer_new());
      while (!is_over) {
        const int verdict = bw_ask(policy.get(), BW_URL, "listed.test", 11, answer.get());
        const bool is_blocked = verdict == BW_BLOCKED;
        const std::string_view expression = bw_answer_expression(answer.get(), nullptr);
        if (verdict != BW_ALLOWED && !is_blocked) ++wrong;
        if (expression != (is_blocked ? "listed.test" : "")) ++wrong;
        std::array<unsigned char, 3> verdicts{};
        std::size_t lines = 0;
        bw_ask_lines(policy.get(), BW_URL, kLines.data(), kLines.size(), verdicts.data(), verdicts.size(), &lines);
        if (lines != 3 || verdicts[0] != verdicts[1] || verdicts[2] != BW_ALLOWED) ++wrong;
        ++count;
      }
    });
  }
  for (int round = 0; round < 20; ++round) {
    const bool is_listed = round % 2 == 1;
    file.put(is_listed);
    EXPECT_EQ(bw_reload(policy.get()), 0) << bw_error_text();
    EXPECT_EQ(ask(policy, BW_URL, "listed.test"), is_listed ? BW_BLOCKED : BW_ALLOWED);
    for (const std::atomic<std::uint64_t>& count : asked) {  // each has asked the new file before the next one comes
      const std::uint64_t before = count;
      while (count < before + 2) std::this_thread::yield();
    }
  }
  is_over = true;
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0);
}

TEST(LibraryReload, AnswersComeFromOneFileOrTheOther) { ask_during_reloads("load"); }

TEST(LibraryReload, AnswersComeFromOneFileOrTheOtherWherePagesAreComparedAsTheyAreRead) { ask_during_reloads("read"); }

TEST(LibraryReload, FreesTheFormerFiles) {
  ReplacedFile file;
  const OwnPolicy policy(bw_open(file.path().c_str()));
  ASSERT_NE(policy, nullptr) << bw_error_text();
  const int before = file.mapped();
  EXPECT_GT(before, 0);
  for (int round = 0; round < 5; ++round) {
    file.put(false);
    ASSERT_EQ(bw_reload(policy.get()), 0) << bw_error_text();
    EXPECT_EQ(file.mapped(), before);
  }
}

TEST(LibraryReload, ReloadsOfSeveralThreadsRunOneAfterTheOther) {
  ReplacedFile file;
  const OwnPolicy policy(bw_open(file.path().c_str()));
  ASSERT_NE(policy, nullptr) << bw_error_text();
  std::atomic<int> wrong = 0;
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&] {
      for (int round = 0; round < 20; ++round) {
        if (bw_reload(policy.get()) != 0 || ask(policy, BW_URL, "listed.test") != BW_BLOCKED) ++wrong;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0);
}

TEST(LibraryErrorsOfThreads, EachThreadHasItsOwn) {
  const OwnPolicy policy(bw_new());
  EXPECT_EQ(ask(policy, BW_URL, "a"), BW_ERROR_NOT_LOADED);
  int other = -1;
  std::thread([&] { other = bw_error_code(); }).join();
  EXPECT_EQ(other, 0);
  EXPECT_EQ(bw_error_code(), BW_ERROR_NOT_LOADED);
}

}  // namespace
}  // namespace bloomwall::library
