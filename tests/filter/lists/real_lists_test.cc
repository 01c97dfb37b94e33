// Lists as they are published, where they are present beside the sources. What every line must give is worked out here
// a second time, naively and with other means; lines that the naive reading does not settle are few, and counted.
// SPDX-License-Identifier: Apache-2.0
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <sstream>

#include "tests/filter/lists/list_text.h"
#include "tests/filter/lists/naive_reading.h"

namespace bloomwall::filter::test {
namespace {
namespace fs = std::filesystem;

const fs::path kLists = fs::path(BLOOMWALL_SOURCE_DIR) / "../shared/lists";

std::string read_whole(const fs::path& path) {
  auto input = ListInput::open(path.string());
  EXPECT_TRUE(input) << input.error().text();
  std::string text;
  while (input) {
    const auto chunk = input->next();
    EXPECT_TRUE(chunk) << chunk.error().text();
    if (!chunk || chunk->empty()) break;
    text.append(*chunk);
  }
  return text;
}

using ByLine = std::map<std::uint64_t, std::vector<std::string>>;
struct LineSink final : ListSink {
  void entry(const Entry& entry, std::uint64_t line) override {
    lines[line].push_back(fmt::format("{} {}", static_cast<char>(entry.kind), text_of(entry)));
  }
  void allow(std::string_view text, std::uint64_t line) override {
    lines[line].push_back(fmt::format("allow {}", text));
  }
  ByLine lines;
};

// Compares line by line; returns how many lines were left open.
std::size_t compare(const std::string& text, const ByLine& got, const NaiveReading& naive) {
  static const std::vector<std::string> kNothing;
  std::istringstream in(text);
  std::string line;
  std::size_t open = 0;
  std::size_t failures = 0;
#ifdef BLOOMWALL_SANITIZED  // most of the time would go into the naive reading; those with a memory read short lists
  constexpr std::uint64_t kEach = 16;
#else
  constexpr std::uint64_t kEach = 1;
#endif
  for (std::uint64_t number = 1; std::getline(in, line); ++number) {
    if (number > 3000 && number % kEach != 0) continue;
    if (number == 1 && line.starts_with("\xef\xbb\xbf")) line.erase(0, 3);
    if (line.ends_with('\r')) line.pop_back();
    const auto want = naive(line);
    if (!want) {
      ++open;
      continue;
    }
    const auto at = got.find(number);
    const auto& have = at == got.end() ? kNothing : at->second;
    if (have == *want) continue;
    EXPECT_EQ(have, *want) << "line " << number << ": " << line;
    if (++failures > 5) break;
  }
  return open;
}

struct RealList {
  const char* path;
  Format format;
  std::uint64_t lines;    // as the index of the collection says
  std::uint64_t entries;  // what the format's own reading of the file comes to; the naive count agrees
  std::size_t most_open;  // lines the naive reading may leave open
  NaiveReading (*naive)();
};
void PrintTo(const RealList& list, std::ostream* out) { *out << list.path; }

class RealLists : public testing::TestWithParam<RealList> {};
TEST_P(RealLists, AreReadLineByLineAsANaiveReadingHasIt) {
  const fs::path path = kLists / (std::string(GetParam().path) + ".zst");
  if (!fs::exists(path)) GTEST_SKIP() << "needs the collection of real lists beside the sources: " << path;
  ListFile file;
  file.path = path.string();
  LineSink sink;
  const auto report = read_list(file, {}, sink);
  ASSERT_TRUE(report) << report.error().text();
  EXPECT_STREQ(to_string(report->format), to_string(GetParam().format));
  EXPECT_EQ(report->compression, Compression::zstd);
  EXPECT_EQ(report->lines, GetParam().lines);
  EXPECT_EQ(report->entry_count(), GetParam().entries);
  EXPECT_EQ(report->lines, report->blank + report->comments + report->boilerplate + report->taken + report->allowed +
                               report->cancelled + report->unusable);
  const std::string text = read_whole(path);
  EXPECT_EQ(report->text_bytes, text.size());
  const NaiveReading naive = GetParam().naive();
  EXPECT_LE(compare(text, sink.lines, naive), GetParam().most_open);
}
INSTANTIATE_TEST_SUITE_P(
    Collection, RealLists,
    testing::Values(RealList{"domains/1hosts-pro.txt", Format::domains, 173582, 173563, 0, naive_domains},
                    RealList{"domains/romainmarcoux-malicious.txt", Format::domains, 195012, 195010, 2, naive_domains},
                    RealList{"domains/shadowwhisperer-adult.txt", Format::domains, 219522, 219522, 0, naive_domains},
                    RealList{"allow/anudeepnd-whitelist.txt", Format::domains, 417, 335, 0, naive_domains},
                    RealList{"benign-domains/alexa-top100k-2016.txt", Format::domains, 100000, 100000, 0,
                             naive_domains},
                    RealList{"hosts/1hosts-lite.hosts", Format::hosts, 73911, 73878, 0, naive_hosts},
                    RealList{"hosts/adguarddns-hagezi.hosts", Format::hosts, 123978, 123962, 0, naive_hosts},
                    RealList{"hosts/anudeepnd-adservers.hosts", Format::hosts, 42541, 42531, 0, naive_hosts},
                    RealList{"hosts/kadhosts.hosts", Format::hosts, 23696, 23654, 0, naive_hosts},
                    RealList{"wildcard/hagezi-light.txt", Format::wildcard, 122690, 122680, 0, naive_wildcard},
                    RealList{"adblock/hagezi-light.txt", Format::adblock, 122690, 122680, 0, naive_adblock},
                    // Other lines: 1 in 35 at most (rules with a query, patterns without "||", exceptions).
                    RealList{"adblock/easylist.txt", Format::adblock, 76536, 45169, 1900, naive_adblock},
                    RealList{"adblock/easyprivacy.txt", Format::adblock, 54785, 47364, 1560, naive_adblock},
                    RealList{"dnsmasq/1hosts-lite.conf", Format::dnsmasq, 52596, 52577, 0, naive_dnsmasq},
                    RealList{"dnsmasq/stevenblack-hagezi.conf", Format::dnsmasq, 85305, 85291, 0, naive_dnsmasq},
                    RealList{"benign-domains/china-accelerated.conf", Format::dnsmasq, 110775, 0, 0, naive_dnsmasq},
                    RealList{"unbound/easylist-hagezi.conf", Format::unbound, 50270, 50231, 0, naive_unbound},
                    // 6,125 pairs of "x" and "*.x".
                    RealList{"rpz/dnsbunker-cti.zone", Format::rpz, 12266, 6125, 0, naive_rpz},
                    // URLs with escapes, ports, odd hosts or dots in the path are left open.
                    RealList{"benign-urls/iscx-url2016-benign.txt", Format::urls, 35378, 35381, 8000, naive_url_list},
                    RealList{"benign-urls/kasztp.txt", Format::urls, 48010, 48388, 400, naive_url_list},
                    RealList{"urls/jpcert-phishurl-2019-2025.csv", Format::csv, 258017, 257919, 2700, naive_jpcert},
                    RealList{"urls/urlhaus-online-2025-07-17.csv", Format::csv, 12793, 12784, 1800, naive_urlhaus},
                    RealList{"privoxy/default.action", Format::privoxy, 2196, 141, 0, naive_privoxy}),
    [](const testing::TestParamInfo<RealList>& row) {
      std::string name = row.param.path;
      for (char& c : name) c = std::isalnum(static_cast<unsigned char>(c)) != 0 ? c : '_';
      return name;
    });

TEST(RealLists, EachOfTheCollectionIsTested) {
  if (!fs::exists(kLists)) GTEST_SKIP() << "needs the collection of real lists beside the sources: " << kLists;
  std::size_t files = 0;
  for (const auto& entry : fs::recursive_directory_iterator(kLists))
    files += entry.path().extension() == ".zst" ? 1U : 0U;
  EXPECT_EQ(files, 24U) << "23 in the table above and the archive of categories below";
}

// Unpacks the archive of categories: enough of tar for plain files and folders.
void unpack(const std::string& tar, const fs::path& target) {
  for (std::size_t at = 0; at + 512 <= tar.size() && tar[at] != '\0';) {
    const std::string name(tar.data() + at);
    const std::size_t size = std::stoul(std::string(tar.data() + at + 124, 11), nullptr, 8);
    ASSERT_EQ(name.find(".."), std::string::npos);
    if (tar[at + 156] == '5') {
      fs::create_directories(target / name);
    } else if (tar[at + 156] == '0' || tar[at + 156] == '\0') {
      fs::create_directories((target / name).parent_path());
      std::ofstream(target / name, std::ios::binary).write(tar.data() + at + 512, static_cast<std::streamsize>(size));
    }
    at += 512 + (size + 511) / 512 * 512;
  }
}

TEST(RealLists, CategoriesAreReadAsTheirFoldersSay) {
  const fs::path archive = kLists / "category-ut1.tar.zst";
  if (!fs::exists(archive)) GTEST_SKIP() << "needs the collection of real lists beside the sources: " << archive;
  const fs::path target = fs::path(testing::TempDir()) / fmt::format("bloomwall-ut1-{}", getpid());
  unpack(read_whole(archive), target);
  const auto files = expand_list((target / "category-ut1").string());
  ASSERT_TRUE(files) << files.error().text();
  std::set<std::string> categories;
  std::uint64_t taken = 0;
  std::vector<FileReport> reports;
  for (const ListFile& file : *files) {
    SCOPED_TRACE(file.path);
    categories.insert(file.category);
    ReadOptions options;
    options.white_categories = WhiteUse::block;
    LineSink sink;
    const auto report = read_list(file, options, sink);
    ASSERT_TRUE(report) << report.error().text();
    const bool urls = file.format == Format::squidguard_urls;
    if (file.format != Format::squidguard_expressions) {
      const std::size_t open =
          compare(read_whole(file.path), sink.lines, urls ? naive_squidguard_urls() : naive_domains());
      EXPECT_LE(open, urls ? report->lines / 10 : 0) << report->lines;
    }
    taken += report->entry_count();
    reports.push_back(*report);
    const bool white = file.category == "download" || file.category == "translation";
    EXPECT_EQ(file.usage == Usage::white, white);
    EXPECT_EQ(file.usage == Usage::both, file.category == "bank");
  }
  EXPECT_EQ(categories.size(), 19U);
  EXPECT_GT(taken, 270'000U);
  EXPECT_LT(worst_unusable_share(reports).share, 0.01);
  fs::remove_all(target);
}

}  // namespace
}  // namespace bloomwall::filter::test
