// Real lists: every entry of every list is found, and ordinary URLs are blocked no more often than predicted.
// A subset runs by default; everything: --gtest_also_run_disabled_tests --gtest_filter='*RealLists*', which prints a
// table.
// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <array>
#include <cstdlib>
#include <iostream>

#include "filter/builder/builder.h"
#include "tests/filter/builder/real_lists.h"
#include "tests/support/temp_dir.h"

namespace bloomwall::test {
namespace {

using namespace filter;

constexpr std::array kRates{1e-3, 1e-4, 1e-6};

class RealLists : public testing::Test {
 protected:
  void SetUp() override {
    if (lists_folder().empty()) GTEST_SKIP() << "no lists beside the checkout (../shared/lists)";
    dir_.write("key", std::string(64, '5'));  // fixed: a run that passes passes again
    std::filesystem::permissions(dir_.path() / "key", std::filesystem::perms::owner_read);
  }

  // Builds, and checks that every entry is in.
  std::unique_ptr<FilterFile> build_and_find(const std::vector<std::string>& lists, double rate,
                                             const ExactEntries& exact) {
    BuildOptions options;
    options.output = dir_.path() / "f.bwf";
    options.lists = lists;
    options.read = options_;
    options.target.fpr = rate;
    options.identity.series_key_file = dir_.path() / "key";
    options.allow_unsupported = true;  // cosmetic rules and the like
    BuildReport report;
    const auto built = build(options, report);
    EXPECT_TRUE(built) << lists.front() << ": " << built.error().text();
    auto file = FilterFile::open(options.output);
    if (!file) return nullptr;
    EXPECT_LE(worst_error((*file)->header().predicted), rate);
    std::uint64_t entries = 0;
    for (const KindCounts& kind : (*file)->header().kinds) entries += kind.entries;
    EXPECT_EQ(entries, exact.entries().size()) << "what one thread reads and what the pipeline reads";
    const Missing missing = find_missing(**file, exact.entries());
    EXPECT_EQ(missing.missing, 0U) << lists.front() << ": first " << missing.first;
    EXPECT_EQ(missing.asked, exact.entries().size());
    EXPECT_GT(missing.by_text, missing.asked * 98 / 100);
    return *std::move(file);
  }

  static void expect_few(const std::string& name, double rate, const FilterFile& file, const FalsePositives& f) {
    const PredictedErrors& p = file.header().predicted;
    const auto unlisted = static_cast<double>(f.unlisted);
    const auto listed = static_cast<double>(f.listed);
    EXPECT_LE(static_cast<double>(f.unlisted_hits), most_hits(unlisted, p.unlisted_host.mean))
        << name << " at " << rate;
    EXPECT_LE(static_cast<double>(f.listed_hits), most_hits(listed, p.listed_host.p99)) << name << " at " << rate;
    std::cout << fmt::format(
        "{:<36} {:>6.0e} {:>10} bytes | unlisted host: {:>4} of {:>6}, predicted {:>7.2f} | listed: {:>3} of "
        "{:>6}, mean {:>6.2f}, p99 {:>6.2f} | held {}\n",
        name, rate, file.header().file_bytes, f.unlisted_hits, f.unlisted, unlisted * p.unlisted_host.mean,
        f.listed_hits, f.listed, listed * p.listed_host.mean, listed * p.listed_host.p99, f.held);
  }

  void check(const std::string& name, const std::vector<std::string>& lists, std::span<const double> rates,
             const std::vector<std::string>& benign) {
    ExactEntries exact;
    for (const std::string& list : lists) {
      const auto read = exact.read(list, options_);
      ASSERT_TRUE(read) << read.error().text();
    }
    ASSERT_GT(exact.entries().size(), 0U) << name;
    for (const double rate : rates) {
      const auto file = build_and_find(lists, rate, exact);
      ASSERT_TRUE(file);
      expect_few(name, rate, *file, count_false_positives(*file, exact, benign));
    }
  }

  static std::string list(const char* name) { return (lists_folder() / name).string(); }
  TempDir dir_;
  ReadOptions options_ = {.white_categories = WhiteUse::block};
};

TEST_F(RealLists, EachFormatHoldsAllItsEntriesAndFewOthers) {
  const auto benign = benign_urls(true, false);
  ASSERT_GT(benign.size(), 80'000U);
  constexpr std::array kOne{1e-4};
  for (const char* name :
       {"hosts/kadhosts.hosts.zst", "adblock/easylist.txt.zst", "rpz/dnsbunker-cti.zone.zst",
        "urls/urlhaus-online-2025-07-17.csv.zst", "dnsmasq/1hosts-lite.conf.zst", "privoxy/default.action.zst"}) {
    check(name, {list(name)}, kOne, benign);
  }
}

TEST_F(RealLists, TogetherAtEveryRate) {
  const auto benign = benign_urls(true, true);
  ASSERT_GT(benign.size(), 250'000U);
  check("together",
        {list("hosts/kadhosts.hosts.zst"), list("adblock/easyprivacy.txt.zst"),
         list("urls/urlhaus-online-2025-07-17.csv.zst")},
        kRates, benign);
}

std::vector<std::string> all_lists(const std::filesystem::path& unpacked) {
  std::vector<std::string> out;
  for (const char* folder :
       {"adblock", "dnsmasq", "domains", "hosts", "privoxy", "rpz", "unbound", "urls", "wildcard"}) {
    for (const auto& item : std::filesystem::directory_iterator(lists_folder() / folder))
      out.push_back(item.path().string());
  }
  std::sort(out.begin(), out.end());
  if (!unpacked.empty()) out.push_back(unpacked.string());
  return out;
}

TEST_F(RealLists, DISABLED_FullMatrix) {
  const auto benign = benign_urls(true, true);
  const std::string unpack = "tar --zstd -xf '" + list("category-ut1.tar.zst") + "' -C '" + dir_.path().string() + "'";
  ASSERT_EQ(std::system(unpack.c_str()), 0);
  std::filesystem::path categories;
  for (const auto& item : std::filesystem::directory_iterator(dir_.path())) {
    if (item.is_directory()) categories = item.path();
  }
  const auto lists = all_lists(categories);
  ASSERT_GT(lists.size(), 18U);
  for (const std::string& one : lists) check(std::filesystem::path(one).filename().string(), {one}, kRates, benign);
  check("all lists", lists, kRates, benign);
}

}  // namespace
}  // namespace bloomwall::test
