// SPDX-License-Identifier: Apache-2.0
#include "filter/cli/header_text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "filter/builder/builder.h"
#include "filter/cli/header_json.h"
#include "filter/file/prediction.h"

namespace bloomwall::filter {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

TEST(Names, OfOptions) {
  EXPECT_THAT(option_names(0), IsEmpty());
  EXPECT_THAT(option_names(kOptionExact | kOptionRaw), ElementsAre("--exact", "--raw"));
  EXPECT_THAT(option_names(kOptionHostsAsSuffix | 0x8000), ElementsAre("--hosts-as-suffix", "0x8000"));
}

TEST(Names, OfMarks) {
  EXPECT_THAT(mark_names(0), IsEmpty());
  EXPECT_THAT(mark_names((1U << kVariantMarkUrl) | (1U << kVariantMarkQuery) | (1U << directory_mark(1)) |
                         (1U << directory_mark(16))),
              ElementsAre("U", "Q", "D1", "D16+"));
}

TEST(Names, OfLayoutsAndLists) {
  EXPECT_STREQ(layout_name(Layout::sectors_2x8), "2x8");
  EXPECT_STREQ(layout_name(Layout::lines_4x4), "4x4");
  EXPECT_EQ(joined({"a", "b"}), "a, b");
  EXPECT_EQ(joined({}), "");
}

Header sample() {
  Header h;
  h.file_bytes = 12'288;
  h.series_key[0] = 0xAB;
  h.sequence = 7;
  h.created = 1'700'000'000;
  h.unicode_version = 0x0F0000;
  h.kinds[index_of(Kind::suffix)] = {.entries = 1234, .keys = 1200};
  h.hosts = 1200;
  h.predicted.host_key = 1.5e-7;
  h.predicted.unlisted_host = {.mean = 3e-7, .p99 = 9e-7, .mean_questions = 2, .p99_questions = 6};
  h.measured = {.samples = 1000, .hits = 3};
  h.sections.push_back(
      {.type = SectionType::hosts, .critical = true, .offset = 4096, .length = 4096, .geometry = Geometry{}});
  h.signatures[0].algorithm = 1;
  return h;
}

TEST(HeaderText, ShowsEverythingButTheSecret) {
  const std::string text = header_text(sample(), false);
  for (const char* part :
       {"sequence          7\n", "2023-11-14T22:13:20Z", "Unicode           15.0.0", "S     host and subdomains",
        "1,234", "secret (--show-secret prints it)", "hosts", "2x8", "27.31", "signature         algorithm 1"}) {
    EXPECT_THAT(text, HasSubstr(part));
  }
  EXPECT_THAT(text, Not(HasSubstr("ab00")));
  EXPECT_THAT(header_text(sample(), true), HasSubstr("series key        ab000000"));
  EXPECT_THAT(text, Not(HasSubstr(" \n"))) << "no blanks at line ends";
}

TEST(ErrorsText, ShowsPredictionsAndMeasurement) {
  const std::string text = errors_text(sample());
  for (const char* part :
       {"hosts           one in 6.7 million (1.5e-07) a question;",
        "unlisted host   one in 3.3 million (3.0e-07) on average, 2.0 questions;",
        "one in 1.1 million (9.0e-07) at p99, 6.0 questions\n", "3 of 1,000 requests, one in 333 (3.0e-03)\n"}) {
    EXPECT_THAT(text, HasSubstr(part));
  }
  EXPECT_THAT(text, Not(HasSubstr("\n  listed host"))) << "no marks, no such class" << text;
}

TEST(ErrorsText, ShowsHowManyHostsSeemToHaveUrls) {
  Header h = sample();
  h.marks = 5;
  h.mark_mask = variant_bit(kVariantMarkUrl) | variant_bit(kVariantMarkQuery) | variant_bit(directory_mark(1));
  h.predicted.host_fill = 1e-7;
  h.sections.push_back(
      {.type = SectionType::paths, .critical = true, .offset = 8192, .length = 4096, .geometry = Geometry{}});
  const struct {
    std::uint8_t min_labels, max_labels;
    double rate;
  } rows[] = {{1, 0, 6e-7}, {1, 9, 6e-7}, {2, 3, 6e-7}, {3, 9, 3e-7}, {2, 2, 3e-7}, {4, 9, 0}, {1, 1, 0}};
  for (const auto& row : rows) {
    h.min_labels = row.min_labels;
    h.max_labels = row.max_labels;
    EXPECT_DOUBLE_EQ(false_mark_rate(h), row.rate) << int{row.min_labels} << " to " << int{row.max_labels};
  }
  h.min_labels = 1;
  h.max_labels = 9;
  EXPECT_THAT(errors_text(h), HasSubstr("false marks     one in 1.7 million (6.0e-07) of hosts of three labels"));
  EXPECT_DOUBLE_EQ(to_json(h, false)["predicted"]["false_marks"].get<double>(), 6e-7);
  h.predicted.host_fill = 0.9;
  EXPECT_EQ(false_mark_rate(h), 1);
  EXPECT_EQ(false_mark_rate(sample()), 0) << "no URL entries";
}

TEST(InfoText, EscapesWhatStandsInTheFile) {
  FileInfo info;
  info.category = "mal\x1bware";
  info.sources.push_back({.name = "a\nb", .format = "domains", .bytes = 1000, .entries = 5, .sha256 = {}});
  info.provenance.push_back("merged\x07");
  const std::string text = info_text(info);
  EXPECT_THAT(text, HasSubstr("mal\\x1Bware"));
  EXPECT_THAT(text, HasSubstr("a\\x0Ab (domains, 1.0 kB, 5 entries"));
  EXPECT_THAT(text, HasSubstr("merged\\x07"));
}

TEST(HeaderJson, HasTheFieldsAndKeepsTheSecret) {
  const auto json = to_json(sample(), false);
  EXPECT_EQ(json["sequence"], 7);
  EXPECT_EQ(json["kinds"]["S"]["entries"], 1234);
  EXPECT_EQ(json["kinds"].size(), 1U);
  EXPECT_EQ(json["predicted"]["unlisted_host"]["p99"], 9e-7);
  EXPECT_EQ(json["measured"]["hits"], 3);
  EXPECT_EQ(json["sections"][0]["type"], "hosts");
  EXPECT_EQ(json["sections"][0]["layout"], "2x8");
  EXPECT_EQ(json["signatures"].size(), 1U);
  EXPECT_FALSE(json.contains("series_key"));
  EXPECT_EQ(to_json(sample(), true)["series_key"].get<std::string>().substr(0, 4), "ab00");
}

TEST(ReportJson, HasTheReasonsWithTheirExamples) {
  IngestedFile file;
  file.report.path = "list.txt";
  file.report.lines = 10;
  file.report.unusable = 1;
  file.report.unsupported.add("regular expression", 4, "/x/");
  file.report.entries[index_of(Kind::url)] = 6;
  file.fresh[index_of(Kind::url)] = 4;
  const auto json = to_json(file);
  EXPECT_EQ(json["path"], "list.txt");
  EXPECT_EQ(json["duplicates"], 2);
  EXPECT_EQ(json["entries"]["U"], 6);
  EXPECT_EQ(json["unsupported"][0]["reason"], "regular expression");
  EXPECT_EQ(json["unsupported"][0]["examples"][0]["line"], 4);
}

}  // namespace
}  // namespace bloomwall::filter
