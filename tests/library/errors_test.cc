// Whatever a program gives, it gets an answer or an error with a text.
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <filesystem>
#include <string>
#include <vector>

#include "tests/filter/policy/policy_maker.h"
#include "tests/library/library_maker.h"

namespace bloomwall::library {
namespace {

using filter::make_filter;
using filter::TempFolder;

class LibraryErrors : public testing::Test {
 protected:
  LibraryErrors() : file_(folder_ / "f.bwf"), policy_(bw_new()) {
    make_filter(file_, {.entries = {"S listed.test", "R key"}});
  }
  void expect(int outcome, int number, const std::string& text) {
    EXPECT_EQ(outcome, number) << bw_error_text();
    EXPECT_EQ(bw_error_code(), number);
    EXPECT_NE(std::string(bw_error_text()).find(text), std::string::npos) << bw_error_text();
  }
  TempFolder folder_;
  std::filesystem::path file_;
  OwnPolicy policy_;
};

TEST_F(LibraryErrors, OfFiles) {
  EXPECT_EQ(bw_open((folder_ / "none.bwf").c_str()), nullptr);
  expect(BW_ERROR_IO, bw_error_code(), "none.bwf: cannot open");
  EXPECT_EQ(bw_open(folder_.write("text.bwf", "listed.test\n").c_str()), nullptr);
  expect(bw_error_code(), bw_error_code(), "text.bwf");
  std::filesystem::copy_file(file_, folder_ / "short.bwf");
  std::filesystem::resize_file(folder_ / "short.bwf", std::filesystem::file_size(file_) / 2);
  EXPECT_EQ(bw_open((folder_ / "short.bwf").c_str()), nullptr);
  expect(BW_ERROR_TOO_SHORT, bw_error_code(), "short.bwf");
}

TEST_F(LibraryErrors, NameEveryFile) {
  bw_add_filter(policy_.get(), "a", (folder_ / "none.bwf").c_str());
  bw_add_filter(policy_.get(), "b", (folder_ / "neither.bwf").c_str());
  expect(bw_reload(policy_.get()), BW_ERROR_IO, "none.bwf");
  EXPECT_NE(std::string(bw_error_text()).find("\n" + (folder_ / "neither.bwf").string()), std::string::npos);
  expect(ask(policy_, BW_URL, "listed.test"), BW_ERROR_NOT_LOADED, "bw_reload");
}

TEST_F(LibraryErrors, OfSettings) {
  expect(bw_set(policy_.get(), "action", "block"), BW_ERROR_USAGE, "add one before");
  EXPECT_EQ(bw_add_filter(policy_.get(), nullptr, file_.c_str()), 0);
  expect(bw_set(policy_.get(), "action", "stop"), BW_ERROR_USAGE, "is none of block, monitor, allow, off");
  expect(bw_set(policy_.get(), "Action", "block"), BW_ERROR_USAGE, "is none of delta, exact");
  expect(bw_set(policy_.get(), "check", "never"), BW_ERROR_USAGE, "is none of load, read");
  EXPECT_EQ(bw_add_filter(policy_.get(), "f", file_.c_str()), 0);
  expect(bw_reload(policy_.get()), BW_ERROR_USAGE, "two filters have this name");
}

TEST_F(LibraryErrors, OfNull) {
  bw_free(nullptr);
  bw_answer_free(nullptr);
  expect(bw_add_filter(nullptr, "a", "b"), BW_ERROR_USAGE, "NULL");
  expect(bw_add_filter(policy_.get(), "a", nullptr), BW_ERROR_USAGE, "NULL");
  expect(bw_add_allow_list(policy_.get(), nullptr), BW_ERROR_USAGE, "NULL");
  expect(bw_set(policy_.get(), nullptr, "a"), BW_ERROR_USAGE, "NULL");
  expect(bw_reload(nullptr), BW_ERROR_USAGE, "NULL");
  EXPECT_EQ(bw_open(nullptr), nullptr);
  expect(bw_ask(nullptr, BW_URL, "a", 1, nullptr), BW_ERROR_USAGE, "NULL");
  expect(bw_ask(policy_.get(), BW_URL, nullptr, 1, nullptr), BW_ERROR_USAGE, "NULL");
  expect(bw_ask(policy_.get(), 0, "a", 1, nullptr), BW_ERROR_USAGE, "the kind is none of");
  expect(bw_ask(policy_.get(), 5, "a", 1, nullptr), BW_ERROR_USAGE, "the kind is none of");
  expect(bw_ask_many(policy_.get(), BW_URL, 1, nullptr, nullptr, nullptr), BW_ERROR_USAGE, "NULL");
  std::size_t lines = 0;
  expect(bw_ask_lines(policy_.get(), BW_URL, "a\nb", 3, nullptr, 0, &lines), BW_ERROR_USAGE, "less room");
  EXPECT_EQ(lines, 2U);
  EXPECT_STREQ(bw_answer_filter(nullptr), "");
  EXPECT_STREQ(bw_answer_reason(nullptr), "");
  EXPECT_STREQ(bw_answer_expression(nullptr, &lines), "");
  EXPECT_EQ(lines, 0U);
  const OwnPolicy opened(bw_open(file_.c_str()));
  EXPECT_EQ(bw_ask(opened.get(), BW_URL, nullptr, 0, nullptr), BW_REJECTED);
}

TEST_F(LibraryErrors, AFailedReloadChangesNothing) {
  bw_add_filter(policy_.get(), nullptr, file_.c_str());
  ASSERT_EQ(bw_reload(policy_.get()), 0);
  bw_add_allow_list(policy_.get(), (folder_ / "none.txt").c_str());
  expect(bw_reload(policy_.get()), BW_ERROR_IO, "none.txt");
  EXPECT_EQ(say(policy_, BW_URL, "http://www.listed.test/"), "2 listed f listed.test");
}

TEST_F(LibraryErrors, TextsOfAnyLengthAreAnswered) {
  bw_add_filter(policy_.get(), nullptr, file_.c_str());
  ASSERT_EQ(bw_reload(policy_.get()), 0);
  const std::string path(std::size_t{1} << 20, 'a');
  EXPECT_EQ(ask(policy_, BW_URL, "http://listed.test/" + path), BW_BLOCKED);
  EXPECT_EQ(ask(policy_, BW_URL, "http://other.test/" + path), BW_ALLOWED);
  EXPECT_EQ(ask(policy_, BW_HOST, path), BW_REJECTED);
  EXPECT_EQ(ask(policy_, BW_RAW, path), BW_ALLOWED);
  EXPECT_EQ(ask(policy_, BW_RAW, std::string("key\0", 4)), BW_ALLOWED);
}

TEST_F(LibraryErrors, ADamagedPageIsFoundWhenItIsRead) {
  const std::size_t size = std::filesystem::file_size(file_);
  std::fstream bytes(file_, std::ios::in | std::ios::out | std::ios::binary);
  std::vector<char> all(size);
  bytes.read(all.data(), static_cast<std::streamsize>(size));
  for (std::size_t at = 4096; at + 4096 < size; at += 64) all[at] = static_cast<char>(all[at] ^ 1);
  bytes.seekp(0).write(all.data(), static_cast<std::streamsize>(size));
  bytes.close();
  EXPECT_EQ(bw_open(file_.c_str()), nullptr);
  EXPECT_EQ(bw_error_code(), BW_ERROR_BAD_DIGEST) << bw_error_text();
  bw_add_filter(policy_.get(), nullptr, file_.c_str());
  ASSERT_EQ(bw_set(policy_.get(), "check", "read"), 0);
  if (bw_reload(policy_.get()) == 0) {
    expect(ask(policy_, BW_URL, "listed.test"), BW_ERROR_BAD_DIGEST, file_.string());
  } else {
    EXPECT_EQ(bw_error_code(), BW_ERROR_BAD_DIGEST) << bw_error_text();
  }
}

TEST_F(LibraryErrors, OtherwiseAndActionsCount) {
  bw_add_filter(policy_.get(), "white", file_.c_str());
  bw_set(policy_.get(), "action", "allow");
  bw_set(policy_.get(), "otherwise", "deny");
  ASSERT_EQ(bw_reload(policy_.get()), 0) << bw_error_text();
  EXPECT_EQ(say(policy_, BW_URL, "listed.test"), "0 allow_filter white listed.test");
  EXPECT_EQ(say(policy_, BW_URL, "other.test"), "2 default_deny otherwise");
  EXPECT_EQ(say(policy_, BW_RAW, "key"), "0 allow_filter white key");
  EXPECT_EQ(say(policy_, BW_RAW, "other"), "2 default_deny otherwise");
  bw_set(policy_.get(), "action", "off");
  bw_set(policy_.get(), "otherwise", "allow");
  ASSERT_EQ(bw_reload(policy_.get()), 0) << bw_error_text();
  EXPECT_EQ(say(policy_, BW_URL, "listed.test"), "0 unlisted");
  EXPECT_EQ(say(policy_, BW_RAW, "key"), "0 unlisted");
}

TEST_F(LibraryErrors, ALostFilterIsSaid) {
  bw_add_filter(policy_.get(), nullptr, file_.c_str());
  ASSERT_EQ(bw_reload(policy_.get()), 0);
  std::filesystem::resize_file(file_, 0);
  EXPECT_EQ(say(policy_, BW_URL, "other.test"), "2 filter_lost f");
  EXPECT_EQ(say(policy_, BW_RAW, "other"), "2 filter_lost f");
}

TEST_F(LibraryErrors, AFileThatIsCutBeforeItIsReadIsLostAndNotDamaged) {
  bw_add_filter(policy_.get(), nullptr, file_.c_str());
  bw_set(policy_.get(), "check", "read");
  ASSERT_EQ(bw_reload(policy_.get()), 0);
  std::filesystem::resize_file(file_, 0);
  EXPECT_EQ(say(policy_, BW_URL, "other.test"), "2 filter_lost f");
  EXPECT_EQ(say(policy_, BW_RAW, "other"), "2 filter_lost f");
}

}  // namespace
}  // namespace bloomwall::library
