// A set that grows, through the C calls.
// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <fstream>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "include/bloomwall.h"
#include "tests/support/temp_dir.h"

namespace bloomwall::library {
namespace {

using testing::HasSubstr;

struct FreeSeen {
  void operator()(bw_seen* seen) const noexcept { bw_seen_free(seen); }
};
using OwnSeen = std::unique_ptr<bw_seen, FreeSeen>;

int add(const OwnSeen& seen, std::string_view text) { return bw_seen_add(seen.get(), text.data(), text.size()); }
int has(const OwnSeen& seen, std::string_view text) { return bw_seen_has(seen.get(), text.data(), text.size()); }

class Seen : public testing::Test {
 protected:
  OwnSeen open(int kind = BW_RAW, unsigned long long keys = 0, double error = 0) const {
    return OwnSeen(bw_seen_open(file().c_str(), kind, keys, error));
  }
  OwnSeen opened(int kind = BW_RAW, unsigned long long keys = 0, double error = 0) const {
    auto seen = open(kind, keys, error);
    EXPECT_NE(seen, nullptr) << bw_error_text();
    return seen;
  }
  void expect_refused(const OwnSeen& seen, int code, const std::string& text) const {
    EXPECT_EQ(seen, nullptr);
    EXPECT_EQ(bw_error_code(), code) << bw_error_text();
    EXPECT_THAT(bw_error_text(), HasSubstr(text));
  }
  std::string file() const { return (dir_.path() / "visited.bwf").string(); }
  test::TempDir dir_;
};

TEST_F(Seen, IsNewOnceAndStaysSeenInTheFile) {
  {
    const auto seen = opened(BW_URL, 1000);
    EXPECT_EQ(has(seen, "http://example.com/a"), BW_NEW);
    EXPECT_EQ(add(seen, "http://example.com/a"), BW_NEW);
    EXPECT_EQ(add(seen, "HTTPS://EXAMPLE.com.:443/b/../%61#top"), BW_SEEN) << "the same URL";
    EXPECT_EQ(add(seen, "http://a@b/"), BW_NEW) << "what is no URL stands for its octets";
    EXPECT_EQ(add(seen, "http://a@b/"), BW_SEEN);
    ASSERT_EQ(bw_seen_save(seen.get()), 0) << bw_error_text();
    EXPECT_EQ(add(seen, "http://example.com/lost"), BW_NEW);
  }
  const auto seen = opened(BW_URL);
  EXPECT_EQ(bw_seen_count(seen.get()), 2U);
  EXPECT_EQ(bw_seen_capacity(seen.get()), 1000U);
  EXPECT_EQ(bw_seen_error(seen.get()), 1e-6);
  EXPECT_LT(bw_seen_error_now(seen.get()), 1e-6);
  EXPECT_EQ(bw_seen_bytes(seen.get()) % 4096, 0U);
  EXPECT_EQ(add(seen, "example.com/a"), BW_SEEN);
  EXPECT_EQ(add(seen, "http://example.com/lost"), BW_NEW) << "it was not saved";
}

TEST_F(Seen, HostsAndOctetsAreKindsOfTheirOwn) {
  const OwnSeen hosts(bw_seen_open(nullptr, BW_HOST, 100, 1e-3));
  EXPECT_EQ(add(hosts, "Example.COM."), BW_NEW);
  EXPECT_EQ(add(hosts, "example.com"), BW_SEEN);
  const OwnSeen raw(bw_seen_open(nullptr, BW_RAW, 100, 1e-3));
  EXPECT_EQ(add(raw, std::string_view("a\0b", 3)), BW_NEW);
  EXPECT_EQ(add(raw, std::string_view("a\0c", 3)), BW_NEW);
  EXPECT_EQ(bw_seen_add(raw.get(), nullptr, 0), BW_NEW) << "the empty text";
  EXPECT_EQ(bw_seen_save(raw.get()), BW_ERROR_USAGE);
}

TEST_F(Seen, ManyAtOnceAreTakenInTheirOrder) {
  const auto seen = opened(BW_URL, 10'000);
  std::string lines;
  std::vector<std::string> texts;
  for (int i = 0; i < 100; ++i) texts.push_back("http://example.com/" + std::to_string(i % 60));
  for (const std::string& text : texts) lines += text + (lines.size() % 2 == 0 ? "\n" : "\r\n");
  lines += "http://example.com/last";
  std::vector<unsigned char> outcomes(101, 9);
  std::size_t count = 0;
  EXPECT_EQ(bw_seen_add_lines(seen.get(), lines.data(), lines.size(), nullptr, 0, &count), BW_ERROR_USAGE);
  EXPECT_EQ(count, 101U);
  EXPECT_EQ(bw_seen_count(seen.get()), 0U) << "nothing was added";
  ASSERT_EQ(bw_seen_add_lines(seen.get(), lines.data(), lines.size(), outcomes.data(), count, &count), 0);
  for (std::size_t i = 0; i < 101; ++i) EXPECT_EQ(outcomes[i], i < 60 || i == 100 ? BW_NEW : BW_SEEN) << i;

  std::vector<const char*> pointers;
  for (const std::string& text : texts) pointers.push_back(text.c_str());
  ASSERT_EQ(bw_seen_add_many(seen.get(), 100, pointers.data(), nullptr, outcomes.data()), 0);
  for (std::size_t i = 0; i < 100; ++i) EXPECT_EQ(outcomes[i], BW_SEEN) << i;
  const std::vector<std::size_t> lengths(100, 7);  // "http://"
  ASSERT_EQ(bw_seen_add_many(seen.get(), 100, pointers.data(), lengths.data(), outcomes.data()), 0);
  EXPECT_EQ(outcomes[0], BW_NEW);
  EXPECT_EQ(outcomes[99], BW_SEEN);
}

TEST_F(Seen, RefusesMoreThanItWasMadeFor) {
  const auto seen = opened(BW_RAW, 50);
  for (int i = 0; i < 50; ++i) ASSERT_EQ(add(seen, std::to_string(i)), BW_NEW);
  EXPECT_EQ(add(seen, "50"), BW_ERROR_LIMIT);
  EXPECT_THAT(bw_error_text(), HasSubstr("the set is full: it was made for 50 keys"));
  EXPECT_EQ(add(seen, "49"), BW_SEEN);
  const std::vector<const char*> texts{"0", "51", "1"};
  std::vector<unsigned char> outcomes(3, 9);
  EXPECT_EQ(bw_seen_add_many(seen.get(), 3, texts.data(), nullptr, outcomes.data()), BW_ERROR_LIMIT);
  EXPECT_THAT(outcomes, testing::ElementsAre(BW_SEEN, BW_FULL, BW_SEEN));
  ASSERT_EQ(bw_seen_save(seen.get()), 0);
  EXPECT_EQ(add(opened(), "50"), BW_ERROR_LIMIT) << "it is full in the next run, too";
}

TEST_F(Seen, SaysWhatIsWrongWithAFileOrAWish) {
  expect_refused(open(), BW_ERROR_USAGE, "visited.bwf: there is no such set yet: say how many keys");
  expect_refused(open(BW_ADDRESS, 10), BW_ERROR_USAGE, "the kind is none of BW_URL, BW_HOST, BW_RAW");
  expect_refused(open(BW_RAW, 10, 1.5), BW_ERROR_USAGE, "between 0 and 1");
  expect_refused(open(BW_RAW, 1000, 1e-300), BW_ERROR_UNMET_TARGET, "no size gives so small an error");
  expect_refused(OwnSeen(bw_seen_open("", BW_RAW, 10, 0)), BW_ERROR_USAGE, "empty");
  expect_refused(OwnSeen(bw_seen_open("/nowhere/at/all", BW_RAW, 10, 0)), BW_ERROR_IO, "/nowhere/at");
  expect_refused(open(BW_RAW, 100'000'000'000'000, 0.01), BW_ERROR_LIMIT, "of memory are wanted");
  {
    const auto seen = opened(BW_RAW, 1000, 1e-4);
    add(seen, "a");
    ASSERT_EQ(bw_seen_save(seen.get()), 0);
  }
  expect_refused(open(BW_URL), BW_ERROR_USAGE, "is a set of the kind BW_RAW, not BW_URL");
  expect_refused(open(BW_RAW, 2000), BW_ERROR_USAGE, "was made for 1,000 keys at an error of");
  expect_refused(open(BW_RAW, 1000, 1e-5), BW_ERROR_USAGE, "name another file");
  EXPECT_NE(open(BW_RAW, 1000, 1e-4), nullptr);

  std::fstream(file(), std::ios::in | std::ios::out | std::ios::binary).seekp(5000).put('\x55');
  expect_refused(open(), BW_ERROR_BAD_DIGEST, "cannot be gone on with: put a copy of it back");
  std::filesystem::resize_file(file(), 5000);
  expect_refused(open(), BW_ERROR_TOO_SHORT, "visited.bwf");
  std::ofstream(file()) << "text";
  expect_refused(open(), BW_ERROR_BAD_MAGIC, "visited.bwf");

  EXPECT_EQ(bw_seen_add(nullptr, "a", 1), BW_ERROR_USAGE);
  EXPECT_EQ(bw_seen_has(nullptr, "a", 1), BW_ERROR_USAGE);
  EXPECT_EQ(bw_seen_save(nullptr), BW_ERROR_USAGE);
  EXPECT_EQ(bw_seen_count(nullptr) + bw_seen_capacity(nullptr) + bw_seen_bytes(nullptr), 0U);
  EXPECT_EQ(bw_seen_error(nullptr) + bw_seen_error_now(nullptr), 0);
  bw_seen_free(nullptr);
}

TEST_F(Seen, ThatCouldNotBeSavedIsNotOpened) {
  const std::filesystem::path link = dir_.path() / "link";
  std::filesystem::create_symlink(dir_.path() / "missing", link);
  expect_refused(OwnSeen(bw_seen_open(link.c_str(), BW_RAW, 10, 0)), BW_ERROR_IO, "link");
  const std::string long_name = (dir_.path() / std::string(250, 'n')).string();
  expect_refused(OwnSeen(bw_seen_open(long_name.c_str(), BW_RAW, 10, 0)), BW_ERROR_IO, "nnn");
  std::filesystem::remove(link);
  EXPECT_TRUE(std::filesystem::is_empty(dir_.path()));
}

TEST_F(Seen, StaysWhereItIsWhenTheProcessGoesElsewhere) {
  const auto home = std::filesystem::current_path();
  std::filesystem::create_directory(dir_.path() / "other");
  std::filesystem::current_path(dir_.path());
  const OwnSeen seen(bw_seen_open("visited.bwf", BW_RAW, 10, 0));
  std::filesystem::current_path(dir_.path() / "other");
  const int saved = bw_seen_save(seen.get());
  std::filesystem::current_path(home);
  EXPECT_EQ(saved, 0) << bw_error_text();
  EXPECT_TRUE(std::filesystem::exists(file()));
}

TEST_F(Seen, OfTwoThatHoldOneFileTheSecondToSaveIsToldSo) {
  const auto one = opened(BW_RAW, 100);
  const auto other = opened(BW_RAW, 100);
  add(one, "one");
  EXPECT_EQ(bw_seen_save(one.get()), 0);
  EXPECT_EQ(bw_seen_save(other.get()), BW_ERROR_IO);
  EXPECT_EQ(bw_seen_save(one.get()), 0);
  EXPECT_EQ(has(opened(), "one"), BW_SEEN);
}

TEST_F(Seen, ThreadsAddWhileOthersSave) {
  constexpr int kKeys = 20'000;
  constexpr unsigned kThreads = 4;
  const auto seen = opened(BW_RAW, kKeys, 1e-9);
  std::atomic<int> fresh = 0;
  std::atomic<unsigned> running = kThreads;
  {
    std::vector<std::jthread> threads;
    for (unsigned thread = 0; thread < kThreads; ++thread) {
      threads.emplace_back([&] {
        for (int i = 0; i < kKeys; ++i) fresh += add(seen, std::to_string(i)) == BW_NEW ? 1 : 0;
        --running;
      });
    }
    for (unsigned saver = 0; saver < 2; ++saver) {
      threads.emplace_back([&] {
        while (running != 0) EXPECT_EQ(bw_seen_save(seen.get()), 0) << bw_error_text();
      });
    }
  }
  EXPECT_EQ(fresh, kKeys);
  ASSERT_EQ(bw_seen_save(seen.get()), 0);
  EXPECT_EQ(bw_seen_count(opened().get()), static_cast<unsigned long long>(kKeys));
}

TEST_F(Seen, GoesOnInAForkedProcess) {
  const auto seen = opened(BW_RAW, 100);
  add(seen, "before");
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    const bool is_fine =
        add(seen, "before") == BW_SEEN && add(seen, "child") == BW_NEW && bw_seen_save(seen.get()) == 0;
    _exit(is_fine ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  EXPECT_EQ(add(seen, "child"), BW_NEW) << "each has a set of its own";
  EXPECT_EQ(has(opened(), "child"), BW_SEEN);
}

}  // namespace
}  // namespace bloomwall::library
