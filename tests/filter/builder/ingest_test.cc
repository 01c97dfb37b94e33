// SPDX-License-Identifier: Apache-2.0
#include "filter/builder/ingest.h"

#include <gtest/gtest.h>

#include <atomic>
#include <filesystem>
#include <string>

#include "filter/builder/build_extras.h"
#include "filter/builder/key_collector.h"
#include "tests/support/temp_dir.h"

namespace bloomwall::filter {
namespace {

using test::TempDir;

KeyMaker ingest_keys() { return KeyMaker(SeriesKey{}); }
std::uint64_t at(const DistinctByKind& counts, Kind kind) { return counts[index_of(kind)]; }

class IngestTest : public testing::Test {
 protected:
  Result<void> read(Ingest& ingest, const std::filesystem::path& path) {
    return ingest.read(path.string(), [this](const IngestPosition& input) {
      ++told_;
      last_name_ = input.name;
    });
  }
  TempDir dir_;
  KeyCollector collector_{ingest_keys(), std::uint64_t{64} << 20};
  int told_ = 0;
  std::string last_name_;
};

TEST_F(IngestTest, CountsDuplicatesWithinAndAcrossFiles) {
  Ingest ingest(collector_, {.threads = 2});
  const auto first = dir_.write("first.txt", "a.example\nb.example\na.example\nA.example.\n");
  const auto second = dir_.write("second.txt", "b.example\nc.example\n");
  ASSERT_TRUE(read(ingest, first));
  ASSERT_TRUE(read(ingest, second));
  ASSERT_EQ(ingest.files().size(), 2U);
  EXPECT_EQ(ingest.files()[0].report.entry_count(), 4U);
  EXPECT_EQ(ingest.files()[0].duplicates(), 2U);
  EXPECT_EQ(at(ingest.files()[0].fresh, Kind::suffix), 2U);
  EXPECT_EQ(ingest.files()[1].duplicates(), 1U);
  EXPECT_EQ(at(ingest.files()[1].fresh, Kind::suffix), 1U);
  EXPECT_STREQ(ingest.files()[0].format(), "domains");
  EXPECT_EQ(ingest.files()[0].report.path, first.string());
  EXPECT_EQ(last_name_, second.string());
  EXPECT_GE(told_, 2);
}

TEST_F(IngestTest, KeepsAllowRulesInOrder) {
  std::string text = "[Adblock Plus 2.0]\n";
  std::string want;
  for (int i = 0; i < 30'000; ++i) {  // several blocks
    text += "@@||ok" + std::to_string(i) + ".example^\n||bad" + std::to_string(i) + ".example^\n";
    want += "ok" + std::to_string(i) + ".example\n";
  }
  const auto path = dir_.write("list.txt", text);
  Ingest ingest(collector_, {.keep_allow_rules = true, .threads = 3});
  ASSERT_TRUE(read(ingest, path));
  EXPECT_EQ(ingest.allow_rule_count(), 30'000U);
  std::string got;
  for (const std::string& rule : ingest.allow_rules()) got += rule + '\n';
  EXPECT_EQ(got, want);
  KeyCollector other(ingest_keys(), std::uint64_t{64} << 20);
  Ingest dropping(other, {.threads = 1});
  ASSERT_TRUE(read(dropping, path));
  EXPECT_EQ(dropping.allow_rule_count(), 30'000U);
  EXPECT_TRUE(dropping.allow_rules().empty());
}

TEST_F(IngestTest, RawKeysAreTheLinesThemselves) {
  Ingest ingest(collector_, {.raw = true, .threads = 2});
  const std::string long_line(kMaxLineBytes + 1, 'x');
  const auto path = dir_.write(
      "mail.txt", "# no comment\n\nme@example.com\r\n me@example.com\nme@example.com\n" + long_line + "\nlast");
  ASSERT_TRUE(read(ingest, path));
  const IngestedFile& file = ingest.files().front();
  EXPECT_STREQ(file.format(), "raw");
  EXPECT_EQ(file.report.lines, 7U);
  EXPECT_EQ(file.report.blank, 1U);
  EXPECT_EQ(file.report.taken, 5U);
  EXPECT_EQ(file.report.unusable, 1U);
  EXPECT_EQ(file.report.malformed.by_count().front().examples.front().line, 6U);
  EXPECT_EQ(at(file.fresh, Kind::raw), 4U) << "a blank in front makes another key";
  EXPECT_EQ(file.duplicates(), 1U);
  EXPECT_GT(file.report.text_bytes, 0U);
}

TEST_F(IngestTest, AByteOrderMarkIsAPartOfARawKey) {
  Ingest ingest(collector_, {.raw = true, .threads = 1});
  ASSERT_TRUE(read(ingest, dir_.write("keys", "\xef\xbb\xbfk1\nk1\n\xef\xbb\xbfk2\nk2\n")));
  EXPECT_EQ(at(ingest.files().front().fresh, Kind::raw), 4U);
}

TEST_F(IngestTest, FoldersAreCategories) {
  std::filesystem::create_directory(dir_.path() / "malware");
  dir_.write("malware/domains", "bad.example\n");
  dir_.write("malware/urls", "other.example/bad/thing.html\n");
  Ingest ingest(collector_, {.threads = 2});
  ASSERT_TRUE(read(ingest, dir_.path() / "malware"));
  ASSERT_EQ(ingest.files().size(), 2U);
  EXPECT_EQ(ingest.files()[0].report.category, "malware");
  EXPECT_EQ(at(collector_.distinct(), Kind::suffix), 1U);
  EXPECT_EQ(at(collector_.distinct(), Kind::url), 1U);
}

TEST_F(IngestTest, ErrorsNameTheFileAndKeepWhatWasRead) {
  Ingest ingest(collector_, {.threads = 2});
  ASSERT_TRUE(read(ingest, dir_.write("good.txt", "a.example\n")));
  const auto missing = read(ingest, dir_.path() / "none.txt");
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().code, Errc::io);
  EXPECT_NE(missing.error().text().find("none.txt"), std::string::npos);
  const auto page = read(ingest, dir_.write("page.txt", "<!DOCTYPE html>\n<html><body>404</body></html>\n"));
  EXPECT_FALSE(page);
  EXPECT_EQ(ingest.files().size(), 1U);
}

TEST_F(IngestTest, RunningOutOfMemoryIsAnErrorThatHelps) {
  KeyCollector small(ingest_keys(), 200'000);
  std::string text;
  for (int i = 0; i < 30'000; ++i) text += "host" + std::to_string(i) + ".example\n";
  const auto path = dir_.write("large.txt", text);
  for (const bool raw : {false, true}) {
    Ingest ingest(small, {.raw = raw, .threads = 2});
    const auto full = read(ingest, path);
    ASSERT_FALSE(full);
    EXPECT_EQ(full.error().code, Errc::limit);
    EXPECT_EQ(full.error().where, path.string());
    EXPECT_NE(full.error().what.find("do not fit in the 200.0 kB of memory"), std::string::npos) << full.error().what;
    EXPECT_NE(full.error().what.find("--entries"), std::string::npos);
  }
}

TEST_F(IngestTest, ThreadsDoNotChangeTheOutcome) {
  std::string text;
  for (int i = 0; i < 30'000; ++i) {
    text +=
        "http://h" + std::to_string(i % 900) + ".example/" + std::to_string(i % 11'000) + (i % 3 == 0 ? "/\n" : "\n");
  }
  const auto path = dir_.write("urls.txt", text);
  std::vector<DistinctByKind> outcomes;
  for (const unsigned threads : {1U, 2U, 5U}) {
    KeyCollector collector(ingest_keys(), std::uint64_t{64} << 20);
    Ingest ingest(collector, {.threads = threads});
    ASSERT_TRUE(read(ingest, path));
    outcomes.push_back(ingest.files().front().fresh);
    EXPECT_EQ(ingest.files().front().report.lines, 30'000U);
  }
  EXPECT_EQ(outcomes[0], outcomes[1]);
  EXPECT_EQ(outcomes[0], outcomes[2]);
}

// Fails once it has seen that many entries, as an exact side on a full disk.
class FailingObserver final : public KeyObserver {
 public:
  explicit FailingObserver(int entries) : left_(entries) {}
  void expect_workers(unsigned /*workers*/) override {}
  void seen(unsigned /*worker*/, const EntryKeys& /*keys*/) override { --left_; }
  Result<void> check() const override {
    if (left_ > 0) return {};
    return unexpected(Error{Errc::io, "the exact side", "no space left"});
  }

 private:
  std::atomic<int> left_;
};

TEST_F(IngestTest, AnObserverThatFailsEndsTheReading) {
  std::string text;
  for (int i = 0; i < 200'000; ++i) text += "host" + std::to_string(i) + ".example\n";  // many blocks
  const auto path = dir_.write("list.txt", text);
  FailingObserver observer(10);
  const KeyObservers observers(ingest_keys(), {&observer});
  Ingest ingest(collector_, {.threads = 2, .observers = &observers});
  const auto ok = read(ingest, path);
  ASSERT_FALSE(ok);
  EXPECT_EQ(ok.error().text(), "the exact side: no space left");
  EXPECT_LT(collector_.summary(1).total(), 200'000U) << "at once, not at the end";
}

}  // namespace
}  // namespace bloomwall::filter
