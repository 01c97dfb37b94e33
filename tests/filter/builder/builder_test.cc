// SPDX-License-Identifier: Apache-2.0
#include "filter/builder/builder.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <string>
#include <vector>

#include "filter/policy/query.h"
#include "tests/support/temp_dir.h"

namespace bloomwall::filter {
namespace {

using test::bytes_of;
using test::TempDir;

std::vector<std::string> names_in(const std::filesystem::path& folder) {
  std::vector<std::string> out;
  for (const auto& item : std::filesystem::directory_iterator(folder)) out.push_back(item.path().filename().string());
  std::sort(out.begin(), out.end());
  return out;
}

std::string many_urls(std::uint64_t seed, int count) {
  std::mt19937_64 random(seed);
  std::vector<std::string> lines;
  for (int i = 0; i < count; ++i) {
    lines.push_back(fmt::format("http://h{}.example/{}{}", i % 500, i, i % 3 == 0 ? "/" : i % 3 == 1 ? "?q" : ""));
  }
  std::shuffle(lines.begin(), lines.end(), random);
  std::string text;
  for (const std::string& line : lines) text += line + '\n';
  return text;
}

class BuilderTest : public testing::Test {
 protected:
  BuildOptions options(std::vector<std::string> lists) const {
    BuildOptions o;
    o.output = target();
    o.lists = std::move(lists);
    o.threads = 2;
    return o;
  }
  BuildOptions pinned(std::vector<std::string> lists) {
    BuildOptions o = options(std::move(lists));
    o.identity.series_key_file = dir_.write("key", std::string(64, 'a'));
    std::filesystem::permissions(dir_.path() / "key", std::filesystem::perms::owner_read);
    o.identity.file_id = FileId{1};
    o.identity.created = 1'700'000'000;
    o.identity.sequence = 1;
    return o;
  }
  std::filesystem::path target() const { return dir_.path() / "out.bwf"; }
  std::string write(const std::string& name, std::string_view text) const { return dir_.write(name, text).string(); }

  std::unique_ptr<FilterFile> open() const {
    auto file = FilterFile::open(target());
    EXPECT_TRUE(file) << file.error().text();
    return file ? *std::move(file) : nullptr;
  }
  bool listed(const FilterFile& file, std::string_view url) const {
    Canonicaliser canonicaliser;
    return FilterQuery(file).url(canonicaliser.url(url)).has_value();
  }
  // The message of a refusal, after which the target must be what it was.
  std::string refusal(const BuildOptions& o, BuildReport& report) {
    const std::string before = std::filesystem::exists(target()) ? bytes_of(target()) : "none";
    const auto files = names_in(dir_.path());
    const auto result = build(o, report);
    EXPECT_FALSE(result);
    EXPECT_TRUE((std::filesystem::exists(target()) ? bytes_of(target()) : "none") == before) << "the target changed";
    EXPECT_EQ(names_in(dir_.path()), files) << "no leftover";
    return result ? "built" : result.error().text();
  }
  std::string refusal(const BuildOptions& o) {
    BuildReport report;
    return refusal(o, report);
  }
  TempDir dir_;
};

TEST_F(BuilderTest, MakesAFilterThatHoldsItsEntriesAndSaysSo) {
  BuildReport report;
  const auto list = write("list.txt", "bad.example\nworse.example\nbad.example\n");
  BuildOptions o = options({list, write("urls.txt", "http://half.example/bad/thing.html\nhttp://half.example/bad/\n")});
  o.category = "malware";
  ASSERT_TRUE(build(o, report));
  const auto file = open();
  ASSERT_TRUE(file);
  EXPECT_TRUE(file->verify(FilterFile::Depth::tampering));
  EXPECT_TRUE(listed(*file, "http://www.bad.example/x"));
  EXPECT_TRUE(listed(*file, "http://half.example/bad/other"));
  EXPECT_FALSE(listed(*file, "http://half.example/good"));
  EXPECT_FALSE(listed(*file, "http://example.com/"));

  const Header& h = file->header();
  EXPECT_EQ(h.kinds[index_of(Kind::suffix)].entries, 3U);
  EXPECT_EQ(h.kinds[index_of(Kind::suffix)].keys, 2U);
  EXPECT_EQ(h.kinds[index_of(Kind::url)].keys, 1U);
  EXPECT_EQ(h.kinds[index_of(Kind::directory)].keys, 1U);
  EXPECT_EQ(h.hosts, 3U);
  EXPECT_EQ(h.marks, 2U);
  EXPECT_EQ(h.max_depth, 1U);
  EXPECT_EQ(h.min_labels, 2);
  EXPECT_EQ(h.sequence, 1U);
  EXPECT_GT(h.psl_time, 0U);
  EXPECT_LE(worst_error(h.predicted), kDefaultTarget);
  EXPECT_GT(h.predicted.host_fill, 0);
  EXPECT_EQ(h.file_bytes, std::filesystem::file_size(target()));
  EXPECT_EQ(report.header.file_bytes, h.file_bytes);
  EXPECT_EQ(report.sizing->file_bytes, h.file_bytes) << "sizing knows what the writer makes";
  const auto info = file->info();
  ASSERT_TRUE(info);
  EXPECT_EQ(info->category, "malware");
  ASSERT_EQ(info->sources.size(), 2U);
  EXPECT_EQ(info->sources[0].name, list);
  EXPECT_EQ(info->sources[0].format, "domains");
  EXPECT_EQ(info->sources[0].entries, 3U);
  EXPECT_EQ(info->sources[0].sha256, report.files[0].report.digest);
  EXPECT_EQ(report.summary.total(), 4U);
}

TEST_F(BuilderTest, EqualInputGivesEqualBytesWhateverOrderAndThreads) {
  const std::string first = write("a.txt", many_urls(1, 20'000));
  BuildReport report;
  BuildOptions o = pinned({first});
  o.threads = 1;
  ASSERT_TRUE(build(o, report));
  const std::string want = bytes_of(target());
  o.threads = 2;
  BuildReport again;
  ASSERT_TRUE(build(o, again)) << "also where it replaces itself";
  EXPECT_TRUE(bytes_of(target()) == want);

  // Other lines at the same place: equal but for the digest of the source, hence for info and what covers it.
  write("a.txt", many_urls(2, 20'000));
  o.threads = 5;
  BuildReport shuffled;
  ASSERT_TRUE(build(o, shuffled));
  const std::string other = bytes_of(target());
  ASSERT_EQ(other.size(), want.size());
  const SectionEntry& paths = *shuffled.header.find(SectionType::paths);
  const std::size_t from = shuffled.header.find(SectionType::hosts)->offset;
  const std::size_t length = paths.offset + paths.length - from;
  EXPECT_TRUE(other.substr(from, length) == want.substr(from, length));
  EXPECT_EQ(shuffled.header.find(SectionType::hosts)->sha_root, report.header.find(SectionType::hosts)->sha_root);
}

TEST_F(BuilderTest, ARebuildStaysInItsSeries) {
  const BuildOptions o = options({write("list.txt", "bad.example\n")});
  BuildReport first;
  BuildReport second;
  BuildReport third;
  ASSERT_TRUE(build(o, first));
  ASSERT_TRUE(build(o, second));
  EXPECT_EQ(second.header.series_key, first.header.series_key);
  EXPECT_EQ(second.header.series_id, first.header.series_id);
  EXPECT_EQ(second.header.sequence, 2U);
  EXPECT_NE(second.header.file_id, first.header.file_id);
  BuildOptions fresh = o;
  fresh.identity.new_series = true;
  ASSERT_TRUE(build(fresh, third));
  EXPECT_NE(third.header.series_key, first.header.series_key);
  EXPECT_EQ(third.header.sequence, 1U);
}

TEST_F(BuilderTest, RawKeysMakeARawSectionAlone) {
  BuildOptions o = options({write("mail.txt", "me@example.com\nyou@example.com\n")});
  o.raw = true;
  BuildReport report;
  ASSERT_TRUE(build(o, report));
  const auto file = open();
  EXPECT_EQ(file->header().find(SectionType::hosts), nullptr);
  EXPECT_EQ(file->header().converter_options, kOptionRaw);
  EXPECT_EQ(file->header().psl_time, 0U);
  EXPECT_TRUE(FilterQuery(*file).raw("me@example.com"));
  EXPECT_FALSE(FilterQuery(*file).raw("me@example.org"));
}

TEST_F(BuilderTest, AFolderGivesItsCategory) {
  std::filesystem::create_directories(dir_.path() / "gambling");
  write("gambling/domains", "bet.example\n");
  BuildReport report;
  ASSERT_TRUE(build(options({(dir_.path() / "gambling").string()}), report));
  EXPECT_EQ(report.info.category, "gambling");
  BuildReport mixed;
  ASSERT_TRUE(build(options({(dir_.path() / "gambling").string(), write("list.txt", "bad.example\n")}), mixed));
  EXPECT_EQ(mixed.info.category, "") << "no category is common to both";
}

TEST_F(BuilderTest, RefusesListsThatAreMostlyUnusable) {
  const auto list = write("list.txt", "[Adblock Plus 2.0]\n||a.example^\n||b.example^\nexample.com##.ad\n");
  BuildReport report;
  EXPECT_EQ(
      refusal(options({list}), report),
      list +
          ": 1 of 3 rules can't be used (33.3 %, more than 5 %); the report says why; --allow-unsupported builds from "
          "the rest");
  ASSERT_EQ(report.files.size(), 1U) << "the report is there";
  EXPECT_EQ(report.files[0].report.unusable, 1U);
  BuildOptions o = options({list});
  o.allow_unsupported = true;
  EXPECT_TRUE(build(o, report));
}

TEST_F(BuilderTest, WritesTheAllowRulesFound) {
  BuildOptions o = options({write("list.txt", "||a.example^\n@@||ok.example^\n@@||fine.example/path|\n")});
  o.allow_unsupported = true;
  o.allow_out = dir_.path() / "allow.txt";
  BuildReport report;
  ASSERT_TRUE(build(o, report));
  EXPECT_EQ(report.allow_rules, 2U);
  EXPECT_TRUE(report.notes.empty());
  EXPECT_EQ(bytes_of(o.allow_out), "# Allow rules found while out.bwf was built.\nok.example\nfine.example/path\n");
  o.allow_out = o.output;
  EXPECT_EQ(refusal(o), "--output and --allow-out name the same file");
  o.allow_out = dir_.path() / "no" / "such" / "folder";
  EXPECT_NE(refusal(o).find("no/such/folder"), std::string::npos);
  o.allow_out = o.lists.front();
  EXPECT_NE(refusal(o).find("--allow-out would write over it"), std::string::npos);
}

// Those for which one URL entry decrypts whole domains.
TEST_F(BuilderTest, ReportsTheDomainsThatItMarksAsAWhole) {
  BuildOptions o = options({write("list.txt",
                                  "http://example.com/a\nhttp://example.com/b/?c\nhttp://www.example.com/d\n"
                                  "https://example.co.uk/\nlisted.com\nhttp://someone.github.io/x\n"
                                  "http://github.io/x\nhttp://intranet/x\nhttp://192.0.2.1/x\nhttp://b.test/dir/\n")});
  o.report_marks = dir_.path() / "marks.txt";
  BuildReport report;
  ASSERT_TRUE(build(o, report));
  EXPECT_EQ(bytes_of(o.report_marks),
            "# Whole domains that out.bwf marks: with tls_inspection.mode urls every host below them is decrypted.\n"
            "example.com  # 2 URL entries\ngithub.io  # 1 URL entry, a public suffix\n"
            "someone.github.io  # 1 URL entry\n");
  o.report_marks = o.output;
  EXPECT_EQ(refusal(o), "--output and --report-marks name the same file");
  o.report_marks = o.lists.front();
  EXPECT_NE(refusal(o).find("--report-marks would write over it"), std::string::npos);
  o.report_marks = o.allow_out = dir_.path() / "both.txt";
  EXPECT_EQ(refusal(o), "--allow-out and --report-marks name the same file");
}

TEST_F(BuilderTest, NothingIsWrittenOverAnInput) {
  const auto list = write("list.txt", "a.example\n"), good = write("good.txt", "http://b.example/\n");
  const auto key = write("key", std::string(64, '7'));
  BuildOptions o = options({list});
  o.known_good = {good};
  o.identity.series_key_file = key;  // with it a target that is no filter is replaced
  const std::pair<std::filesystem::path, const char*> inputs[] = {
      {list, "is one of the lists"}, {good, "is read for --known-good"}, {key, "has the series' key"}};
  for (const auto& [input, what] : inputs) {
    const std::string before = bytes_of(input);
    o.output = input;
    EXPECT_EQ(refusal(o), input.string() + ": " + what + ", and --output would write over it");
    const std::filesystem::path link = dir_.path() / ("link to " + input.filename().string());
    std::filesystem::create_symlink(input, link);
    o.output = link;
    EXPECT_NE(refusal(o).find("--output would write over it"), std::string::npos) << link;
    EXPECT_EQ(bytes_of(input), before);
  }
  o.output = dir_.path() / "good.bwf";
  o.exact_side = true;
  std::filesystem::rename(list, dir_.path() / "good.bwx");
  o.lists = {(dir_.path() / "good.bwx").string()};
  EXPECT_NE(refusal(o).find("--exact-side would write over it"), std::string::npos);
}

TEST_F(BuilderTest, TheExactSideIsWrittenOverNothingElse) {
  BuildOptions o = options({write("list.txt", "a.example\n")});
  o.exact_side = true;
  o.allow_out = dir_.path() / "out.bwx";
  EXPECT_NE(refusal(o).find("is what --exact-side writes"), std::string::npos);
  o.allow_out.clear();
  o.output = dir_.path() / "out.bwx";
  EXPECT_NE(refusal(o).find("is what --exact-side writes"), std::string::npos);
}

TEST_F(BuilderTest, SaysHowManyExceptionsItsListsCarry) {
  BuildReport report;
  ASSERT_TRUE(build(options({write("list.txt", "||a.example^\n@@||ok.example^\n")}), report));
  ASSERT_EQ(report.notes.size(), 1U);
  EXPECT_EQ(report.notes.front(), "1 exception of the lists free what this filter alone stops");
}

TEST_F(BuilderTest, RefusesToShrinkTooMuch) {
  BuildReport report;
  ASSERT_TRUE(build(options({write("list.txt", "a.example\nb.example\nc.example\nd.example\n")}), report));
  BuildOptions o = options({write("less.txt", "a.example\nb.example\nc.example\n")});
  o.max_shrink = 0.2;
  EXPECT_EQ(refusal(o), target().string() +
                            ": 3 distinct entries after 4 (25.0 % fewer, --max-shrink allows 20.0 %); not replaced");
  o.max_shrink = 0.25;
  BuildReport less;
  EXPECT_TRUE(build(o, less));
}

TEST_F(BuilderTest, RefusesWhatHoldsNothing) {
  EXPECT_EQ(refusal(options({})), "no list to build from");
  BuildOptions o = options({write("hosts.txt", "127.0.0.1 localhost\n")});
  o.read.format = Format::hosts;
  EXPECT_EQ(refusal(o), "the lists hold no entry that could be blocked");
}

TEST_F(BuilderTest, RefusesWhatCantBeMet) {
  std::string text;
  for (int i = 0; i < 20'000; ++i) text += fmt::format("h{}.example\n", i);
  BuildOptions o = options({write("list.txt", text)});
  o.target = {.fpr = 1e-6, .memory = 45'000};
  EXPECT_EQ(refusal(o).find("45.0 kB do not suffice: what fits errs on "), 0U);
  o.target = {.fpr = {}, .memory = 45'000};
  BuildReport report;
  ASSERT_TRUE(build(o, report)) << "without --fpr it is the best that fits";
  EXPECT_LE(std::filesystem::file_size(target()), 45'000U);
  ASSERT_EQ(report.warnings.size(), 1U);
  EXPECT_NE(report.warnings[0].find("above the usual 1.00e-06"), std::string::npos);
  EXPECT_GT(report.header.measured.samples, 0U) << "an error so large is measured";
  const double expected = worst_error(report.header.predicted) * static_cast<double>(report.header.measured.samples);
  EXPECT_NEAR(static_cast<double>(report.header.measured.hits) / expected, 1, 0.3);
}

// Every host has a directory at each depth: a deep request asks for all of them.
TEST_F(BuilderTest, MeetsTheErrorOnHostsWithMoreMarksThanUsual) {
  const auto deep = [](int host, std::string_view names, int depth) {
    std::string url = fmt::format("http://h{}.example/", host);
    for (int i = 0; i < depth; ++i) url += fmt::format("{}{}-{}/", names, host, i);
    return url;
  };
  std::string text;
  for (int host = 0; host < 400; ++host) {
    for (int depth = 1; depth <= 15; ++depth) text += deep(host, "bad", depth - 1) + fmt::format("d{}/", depth) + '\n';
  }
  constexpr double kTarget = 1e-2;
  BuildOptions o = options({write("list.txt", text)});
  o.target.fpr = kTarget;
  BuildReport report;
  ASSERT_TRUE(build(o, report));
  EXPECT_LE(worst_error(report.header.predicted), kTarget);
  const auto file = open();
  ASSERT_TRUE(file);
  EXPECT_EQ(file->header().path_questions, 15U);
  constexpr int kRequests = 40'000;
  int errors = 0;
  for (int i = 0; i < kRequests; ++i) errors += listed(*file, deep(i % 400, fmt::format("good{}-", i), 15)) ? 1 : 0;
  EXPECT_LE(errors, kRequests * kTarget * 1.2);
  EXPECT_GE(errors, kRequests * kTarget * 0.5) << "and is no larger than it must be";
}

TEST_F(BuilderTest, MeasuresAsOftenAsItIsTold) {
  BuildOptions o = options({write("list.txt", "a.example\n")});
  o.samples = 1234;
  BuildReport report;
  ASSERT_TRUE(build(o, report));
  EXPECT_EQ(report.header.measured.samples, 1234U);
  EXPECT_EQ(report.header.measured.hits, 0U);
}

TEST_F(BuilderTest, AFileThatIsNoFilterIsNotReplaced) {
  BuildOptions like = options({write("list.txt", "a.example\n")});
  BuildReport report;
  ASSERT_TRUE(build(like, report));
  std::filesystem::rename(like.output, like.output.string() + ".like");
  like.like = like.output.string() + ".like";
  write("out.bwf", "my notes");
  EXPECT_NE(refusal(options({write("list.txt", "a.example\n")})).find("can't be read as a filter"), std::string::npos);
  EXPECT_NE(refusal(like).find("can't be read as a filter"), std::string::npos);
}

TEST_F(BuilderTest, ErrorsOfListsEndIt) {
  EXPECT_NE(refusal(options({write("list.txt", "a.example\n"), "no-such-list"})).find("no-such-list"),
            std::string::npos);
}

TEST_F(BuilderTest, MemoryIsBounded) {
  BuildOptions o = options({write("list.txt", many_urls(3, 20'000))});
  o.ram_bytes = 300'000;
  EXPECT_NE(refusal(o).find("at the least, and may take 300.0 kB"), std::string::npos);
}

TEST_F(BuilderTest, StopsWhenToldAndLeavesNothing) {
  const std::atomic<bool> stop = true;
  BuildOptions o = options({write("list.txt", "a.example\n")});
  o.stop = &stop;
  EXPECT_EQ(refusal(o), "interrupted");
}

// Bits that went before the file was committed are missing in its digests as well: only who asks for the entries finds
// it out.
TEST_F(BuilderTest, AFileThatLacksItsEntriesReplacesNothing) {
  BuildReport first;
  ASSERT_TRUE(build(options({write("old.txt", "old.example\n")}), first));
  const std::string before = bytes_of(target());
  const auto lose_bits = [this](const BuildProgress& progress) {
    if (progress.phase != BuildPhase::finishing) return;
    for (const auto& item : std::filesystem::directory_iterator(dir_.path())) {
      if (!item.path().string().ends_with(".bwf-tmp")) continue;
      std::fstream file(item.path(), std::ios::in | std::ios::out | std::ios::binary);
      file.seekp(static_cast<std::streamoff>(kHeaderBytes));
      file << std::string(item.file_size() - kHeaderBytes, '\0');
    }
  };
  BuildOptions o = options({write("list.txt", "http://a.example/x\nhttp://b.example/y\n")});
  const auto files = names_in(dir_.path());
  for (const bool streamed : {false, true}) {
    SCOPED_TRACE(streamed);
    if (streamed) o.expected = PlanRequest{.entries = 1000};
    BuildReport report;
    const auto result = build(o, report, lose_bits);
    ASSERT_FALSE(result);
    EXPECT_EQ(result.error().code, Errc::bad_section);
    EXPECT_NE(result.error().what.find("does not hold what it was built of: 'U "), std::string::npos)
        << result.error().text();
    EXPECT_TRUE(bytes_of(target()) == before);
    EXPECT_EQ(names_in(dir_.path()), files);
  }
}

TEST_F(BuilderTest, TellsItsPhases) {
  std::vector<BuildPhase> phases;
  BuildReport report;
  ASSERT_TRUE(build(options({write("list.txt", "a.example\n")}), report, [&](const BuildProgress& progress) {
    if (phases.empty() || phases.back() != progress.phase) phases.push_back(progress.phase);
    if (progress.phase == BuildPhase::writing) {
      EXPECT_TRUE(progress.input.name.empty());
    }
  }));
  EXPECT_EQ(phases, (std::vector{BuildPhase::reading, BuildPhase::writing, BuildPhase::finishing}));
}

// Lines that are made as they are asked for.
class MadeUp final : public BlockSource {
 public:
  Result<bool> next(LineBlock& block) override {
    const int number = given_.fetch_add(1);
    block.text.clear();
    for (int i = 0; i < 100; ++i) block.text += fmt::format("http://h{}.example/{}\n", number, i);
    return number < 30;
  }
  Position position() const override { return {.done = static_cast<std::uint64_t>(given_.load()), .total = 30}; }

 private:
  std::atomic<int> given_ = 0;
};

TEST_F(BuilderTest, TakesLinesFromAGenerator) {
  BuildOptions o = options({});
  o.generated.push_back({.name = "made up", .open = [] { return std::make_unique<MadeUp>(); }});
  BuildReport report;
  ASSERT_TRUE(build(o, report));
  EXPECT_EQ(report.summary.distinct[index_of(Kind::url)], 3000U);
  EXPECT_EQ(report.summary.hosts, 30U);
  ASSERT_EQ(report.info.sources.size(), 1U);
  EXPECT_EQ(report.info.sources[0].name, "made up");
  EXPECT_EQ(report.info.sources[0].entries, 3000U);
  EXPECT_TRUE(listed(*open(), "http://h29.example/99"));
  EXPECT_FALSE(listed(*open(), "http://h30.example/0"));
}

// Nothing is sized or written for what the file could not say of its sources in the end.
TEST_F(BuilderTest, MoreSourcesThanTheFileHoldsAreSaidBeforeAnythingIsWritten) {
  BuildOptions o = options({});
  o.generated.push_back({.name = std::string(kMaxInfoBytes, 'x'), .open = [] { return std::make_unique<MadeUp>(); }});
  bool wrote = false;
  BuildReport report;
  const auto result =
      build(o, report, [&](const BuildProgress& progress) { wrote = wrote || progress.phase == BuildPhase::writing; });
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().code, Errc::limit);
  EXPECT_NE(result.error().what.find("1 sources are more than the information section holds"), std::string::npos);
  EXPECT_FALSE(wrote);
  EXPECT_TRUE(names_in(dir_.path()).empty());
}

TEST_F(BuilderTest, OptionsOfTheConverterStandInTheHeader) {
  BuildOptions o = options({write("list.txt", "a.example\n")});
  o.read.exact = o.read.aggressive = o.read.allow_tld = true;
  BuildReport report;
  ASSERT_TRUE(build(o, report));
  EXPECT_EQ(open()->header().converter_options, kOptionExact | kOptionAggressive | kOptionAllowTld);
  EXPECT_EQ(report.summary.distinct[index_of(Kind::exact_host)], 1U);
}

}  // namespace
}  // namespace bloomwall::filter
