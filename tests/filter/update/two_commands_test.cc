// Two commands at the same file at the same time: one of them fails, and nothing that the other one wrote is lost.
// A list that is a pipe holds a command where it has read the file and not yet replaced it.
// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <chrono>
#include <fstream>
#include <future>

#include "filter/builder/merge.h"
#include "filter/file/signature.h"
#include "filter/policy/delta_signature.h"
#include "filter/policy/query.h"
#include "filter/update/counting.h"
#include "filter/update/update_delta.h"
#include "tests/filter/policy/filter_maker.h"

namespace bloomwall::filter {
namespace {

using testing::HasSubstr;

class TwoCommands : public testing::Test {
 protected:
  TwoCommands() { EXPECT_EQ(mkfifo(pipe_.c_str(), 0600), 0); }
  std::string list(const std::string& name, std::string_view text) { return folder_.write(name, text).string(); }
  // What `command` says that reads the pipe, where `meanwhile` happens once it has come so far.
  std::string held(const std::function<std::string()>& command, const std::function<void()>& meanwhile) const {
    auto said = std::async(std::launch::async, command);
    std::ofstream pipe(pipe_);  // waits for the reader
    meanwhile();
    pipe << "evila.example\n" << std::flush;
    pipe.close();
    return said.get();
  }
  std::string update(const std::string& added) const {
    DeltaUpdateReport report;
    DeltaUpdate update{.filter = filter_, .delta = delta_, .lists = {}};
    update.lists.add = {added};
    return texts_of(update_delta(update, report));
  }
  std::string count(const std::string& added) const {
    CountingUpdateReport report;
    CountingUpdate update;
    update.file = counting_;
    update.lists.add = {added};
    update.threads = 1;
    const auto done = update_counting(update, report);
    return done ? std::string() : done.error().text();
  }
  void make_counting(const std::string& text) {
    BuildOptions options;
    options.output = counting_;
    options.lists = {list("l", text)};
    options.threads = 1;
    CountingReport report;
    const auto done = build_counting(options, report);
    ASSERT_TRUE(done) << done.error().text();
  }
  std::string text(const std::filesystem::path& file) const {
    std::ifstream in(file, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
  }

  TempFolder folder_;
  const std::filesystem::path filter_ = folder_ / "f.bwf", delta_ = folder_ / "f.delta", counting_ = folder_ / "f.bwc";
  const std::string pipe_ = (folder_ / "pipe").string();
};

constexpr const char* kMeanwhile = "meanwhile by another command";

TEST_F(TwoCommands, AnUpdateOfADeltaLosesNothingOfAnother) {
  make_filter(filter_, {.entries = {"S old.example"}});
  for (const bool is_there : {false, true}) {
    if (is_there) {
      ASSERT_EQ(update(list("a", "first.example\n")), "");
    }
    const std::string said =
        held([&] { return update(pipe_); },
             [&] { EXPECT_EQ(update(list("b", "evilb.example\n" + std::string(is_there ? "c.example\n" : ""))), ""); });
    EXPECT_THAT(said, testing::AllOf(HasSubstr("f.delta"), HasSubstr(kMeanwhile)));
    EXPECT_THAT(text(delta_), testing::AllOf(HasSubstr("+S evilb.example\n"), testing::Not(HasSubstr("evila"))));
    std::filesystem::remove(delta_);
  }
}

TEST_F(TwoCommands, AnUpdateOfACountingFilterLosesNothingOfAnother) {
  make_counting("base.example\n");
  const std::string said =
      held([&] { return count(pipe_); }, [&] { EXPECT_EQ(count(list("b", "evilb.example\n")), ""); });
  EXPECT_THAT(said, testing::AllOf(HasSubstr("f.bwc"), HasSubstr(kMeanwhile)));
  ASSERT_TRUE(emit_filter({.file = counting_, .output = filter_}));
  Canonicaliser urls;
  EXPECT_TRUE(query(*open_filter(filter_), nullptr, urls.url("http://evilb.example/")));
  EXPECT_EQ(count(list("b", "evila.example\n")), "") << "run again";
}

TEST_F(TwoCommands, SigningADeltaDoesNotBringTheOldOneBack) {
  make_filter(filter_, {.entries = {"S old.example"}});
  ASSERT_EQ(update(list("a", "first.example\n")), "");
  const FormerFile former = FormerFile::of(delta_);
  ASSERT_EQ(update(list("b", "evilb.example\n")), "");
  const auto replaced = replace_file(delta_, "old", {}, former);
  ASSERT_FALSE(replaced);
  EXPECT_THAT(replaced.error().text(), HasSubstr(kMeanwhile));
  EXPECT_TRUE(sign_delta_file(delta_, delta_, SigningKey::generate()).empty());
  EXPECT_THAT(text(delta_), testing::AllOf(HasSubstr("evilb"), HasSubstr("\nsignature ")));
}

TEST_F(TwoCommands, SigningAFilterDoesNotBringTheOldOneBack) {
  make_filter(filter_, {.entries = {"S old.example"}});
  bool is_first = true;
  const auto build_anew = [&](std::uint64_t, std::uint64_t) {
    if (std::exchange(is_first, false)) make_filter(filter_, {.entries = {"S old.example", "S evil.example"}});
    return true;
  };
  const auto done = sign_filter(filter_, filter_, SigningKey::generate(), build_anew);
  ASSERT_FALSE(done);
  EXPECT_THAT(done.error().text(), HasSubstr(kMeanwhile));
  Canonicaliser urls;
  EXPECT_TRUE(query(*open_filter(filter_), nullptr, urls.url("http://evil.example/")));
}

// The bytes that are used are not those that were checked.
TEST_F(TwoCommands, AMergeOfAFileThatIsWrittenToIsRefused) {
  make_filter(folder_ / "a.bwf", {.entries = {"S a.example"}});
  make_filter(folder_ / "b.bwf", {.entries = {"S b.example"}});
  for (const bool into_input : {false, true}) {
    MergeOptions options;
    options.inputs = {folder_ / "a.bwf", folder_ / "b.bwf"};
    options.output = into_input ? folder_ / "a.bwf" : folder_ / "all.bwf";
    options.force = true;
    options.threads = 1;
    MergeReport report;
    bool is_first = true;
    const auto done = merge(options, report, [&](MergePhase phase, std::uint64_t, std::uint64_t) {
      if (phase != MergePhase::writing || !std::exchange(is_first, false)) return;
      if (into_input) {
        make_filter(folder_ / "a.bwf", {.entries = {"S a.example", "S evil.example"}});
      } else {
        std::fstream(folder_ / "b.bwf", std::ios::in | std::ios::out | std::ios::binary).seekp(5000).put('x');
      }
    });
    ASSERT_FALSE(done) << into_input;
    EXPECT_THAT(done.error().text(), HasSubstr(into_input ? kMeanwhile : "b.bwf: was written to"));
    EXPECT_FALSE(std::filesystem::exists(folder_ / "all.bwf"));
    make_filter(folder_ / "b.bwf", {.entries = {"S b.example"}});
  }
}

TEST_F(TwoCommands, AnUpdateOfACountingFilterThatIsWrittenToIsRefused) {
  make_counting("base.example\n");
  const std::string said =
      held([&] { return count(pipe_); },
           [&] { std::fstream(counting_, std::ios::in | std::ios::out | std::ios::binary).seekp(5000).put('x'); });
  EXPECT_THAT(said, HasSubstr(kMeanwhile));
}

}  // namespace
}  // namespace bloomwall::filter
