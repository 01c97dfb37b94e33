// SPDX-License-Identifier: Apache-2.0
#include "filter/file/file_info.h"

#include <gtest/gtest.h>

#include <limits>

namespace bloomwall::filter {
namespace {

FileInfo sample() {
  return {.category = "malware",
          .builder = "bloomwall-filter 0.1",
          .sources = {{.name = "urls.txt", .format = "plain", .bytes = 10, .entries = 2, .sha256 = {1, 2}},
                      {.name = "", .format = "", .bytes = ~std::uint64_t{0}, .entries = 0, .sha256 = {}}},
          .provenance = {"one", "", "three"}};
}

TEST(FileInfoTest, SurvivesARoundTrip) {
  const auto back = parse_info(serialise_info(sample()));
  ASSERT_TRUE(back) << back.error().text();
  EXPECT_EQ(back->category, "malware");
  EXPECT_EQ(back->builder, "bloomwall-filter 0.1");
  ASSERT_EQ(back->sources.size(), 2U);
  EXPECT_EQ(back->sources[0].name, "urls.txt");
  EXPECT_EQ(back->sources[0].format, "plain");
  EXPECT_EQ(back->sources[0].entries, 2U);
  EXPECT_EQ(back->sources[0].sha256, sample().sources[0].sha256);
  EXPECT_EQ(back->sources[1].bytes, ~std::uint64_t{0});
  EXPECT_EQ(back->provenance, sample().provenance);
  EXPECT_EQ(serialise_info(*back), serialise_info(sample()));
}

TEST(FileInfoTest, KeepsWhatASetWasMadeFor) {
  FileInfo info = sample();
  info.made_for = {.keys = 50'000'000, .error = 1e-6};
  const std::vector<std::byte> bytes = serialise_info(info);
  const auto back = parse_info(bytes);
  ASSERT_TRUE(back);
  EXPECT_EQ(back->made_for, info.made_for);
  EXPECT_EQ(parse_info(serialise_info(sample()))->made_for, MadeFor{});
  for (const double error : {0.0, 1.0, -1e-6, std::numeric_limits<double>::quiet_NaN()}) {
    info.made_for.error = error;
    EXPECT_FALSE(parse_info(serialise_info(info))) << error;
  }
  std::vector<std::byte> longer = bytes;
  longer[bytes.size() - 20] = std::byte{17};  // the length of the last record
  longer.push_back(std::byte{0});
  EXPECT_FALSE(parse_info(longer));
}

TEST(FileInfoTest, UnknownRecordsArePassedOver) {
  std::vector<std::byte> bytes = serialise_info(sample());
  const std::uint8_t unknown[] = {99, 0, 0, 0, 2, 0, 0, 0, 'x', 'y'};
  const auto more = std::as_bytes(std::span(unknown));
  bytes.insert(bytes.begin(), more.begin(), more.end());
  const auto back = parse_info(bytes);
  ASSERT_TRUE(back);
  EXPECT_EQ(back->category, "malware");
}

TEST(FileInfoTest, EveryTruncationIsRefusedOrEndsBetweenRecords) {
  const std::vector<std::byte> bytes = serialise_info(sample());
  std::size_t whole = 0;
  for (std::size_t n = 0; n < bytes.size(); ++n) {
    const std::vector<std::byte> exact(bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(n));
    const auto got = parse_info(exact);
    if (got) {
      ++whole;
      EXPECT_EQ(serialise_info(*got).size() >= n, true) << n;
    } else {
      EXPECT_EQ(got.error().code, Errc::bad_section);
    }
  }
  EXPECT_EQ(whole, 7U);  // nothing, and after each of the seven records but the last
}

struct Hostile {
  const char* name;
  std::vector<std::uint8_t> bytes;
};

TEST(FileInfoTest, HostileRecordsAreRefused) {
  const Hostile cases[] = {
      {"length beyond the end", {1, 0, 0, 0, 255, 255, 255, 255, 'a'}},
      {"reserved bytes", {1, 0, 1, 0, 0, 0, 0, 0}},
      {"source too short", {3, 0, 0, 0, 4, 0, 0, 0, 1, 2, 3, 4}},
  };
  for (const Hostile& c : cases) EXPECT_FALSE(parse_info(std::as_bytes(std::span(c.bytes)))) << c.name;

  std::vector<std::uint8_t> source(8 + 52, 0);
  source[0] = 3;
  source[4] = 52;
  EXPECT_TRUE(parse_info(std::as_bytes(std::span(source))));
  source[8 + 48] = 1;  // a name of one byte that is not there
  EXPECT_FALSE(parse_info(std::as_bytes(std::span(source))));
  for (std::size_t i = 48; i < 52; ++i) source[8 + i] = 255;
  EXPECT_FALSE(parse_info(std::as_bytes(std::span(source))));
}

TEST(FileInfoTest, TooManyBytesOrRecordsAreRefused) {
  EXPECT_FALSE(parse_info(std::vector<std::byte>(kMaxInfoBytes + 1)));
  FileInfo many;
  many.provenance.resize(kMaxInfoRecords + 1);
  EXPECT_FALSE(parse_info(serialise_info(many)));
}

}  // namespace
}  // namespace bloomwall::filter
