// The samples in tests/data/lists: each is told for what it is, every entry and every count of its report are as the
// file NAME.want says, and neither the size of chunks nor compression nor threads change a thing.
// SPDX-License-Identifier: Apache-2.0
#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>

#include "tests/filter/lists/list_text.h"

namespace bloomwall::filter::test {
namespace {
namespace fs = std::filesystem;

const fs::path kFolder = fs::path(BLOOMWALL_SOURCE_DIR) / "tests/data/lists";

std::string slurp(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  EXPECT_TRUE(in) << path;
  return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}

struct Sample {
  const char* name;
  Format format;
};
void PrintTo(const Sample& sample, std::ostream* out) { *out << sample.name; }

class Samples : public testing::TestWithParam<Sample> {
 protected:
  static Reading read(std::size_t step) {
    ListFile file;
    file.path = GetParam().name;
    return read_text(slurp(kFolder / GetParam().name), {}, file, step);
  }
};

TEST_P(Samples, GiveTheEntriesAndTheReportWrittenDown) {
  const Reading reading = read(kInputChunkBytes);
  ASSERT_EQ(reading.error, "");
  EXPECT_EQ(reading.report.format, GetParam().format);
  EXPECT_TRUE(reading.report.detected);
  expect_sums(reading);
  EXPECT_EQ(full_story(reading), slurp(kFolder / (std::string(GetParam().name) + ".want")));
}

TEST_P(Samples, AreTheSameWhereverAChunkEnds) {
  const Reading whole = read(kInputChunkBytes);
  const std::size_t size = slurp(kFolder / GetParam().name).size();
  for (std::size_t step = 1; step <= size; ++step) {
    const Reading cut = read(step);
    ASSERT_EQ(full_story(cut), full_story(whole)) << "in chunks of " << step;
    ASSERT_EQ(cut.report.digest, whole.report.digest) << "in chunks of " << step;
    ASSERT_EQ(cut.report.text_bytes, size);
  }
}

TEST_P(Samples, LoseNothingWhenTruncatedAnywhere) {
  // Whatever is cut off: no crash, every line counted once, and no more entries than lines can give. What is left of a
  // table may not say where its URLs are.
  const std::string text = slurp(kFolder / GetParam().name);
  ReadOptions options;
  options.format = GetParam().format;
  for (std::size_t size = 0; size <= text.size(); ++size) {
    const Reading reading = read_text(std::string_view(text).substr(0, size), options);
    if (options.format == Format::csv && reading.error.find("which column") != std::string::npos) continue;
    ASSERT_EQ(reading.error, "");
    expect_sums(reading);
  }
}

std::string sample_name(const testing::TestParamInfo<Sample>& row) {
  std::string name = row.param.name;
  for (char& c : name) c = std::isalnum(static_cast<unsigned char>(c)) != 0 ? c : '_';
  return name;
}
const Sample kSamples[] = {{"domains.txt", Format::domains},
                           {"hosts.txt", Format::hosts},
                           {"wildcard.txt", Format::wildcard},
                           {"adblock.txt", Format::adblock},
                           {"adblock-mixed.txt", Format::adblock},
                           {"dnsmasq.conf", Format::dnsmasq},
                           {"unbound.conf", Format::unbound},
                           {"rpz.zone", Format::rpz},
                           {"urls.txt", Format::urls},
                           {"feed.csv", Format::csv},
                           {"feed-monthly.csv", Format::csv},
                           {"default.action", Format::privoxy}};
INSTANTIATE_TEST_SUITE_P(All, Samples, testing::ValuesIn(kSamples), sample_name);

TEST(SampleFolder, HasNoFileThatNoTestReads) {
  std::set<std::string> known{"category", "error-page.html", "proxy.pac"};
  for (const Sample& sample : kSamples) {
    known.insert(sample.name);
    known.insert(std::string(sample.name) + ".want");
  }
  for (const auto& entry : fs::directory_iterator(kFolder))
    EXPECT_TRUE(known.contains(entry.path().filename())) << entry.path();
}

TEST(SampleFolder, ErrorPagesAndScriptsAreRefused) {
  for (const char* name : {"error-page.html", "proxy.pac"}) {
    for (const Format format : {Format::auto_detect, Format::domains}) {
      ReadOptions options;
      options.format = format;
      EXPECT_NE(read_text(slurp(kFolder / name), options).error, "") << name;
    }
  }
}

}  // namespace
}  // namespace bloomwall::filter::test
