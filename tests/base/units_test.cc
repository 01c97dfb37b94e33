// SPDX-License-Identifier: Apache-2.0
#include "base/units.h"

#include <gtest/gtest.h>

namespace bloomwall {
namespace {

using namespace std::chrono_literals;

TEST(Units, DurationsAreOneNumberAndOneUnit) {
  EXPECT_EQ(parse_duration("500ms"), 500ms);
  EXPECT_EQ(parse_duration("10s"), 10s);
  EXPECT_EQ(parse_duration("010s"), 10s);
  EXPECT_EQ(parse_duration("10m"), 10min);
  EXPECT_EQ(parse_duration("2h"), 2h);
  EXPECT_EQ(parse_duration("30d"), 720h);
  EXPECT_EQ(parse_duration("0"), 0ms);
  EXPECT_EQ(parse_duration("0s"), 0ms);
  for (const char* bad :
       {"", "s", "10", "10 s", " 10s", "10s ", "-1s", "+1s", "1.5s", "1s1s", "10S", "10sec", "1e3s"}) {
    EXPECT_EQ(parse_duration(bad), std::nullopt) << bad;
  }
}

TEST(Units, SizesKnowThousandsAndBinaryUnits) {
  EXPECT_EQ(parse_size("65536"), 65536U);
  EXPECT_EQ(parse_size("1B"), 1U);
  EXPECT_EQ(parse_size("64KiB"), 65536U);
  EXPECT_EQ(parse_size("64KB"), 64000U);
  EXPECT_EQ(parse_size("64K"), 64000U);
  EXPECT_EQ(parse_size("30GB"), 30'000'000'000U);
  EXPECT_EQ(parse_size("24GiB"), 24ULL << 30);
  EXPECT_EQ(parse_size("10G"), 10'000'000'000U);
  EXPECT_EQ(parse_size("2TiB"), 2ULL << 40);
  for (const char* bad : {"", "KiB", "1kb", "1Kib", "1.5GiB", "-1", "0x10", "1 KiB", "1KiBKiB"}) {
    EXPECT_EQ(parse_size(bad), std::nullopt) << bad;
  }
}

TEST(Units, PercentAreWholeNumbersWithTheirSign) {
  EXPECT_EQ(parse_percent("2%"), 2U);
  EXPECT_EQ(parse_percent("100%"), 100U);
  for (const char* bad : {"", "%", "2", "2 %", "-2%", "1.5%", "2%%", "two%"})
    EXPECT_EQ(parse_percent(bad), std::nullopt) << bad;
}

TEST(Units, NothingWraps) {
  EXPECT_EQ(parse_integer("18446744073709551615"), UINT64_MAX);
  EXPECT_EQ(parse_integer("18446744073709551616"), std::nullopt);
  EXPECT_EQ(parse_size("16777215TiB"), 16777215ULL << 40);
  EXPECT_EQ(parse_size("16777216TiB"), std::nullopt);
  EXPECT_EQ(parse_duration("106751991167d"), Milliseconds(106751991167LL * 86'400'000));
  EXPECT_EQ(parse_duration("106751991168d"), std::nullopt);
  EXPECT_EQ(parse_duration("9223372036854775808ms"), std::nullopt);
}

TEST(Units, FormattedValuesAreExactAndParseBack) {
  EXPECT_EQ(format_duration(0ms), "0");
  EXPECT_EQ(format_duration(1ms), "1ms");
  EXPECT_EQ(format_duration(1500ms), "1500ms");
  EXPECT_EQ(format_duration(90s), "90s");
  EXPECT_EQ(format_duration(10min), "10m");
  EXPECT_EQ(format_duration(24h), "1d");
  EXPECT_EQ(format_size(0), "0");
  EXPECT_EQ(format_size(1000), "1KB");
  EXPECT_EQ(format_size(1024), "1KiB");
  EXPECT_EQ(format_size(1025), "1025B");
  EXPECT_EQ(format_size(30'000'000'000), "30GB");
  for (std::uint64_t value = 1; value < (1ULL << 62); value = value * 3 + 1) {
    EXPECT_EQ(parse_size(format_size(value)), value);
    const Milliseconds wait(static_cast<Milliseconds::rep>(value));
    EXPECT_EQ(parse_duration(format_duration(wait)), wait);
  }
}

TEST(Format, CountsHaveSeparators) {
  EXPECT_EQ(format_count(0), "0");
  EXPECT_EQ(format_count(999), "999");
  EXPECT_EQ(format_count(1000), "1,000");
  EXPECT_EQ(format_count(1234567), "1,234,567");
  EXPECT_EQ(format_count(18446744073709551615ULL), "18,446,744,073,709,551,615");
}

TEST(Format, BytesAreDecimal) {
  EXPECT_EQ(format_bytes(0), "0 bytes");
  EXPECT_EQ(format_bytes(999), "999 bytes");
  EXPECT_EQ(format_bytes(1000), "1.0 kB");
  EXPECT_EQ(format_bytes(999'949), "999.9 kB");
  EXPECT_EQ(format_bytes(999'950), "1.0 MB") << "rounds up into the next unit";
  EXPECT_EQ(format_bytes(30'000'000'000), "30.0 GB");
  EXPECT_EQ(format_bytes(18446744073709551615ULL), "18.4 EB");
}

TEST(Format, TimesAreUtc) {
  EXPECT_EQ(format_time(0), "-");
  EXPECT_EQ(format_time(1), "1970-01-01T00:00:01Z");
  EXPECT_EQ(format_time(951'782'400), "2000-02-29T00:00:00Z");
  EXPECT_EQ(format_time(1'767'225'599), "2025-12-31T23:59:59Z");
  EXPECT_EQ(format_time(253'402'300'800), "@253402300800") << "past the year 9999";
  EXPECT_EQ(format_time(18446744073709551615ULL), "@18446744073709551615");
}

TEST(Format, RatesHaveThreeDigits) { EXPECT_EQ(format_rate(4.0312e-7), "4.03e-07"); }

}  // namespace
}  // namespace bloomwall
