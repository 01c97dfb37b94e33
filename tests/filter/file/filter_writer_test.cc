// SPDX-License-Identifier: Apache-2.0
#include "filter/file/filter_writer.h"

#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "filter/file/prediction.h"
#include "tests/filter/file/sample_filter.h"

namespace bloomwall::filter {
namespace {

using testing_support::insert_sample_keys;
using testing_support::read_bytes;
using testing_support::sample_plan;
using testing_support::TempDir;
using testing_support::write_sample;

FilterWriter::Plan large_plan() {
  FilterWriter::Plan plan = sample_plan();
  plan.hosts = Geometry{.layout = Layout::lines_4x4, .pages = 600};
  plan.paths = Geometry{.layout = Layout::sectors_2x8, .pages = 2000};  // two leaves
  return plan;
}

TEST(FilterWriterTest, TheTargetAppearsOnlyWithCommitAndTakesTheUmask) {
  const TempDir dir;
  const auto path = dir / "a.bwf";
  const mode_t before = umask(0027);
  auto writer = FilterWriter::create(path, sample_plan());
  umask(before);
  ASSERT_TRUE(writer);
  insert_sample_keys(**writer);
  EXPECT_FALSE(std::filesystem::exists(path));
  EXPECT_EQ(dir.entries(), 1U);
  ASSERT_TRUE((*writer)->commit());
  EXPECT_EQ(dir.entries(), 1U);
  struct stat status{};
  ASSERT_EQ(stat(path.c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 07777, 0640U);
}

TEST(FilterWriterTest, AFileThatFailsItsCheckReplacesNothing) {
  const TempDir dir;
  const auto path = dir / "a.bwf";
  write_sample(path);
  const auto before = read_bytes(path);
  FilterWriter::Plan plan = large_plan();
  bool was_whole = false;
  plan.check = [&](const std::filesystem::path& file) -> Result<void> {
    const auto opened = FilterFile::open(file);
    was_whole = opened && (*opened)->verify(FilterFile::Depth::tampering);
    return unexpected(Error{Errc::bad_section, {}, "no"});
  };
  auto writer = FilterWriter::create(path, std::move(plan));
  ASSERT_TRUE(writer);
  insert_sample_keys(**writer);
  const auto done = (*writer)->commit();
  ASSERT_FALSE(done);
  EXPECT_EQ(done.error().what, "no");
  EXPECT_TRUE(was_whole);
  writer->reset();
  EXPECT_EQ(read_bytes(path), before);
  EXPECT_EQ(dir.entries(), 1U);
}

TEST(FilterWriterTest, WithoutCommitNothingStaysAndTheOldFileIsUntouched) {
  const TempDir dir;
  const auto path = dir / "a.bwf";
  write_sample(path);
  const auto before = read_bytes(path);
  {
    auto writer = FilterWriter::create(path, large_plan());
    ASSERT_TRUE(writer);
    insert_sample_keys(**writer);
  }
  EXPECT_EQ(read_bytes(path), before);
  EXPECT_EQ(dir.entries(), 1U);
}

TEST(FilterWriterTest, SectionsStandOnPages) {
  const TempDir dir;
  write_sample(dir / "a.bwf", large_plan());
  const auto file = FilterFile::open(dir / "a.bwf");
  ASSERT_TRUE(file) << file.error().text();
  ASSERT_TRUE((*file)->verify(FilterFile::Depth::tampering));
  for (const SectionEntry& s : (*file)->header().sections) {
    EXPECT_EQ(s.offset % alignment_of(s.length), 0U);
    EXPECT_EQ(s.critical, has_pages(s.type));
  }
  EXPECT_EQ((*file)->header().find(SectionType::leaves)->length, kLeafRecordBytes * (1 + 2 + 1 + 1 + 1));
}

// Every key of a large plan in an order of its own, by several threads, one way or the other.
void fill_shuffled(FilterWriter& writer, unsigned seed, bool exclusive) {
  std::vector<int> order(20'000);
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = static_cast<int>(i);
  std::shuffle(order.begin(), order.end(), std::mt19937(seed));
  const KeyMaker keys(writer.header().series_key);
  const std::size_t threads = exclusive ? 1 : 3;
  std::vector<std::jthread> running;
  running.reserve(threads);
  for (std::size_t t = 0; t < threads; ++t) {
    running.emplace_back([&, t] {
      for (std::size_t i = t; i < order.size(); i += threads) {
        const Hash128 key = keys.host("host" + std::to_string(order[i]));
        const Place host = writer.hosts()->place(key);
        const Place path = writer.paths()->place(key);
        const Variant variant = static_cast<Variant>(order[i]) % kHostVariantCount;
        if (exclusive) {
          writer.hosts()->insert_exclusive(host, variant);
          writer.paths()->insert_exclusive(path);
        } else {
          writer.hosts()->insert(host, variant);
          writer.paths()->insert(path);
        }
      }
    });
  }
}

TEST(FilterWriterTest, EqualKeysGiveEqualBytesInAnyOrderAndByAnyNumberOfThreads) {
  const TempDir dir;
  std::vector<std::vector<std::byte>> files;
  for (unsigned seed = 1; seed <= 3; ++seed) {
    const auto path = dir / ("f" + std::to_string(seed));
    auto writer = FilterWriter::create(path, large_plan());
    ASSERT_TRUE(writer);
    fill_shuffled(**writer, seed, seed == 3);
    ASSERT_TRUE((*writer)->commit());
    files.push_back(read_bytes(path));
  }
  EXPECT_TRUE(files[0] == files[1]) << "order and threads";
  EXPECT_TRUE(files[0] == files[2]) << "insert and insert_exclusive";
}

TEST(FilterWriterTest, AFileIdOfZerosBecomesARandomOne) {
  const TempDir dir;
  auto plan = sample_plan();
  plan.header.file_id = {};
  write_sample(dir / "a", plan);
  write_sample(dir / "b", plan);
  const auto id = [&dir](const char* name) { return (*FilterFile::open(dir / name))->header().file_id; };
  EXPECT_NE(id("a"), FileId{});
  EXPECT_NE(id("a"), id("b"));
}

TEST(FilterWriterTest, HeaderAndInfoMayChangeUntilCommit) {
  const TempDir dir;
  auto writer = FilterWriter::create(dir / "a", sample_plan());
  ASSERT_TRUE(writer);
  insert_sample_keys(**writer);
  (*writer)->header().sequence = 99;
  (*writer)->header().kinds[index_of(Kind::url)].keys = 19;
  (*writer)->info().category = "later";
  (*writer)->info().sources.clear();
  ASSERT_TRUE((*writer)->commit());
  const auto file = FilterFile::open(dir / "a");
  ASSERT_TRUE(file);
  EXPECT_EQ((*file)->header().sequence, 99U);
  EXPECT_EQ((*file)->header().kinds[index_of(Kind::url)].keys, 19U);
  EXPECT_EQ((*file)->info()->category, "later");
}

TEST(FilterWriterTest, FillComesNearThePredictionFromCounts) {
  const TempDir dir;
  auto plan = sample_plan();
  plan.hosts = Geometry{.layout = Layout::lines_4x4, .pages = 60};  // 20 bits a key
  plan.paths = Geometry{.layout = Layout::sectors_2x8, .pages = 250};
  plan.header.kinds = {};
  plan.header.mark_mask = 0;
  plan.header.hosts = plan.header.kinds[index_of(Kind::suffix)].keys = 100'000;
  plan.header.kinds[index_of(Kind::url)].keys = 400'000;
  auto writer = FilterWriter::create(dir / "a", plan);
  ASSERT_TRUE(writer);
  std::mt19937_64 random(5);
  for (int i = 0; i < 100'000; ++i) (*writer)->hosts()->insert(Hash128{random(), random()});
  for (int i = 0; i < 400'000; ++i) (*writer)->paths()->insert(Hash128{random(), random()});
  const auto fill = (*writer)->fill();
  EXPECT_EQ(fill.raw, 0);
  const auto predicted = predict((*writer)->header(), {.hosts = plan.hosts, .paths = plan.paths, .raw = plan.raw});
  EXPECT_NEAR(fill.hosts / predicted.host_key, 1, 0.02);
  EXPECT_NEAR(fill.paths / predicted.path_key, 1, 0.02);
  ASSERT_TRUE((*writer)->commit());
  const auto file = FilterFile::open(dir / "a");
  ASSERT_TRUE(file);
  EXPECT_EQ((*file)->header().predicted.path_key, predicted.path_key);
  EXPECT_EQ((*file)->header().predicted.path_fill, stored_rate(fill.paths));
}

TEST(FilterWriterTest, PlansThatMakeNoSenseAreRefused) {
  const TempDir dir;
  const auto code = [&dir](FilterWriter::Plan plan) {
    auto writer = FilterWriter::create(dir / "a", std::move(plan));
    EXPECT_FALSE(writer);
    return writer ? Errc::io : writer.error().code;
  };
  auto nothing = sample_plan();
  nothing.hosts.reset(), nothing.paths.reset(), nothing.raw.reset();
  EXPECT_EQ(code(nothing), Errc::usage);
  auto empty = sample_plan();
  empty.raw = Geometry{.layout = Layout::lines_4x4, .pages = 0};
  EXPECT_EQ(code(empty), Errc::usage);
  auto unknown = sample_plan();
  unknown.raw = Geometry{.layout = Layout{7}, .pages = 1};
  EXPECT_EQ(code(unknown), Errc::usage);
  auto endless = sample_plan();
  endless.raw = Geometry{.layout = Layout::lines_4x4, .pages = std::uint64_t{1} << 40};
  EXPECT_EQ(code(endless), Errc::limit);
  EXPECT_EQ(dir.entries(), 0U) << "nothing of a refused plan stays";
}

TEST(FilterWriterTest, AHeaderThatContradictsItselfIsNotCommitted) {
  const TempDir dir;
  auto plan = sample_plan();
  plan.header.mark_mask = 1;
  auto writer = FilterWriter::create(dir / "a", plan);
  ASSERT_TRUE(writer);
  const auto done = (*writer)->commit();
  ASSERT_FALSE(done);
  EXPECT_EQ(done.error().code, Errc::bad_header);
  EXPECT_FALSE(std::filesystem::exists(dir / "a"));
}

TEST(FilterWriterTest, AFolderThatIsNotThereIsAnError) {
  const TempDir dir;
  const auto writer = FilterWriter::create(dir / "no" / "a.bwf", sample_plan());
  ASSERT_FALSE(writer);
  EXPECT_EQ(writer.error().code, Errc::io);
  EXPECT_THAT(writer.error().text(), testing::HasSubstr("No such file"));
}

TEST(FilterWriterTest, SpaceThatCannotBeHadIsAnErrorBeforeTheFirstKey) {
  const TempDir dir;
  const auto path = dir / "a";
  const pid_t child = fork();
  if (child == 0) {
    signal(SIGXFSZ, SIG_IGN);
    const rlimit limit{.rlim_cur = 1 << 20, .rlim_max = 1 << 20};
    setrlimit(RLIMIT_FSIZE, &limit);
    const auto writer = FilterWriter::create(path, large_plan());
    _exit(!writer && writer.error().code == Errc::io && writer.error().what.find("reserve") != std::string::npos ? 0
                                                                                                                 : 1);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  EXPECT_EQ(dir.entries(), 0U);
}

// A child that rebuilds the target, saying at each step how far it is, until it is killed.
struct Child {
  pid_t pid = -1;
  int progress = -1;
};
constexpr std::string_view kSteps = "cif";  // created, inserted, finished

Child start_build(const std::filesystem::path& path, char stop_at) {
  int ends[2] = {-1, -1};
  EXPECT_EQ(pipe(ends), 0);
  const pid_t pid = fork();
  if (pid == 0) {
    const auto step = [&](char name) {
      if (write(ends[1], &name, 1) != 1) _exit(3);
      while (name == stop_at) pause();
    };
    auto plan = large_plan();
    plan.header.sequence = 8;
    auto writer = FilterWriter::create(path, plan);
    if (!writer) _exit(4);
    step('c');
    insert_sample_keys(**writer);
    step('i');
    if (!(*writer)->commit()) _exit(5);
    step('f');
    _exit(0);
  }
  close(ends[1]);
  return {.pid = pid, .progress = ends[0]};
}

void wait_for(const Child& child, char step) {
  for (char got = 0; got != step;) ASSERT_EQ(read(child.progress, &got, 1), 1);
}

void kill_and_reap(const Child& child) {
  kill(child.pid, SIGKILL);
  int status = 0;
  ASSERT_EQ(waitpid(child.pid, &status, 0), child.pid);
  close(child.progress);
}

// Old (sequence 7) or new (8), but whole.
std::uint64_t sequence_of_whole_file(const std::filesystem::path& path) {
  const auto file = FilterFile::open(path);
  if (!file) {
    ADD_FAILURE() << file.error().text();
    return 0;
  }
  EXPECT_TRUE((*file)->verify(FilterFile::Depth::accident));
  return (*file)->header().sequence;
}

TEST(FilterWriterTest, KilledAtAStepLeavesTheOldOrTheNewFileWhole) {
  const TempDir dir;
  const auto path = dir / "a.bwf";
  for (const char step : kSteps) {
    write_sample(path);
    const Child child = start_build(path, step);
    wait_for(child, step);
    kill_and_reap(child);
    EXPECT_EQ(sequence_of_whole_file(path), step == 'f' ? 8U : 7U) << step;
    EXPECT_EQ(dir.entries(), step == 'f' ? 1U : 2U) << "the leftover of a build killed at " << step;
    write_sample(path);
    EXPECT_EQ(dir.entries(), 1U) << "the next build removes it";
  }
}

TEST(FilterWriterTest, KilledAtAnyMomentOfCommitLeavesTheOldOrTheNewFileWhole) {
  const TempDir dir;
  const auto path = dir / "a.bwf";
  constexpr unsigned kSeed = 20;
  SCOPED_TRACE(kSeed);
  std::mt19937 random(kSeed);
  for (int round = 0; round < 25; ++round) {
    write_sample(path);
    const Child child = start_build(path, 'f');
    wait_for(child, 'i');
    const auto until = std::chrono::steady_clock::now() + std::chrono::microseconds(random() % 15'000);
    while (std::chrono::steady_clock::now() < until) std::this_thread::yield();
    kill_and_reap(child);
    const std::uint64_t sequence = sequence_of_whole_file(path);
    EXPECT_TRUE(sequence == 7 || sequence == 8) << sequence;
  }
  write_sample(path);
  EXPECT_EQ(dir.entries(), 1U);
}

}  // namespace
}  // namespace bloomwall::filter
