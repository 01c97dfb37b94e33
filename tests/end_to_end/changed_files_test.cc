// Filter files that somebody writes to while they are served: nothing listed passes later than two seconds after,
// whatever was done and wherever the bytes are served from.
// SPDX-License-Identifier: Apache-2.0
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <functional>
#include <random>
#include <thread>

#include "tests/end_to_end/servers.h"
#include "tests/support/scripted_peer.h"
#include "tests/support/seed.h"

namespace bloomwall::test {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;
using Clock = std::chrono::steady_clock;

constexpr int kListedHosts = 29;
constexpr std::chrono::milliseconds kNoticed{2000};  // what the product promises

// Where the bytes come from, by what the configuration leaves possible.
enum class Source : std::uint8_t { memory, state_folder, original };

std::string name_of(const testing::TestParamInfo<Source>& info) {
  return info.param == Source::memory ? "Memory" : info.param == Source::state_folder ? "StateFolder" : "Original";
}

class ChangedFiles : public testing::TestWithParam<Source> {
 protected:
  void SetUp() override {
    if (!have_program("curl")) GTEST_SKIP() << "needs curl";
    fs::create_directory(folder_.path("state"));
    build(file_, listed());
    build(newer_, listed() + "more.example.test\n", {"--new-series"});
    start();
  }
  static std::string listed() {
    std::string text;
    for (int i = 0; i < kListedHosts; ++i) text += "d" + std::to_string(i) + ".example.test\n";
    return text;
  }
  // `more`: of the filter.
  static std::string yaml(const std::string& more = {}) {
    const bool has_folder = GetParam() == Source::state_folder;
    return "filters: [{name: sample, file: test.bwf" + more +
           "}]\n"
           "access: {deny_destinations: []}\n"
           "log: {access: {file: off}}\n"
           "dns: {hosts: {free.example.test: 127.0.0.1}}\n"
           "state_dir: " +
           std::string(has_folder ? "state" : "null") + "\n";
  }
  void build(const std::string& file, const std::string& text, std::vector<std::string> options = {}) const {
    options.insert(options.end(), {"--format", "domains"});
    if (GetParam() != Source::memory) {  // some 10 and 90 MB, nearly empty
      const char* const entries = GetParam() == Source::state_folder ? "2M" : "20M";
      options.insert(options.end(), {"--entries", entries, "--kinds", "S=1"});
    }
    build_filter(file, text, options);
  }
  void start() {
    proxy_ = std::make_unique<Proxy>(folder_, yaml(), Proxy::Admin::on);
    const char* const from = GetParam() == Source::memory         ? "served from a copy in memory"
                             : GetParam() == Source::state_folder ? "served from a copy in state_dir"
                                                                  : "served from the file itself";
    ASSERT_TRUE(proxy_->process().wait_for_line(from)) << proxy_->process().output();
    ASSERT_EQ(passed(), 0);
    ASSERT_EQ(admin("/readyz"), "serving\n");
  }
  // Of the listed hosts, how many are not blocked.
  int passed() const {
    int out = 0;
    auto client = ScriptedPeer::connect(proxy_->port());
    for (int i = 0; i < kListedHosts; ++i) {
      const std::string host = "d" + std::to_string(i) + ".example.test";
      client.send("CONNECT " + host + ":443 HTTP/1.1\r\nHost: " + host + ":443\r\n\r\n");
      out += client.read_head().starts_with("HTTP/1.1 403 ") ? 0 : 1;
      client = ScriptedPeer::connect(proxy_->port());
    }
    return out;
  }
  std::string admin(const std::string& path) const {
    return run({"curl", "-s", "-m", "20", "http://127.0.0.1:" + std::to_string(proxy_->admin_port()) + path}).out;
  }
  bool is_lost() const {
    return admin("/metrics").find("bloomwall_filter_lost{filter=\"sample\"} 1\n") != std::string::npos;
  }
  bool await(const std::function<bool()>& condition, Seconds bound = Seconds(20)) const {
    for (const auto end = Clock::now() + bound; Clock::now() < end;
         std::this_thread::sleep_for(std::chrono::milliseconds(5))) {
      if (condition()) return true;
    }
    return false;
  }
  // After any change: from two seconds on nothing passes; a copy never lets anything pass at all.
  void expect_nothing_passes(const std::string& what) const {
    const auto changed = Clock::now();
    if (GetParam() != Source::original) {
      EXPECT_EQ(passed(), 0) << what << ": a copy is not changed";
      EXPECT_FALSE(is_lost()) << what;
      return;
    }
    std::this_thread::sleep_until(changed + kNoticed);  // the promise itself is a time
    EXPECT_EQ(passed(), 0) << what;
  }
  // A whole file in its place, by rename: all is as before.
  void mend() {
    fs::copy_file(newer_, folder_.path("next"), fs::copy_options::overwrite_existing);
    fs::rename(folder_.path("next"), file_);
    const auto answer = proxy_->reload();
    ASSERT_EQ(answer.status, 0) << answer.out;
    ASSERT_FALSE(is_lost());
    ASSERT_EQ(admin("/readyz"), "serving\n");
    ASSERT_EQ(passed(), 0);
    const std::size_t open = GetParam() == Source::memory ? 0 : 1;
    EXPECT_TRUE(await([&] { return open_filters().size() == open; })) << testing::PrintToString(open_filters());
  }
  // The file that is served, or its copy.
  std::vector<std::string> open_filters() const {
    std::vector<std::string> names;
    std::error_code gone;  // a descriptor that was closed since it was listed
    for (const auto& fd : fs::directory_iterator("/proc/" + std::to_string(proxy_->process().pid()) + "/fd")) {
      const std::string name = fs::read_symlink(fd, gone).string();
      const bool is_state =
          name.starts_with(folder_.path("state/state.")) || name.starts_with(folder_.path("state/log/"));
      if (name.starts_with(file_) || (name.starts_with(folder_.path("state/")) && !is_state)) names.push_back(name);
    }
    return names;
  }
  void write_at(std::uint64_t offset, const std::string& bytes) const {
    std::fstream out(file_, std::ios::binary | std::ios::in | std::ios::out);
    out.seekp(static_cast<std::streamoff>(offset));
    out.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  }
  void hang_up() const {
    const std::size_t seen = proxy_->process().lines();
    proxy_->process().signal(SIGHUP);
    ASSERT_TRUE(proxy_->process().wait_for_line("reload: ", Seconds(60), seen)) << proxy_->process().output();
  }
  std::uint64_t bytes() const { return fs::file_size(file_); }

  TempDir folder_;
  const std::string file_ = folder_.path("test.bwf"), newer_ = folder_.path("newer.bwf");
  std::unique_ptr<Proxy> proxy_;
};

TEST_P(ChangedFiles, CopiedOverInPlace) {
  ASSERT_EQ(run({"cp", newer_, file_}).status, 0);
  expect_nothing_passes("cp newer over live");
  mend();
}

TEST_P(ChangedFiles, PartlyOverwrittenAndThenReloaded) {
  write_at(0, std::string(bytes() / 2, '\0'));
  hang_up();
  EXPECT_EQ(passed(), 0) << "a failed reload of the file that is served itself makes it lost at once";
  const std::string said = proxy_->process().output();
  EXPECT_THAT(said, GetParam() == Source::original ? HasSubstr("filter sample is lost")
                                                   : HasSubstr("stays in use, from unchanged copies"));
  expect_nothing_passes("dd conv=notrunc, then SIGHUP");
  mend();
}

TEST_P(ChangedFiles, CutBetweenPagesAndWithinOne) {
  for (const std::uint64_t length :
       {bytes() / 2 / 4096 * 4096, bytes() / 3 / 4096 * 4096 + 1234, std::uint64_t{5000}, std::uint64_t{0}}) {
    fs::resize_file(file_, length);
    expect_nothing_passes("cut to " + std::to_string(length));
    mend();
  }
}

TEST_P(ChangedFiles, WrittenTooShort) {
  ASSERT_EQ(run({"sh", "-c", "head -c 800000 '" + newer_ + "' > '" + file_ + "'"}).status, 0);
  expect_nothing_passes("a copy that ran out of disk");
  EXPECT_EQ(is_lost(), GetParam() == Source::original);
  EXPECT_EQ(admin("/readyz"), GetParam() == Source::original ? "lost: sample\n" : "serving\n");
  mend();
}

// Pieces of any size anywhere, zeros or noise, with the time of the last change put back a little, as rsync does.
TEST_P(ChangedFiles, WrittenPieceByPiece) {
  const std::uint32_t seed = test_seed();
  std::mt19937_64 random(seed);
  for (int round = 0; round < 3; ++round) {
    const std::string what = "seed " + std::to_string(seed) + ", round " + std::to_string(round);
    for (std::uint64_t pieces = 1 + random() % 8; pieces > 0; --pieces) {
      std::string piece(1 + random() % (1U << random() % 22), '\0');
      if (random() % 2 == 0) std::ranges::generate(piece, [&] { return static_cast<char>(random()); });
      piece.front() = 'x';  // the file is zeros for the most part, and the same bytes again would be no change
      write_at(random() % bytes(), piece);
      if (random() % 4 == 0) hang_up();
    }
    if (random() % 2 == 0) fs::last_write_time(file_, fs::last_write_time(file_) - std::chrono::hours(24 * 365));
    expect_nothing_passes(what);
    EXPECT_EQ(is_lost(), GetParam() == Source::original) << what;
    mend();
  }
}

// What comes in place and is whole in the end is served without anybody's doing; what is served meanwhile blocks.
TEST_P(ChangedFiles, AWholeFileInPlaceIsLoadedByItself) {
  if (GetParam() != Source::original) GTEST_SKIP() << "copies wait for a reload";
  write_at(0, std::string(70000, 'x'));
  ASSERT_TRUE(await([this] { return is_lost(); }));
  EXPECT_EQ(admin("/readyz"), "lost: sample\n");
  EXPECT_EQ(passed(), 0);
  ASSERT_TRUE(proxy_->process().wait_for_line("changed or failed while it was served"));
  ASSERT_EQ(run({"cp", newer_, file_}).status, 0);
  EXPECT_TRUE(await([this] { return !is_lost(); }, Seconds(60))) << proxy_->process().output();
  EXPECT_EQ(passed(), 0);
  EXPECT_EQ(admin("/readyz"), "serving\n");
}

// A rename, another mount, a link, another mode: what is mapped is as it was.
TEST_P(ChangedFiles, AnotherFileUnderTheNameChangesNothing) {
  fs::rename(file_, file_ + ".kept");
  fs::copy_file(newer_, file_);
  ASSERT_EQ(::chmod((file_ + ".kept").c_str(), 0600), 0);
  fs::create_hard_link(file_ + ".kept", file_ + ".again");
  expect_nothing_passes("replaced by rename");
  EXPECT_FALSE(is_lost());
  fs::remove(file_);
  expect_nothing_passes("removed");
  EXPECT_FALSE(is_lost());
  mend();
}

// What an exact side refutes passes, so that of another build, copied over it, would let pass all that is listed.
TEST_P(ChangedFiles, AnExactSideWrittenToInPlaceRefutesNothing) {
  if (GetParam() != Source::memory) GTEST_SKIP() << "an exact side of few entries is served from memory everywhere";
  build(file_, listed(), {"--new-series", "--exact-side"});
  build(newer_, "more.example.test\n", {"--new-series", "--exact-side"});
  proxy_->configure(folder_, yaml(", exact: test.bwx"));
  const auto loaded = proxy_->reload();
  ASSERT_EQ(loaded.status, 0) << loaded.out;
  ASSERT_EQ(passed(), 0);
  ASSERT_EQ(run({"cp", folder_.path("newer.bwx"), folder_.path("test.bwx")}).status, 0);
  expect_nothing_passes("cp of another build's exact side over the one that is served");
  EXPECT_NE(proxy_->reload().status, 0) << "it is of another build";
  EXPECT_EQ(passed(), 0);
  fs::resize_file(folder_.path("test.bwx"), 5000);
  EXPECT_NE(proxy_->reload().status, 0);
  expect_nothing_passes("cut");
}

TEST_P(ChangedFiles, MountedOver) {
  if (::geteuid() != 0 || run({"unshare", "-m", "true"}).status != 0) GTEST_SKIP() << "needs root to mount";
  const std::string pid = std::to_string(proxy_->process().pid());
  folder_.write("other.bwf", std::string(100000, 'x'));
  const auto mounted = run({"nsenter", "-t", pid, "-m", "mount", "--bind", folder_.path("other.bwf"), file_});
  if (mounted.status != 0) GTEST_SKIP() << mounted.out;
  hang_up();
  expect_nothing_passes("another file mounted over it");
  EXPECT_EQ(run({"nsenter", "-t", pid, "-m", "umount", file_}).status, 0);
  mend();
}

INSTANTIATE_TEST_SUITE_P(ServedFrom, ChangedFiles,
                         testing::Values(Source::memory, Source::state_folder, Source::original), name_of);

}  // namespace
}  // namespace bloomwall::test
