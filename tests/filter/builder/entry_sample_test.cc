// The sample of a build's entries, and that a file which lacks one of them is refused.
// SPDX-License-Identifier: Apache-2.0
#include "filter/builder/build_checks.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "filter/builder/builder.h"
#include "tests/support/temp_dir.h"

namespace bloomwall::filter {
namespace {

using testing::HasSubstr;

class EntrySampleTest : public testing::Test {
 protected:
  std::filesystem::path build_of(const std::string& name, const std::string& text, bool raw = false) {
    BuildOptions options;
    options.output = dir_.path() / name;
    options.lists = {dir_.write(name + ".txt", text).string()};
    options.raw = raw;
    options.identity.series_key = SeriesKey{};
    BuildReport report;
    const auto ok = build(options, report);
    EXPECT_TRUE(ok) << ok.error().text();
    return options.output;
  }
  static EntrySample sample_of(const std::vector<Entry>& entries, std::size_t most = kSampledEntries) {
    EntrySample sample(most);
    sample.expect_workers(1);
    for (const Entry& entry : entries) sample.seen(0, entry);
    return sample;
  }
  test::TempDir dir_;
};

TEST_F(EntrySampleTest, EveryKindIsFoundAsARequestWouldBe) {
  const auto file = build_of("f.bwf",
                             "all.example\nhttp://u.example/a/b\nhttp://u.example/q?x=1\nhttp://u.example/d/\n"
                             "192.0.2.7\n[2001:db8::1]\nhttp://u.example/a%3fb\nhttp://u.example/x/%252e%252e/y\n"
                             "http://u.example/p;a=1/r\n");
  const std::vector<Entry> entries{{.kind = Kind::suffix, .host = "all.example"},
                                   {.kind = Kind::url, .host = "u.example", .path = "/a/b"},
                                   {.kind = Kind::url_query, .host = "u.example", .path = "/q", .query = "x=1"},
                                   {.kind = Kind::directory, .host = "u.example", .path = "/d/"},
                                   {.kind = Kind::exact_host, .host_kind = HostKind::ipv4, .host = "192.0.2.7"},
                                   {.kind = Kind::exact_host, .host_kind = HostKind::ipv6, .host = "[2001:db8::1]"},
                                   {.kind = Kind::url, .host = "u.example", .path = "/a%3Fb"},
                                   {.kind = Kind::url, .host = "u.example", .path = "/x/../y"},
                                   {.kind = Kind::url, .host = "u.example", .path = "/p;a=1/r"}};
  const auto ok = sample_of(entries).check(file);
  EXPECT_TRUE(ok) << ok.error().text();
}

TEST_F(EntrySampleTest, AnEntryThatTheFileLacksIsNamed) {
  const auto file = build_of("f.bwf", "all.example\nhttp://u.example/a\n");
  for (const Entry& absent : std::vector<Entry>{{.kind = Kind::suffix, .host = "other.example"},
                                                {.kind = Kind::subdomains, .host = "u.example"},
                                                {.kind = Kind::url, .host = "u.example", .path = "/b"},
                                                {.kind = Kind::directory, .host = "u.example", .path = "/a/"},
                                                {.kind = Kind::raw, .path = "raw key"}}) {
    const auto ok = sample_of({{.kind = Kind::suffix, .host = "all.example"}, absent}).check(file);
    ASSERT_FALSE(ok) << text_of(absent);
    EXPECT_EQ(ok.error().code, Errc::bad_section);
    EXPECT_THAT(ok.error().what, HasSubstr(text_of(absent)));
    EXPECT_THAT(ok.error().what, HasSubstr("and 0 more of 2"));
  }
}

TEST_F(EntrySampleTest, BothEndsOfARangeAreAsked) {
  const auto file = build_of("f.bwf", "all.example\n192.0.2.0/25\n2001:db8::/32\n198.51.100.7/32\n");
  const auto check = [&](const char* range) {
    EntrySample sample;
    sample.expect_workers(1);
    sample.seen(0, read_address_range(range).range);
    EXPECT_EQ(sample.size(), 1U);
    return sample.check(file);
  };
  for (const char* held : {"192.0.2.0/25", "192.0.2.4-192.0.2.9", "2001:db8::/32"}) EXPECT_TRUE(check(held)) << held;
  for (const char* absent : {"192.0.2.0/24", "192.0.1.255-192.0.2.0", "198.51.100.6-198.51.100.7", "2001:db8::/31"}) {
    const auto ok = check(absent);
    ASSERT_FALSE(ok) << absent;
    EXPECT_EQ(ok.error().code, Errc::bad_section);
    EXPECT_THAT(ok.error().what, HasSubstr("N " + text_of(read_address_range(absent).range)));
  }
}

TEST_F(EntrySampleTest, RawKeysAreAskedByteForByte) {
  const auto file = build_of("r.bwf", "me@example.com\n two blanks \n", true);
  EXPECT_TRUE(sample_of({{.kind = Kind::raw, .path = " two blanks "}}).check(file));
  EXPECT_FALSE(sample_of({{.kind = Kind::raw, .path = "two blanks"}}).check(file));
}

TEST_F(EntrySampleTest, WhatNoRequestCanSpellIsNotAsked) {
  const auto file = build_of("f.bwf", "all.example\n");
  EXPECT_TRUE(sample_of({{.kind = Kind::suffix, .host = "odd!.example"}}).check(file));
}

TEST_F(EntrySampleTest, IsBoundedAndSpreadOverAllThatPassed) {
  EntrySample sample(1000);
  sample.expect_workers(4);
  for (int i = 0; i < 400'000; ++i) {
    const std::string host = "h" + std::to_string(i) + ".example";
    sample.seen(static_cast<unsigned>(i % 4), {.kind = Kind::suffix, .host = host});
  }
  EXPECT_LE(sample.size(), 1000U);
  EXPECT_GE(sample.size(), 400U);
  const std::string long_path(std::size_t{60} << 10, 'a');
  EntrySample large;
  large.expect_workers(1);
  for (int i = 0; i < 2000; ++i) large.seen(0, {.kind = Kind::url, .host = "x.example", .path = "/" + long_path});
  EXPECT_LE(large.size(), 273U) << "16 MiB";
}

}  // namespace
}  // namespace bloomwall::filter
