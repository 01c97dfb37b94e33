// SPDX-License-Identifier: Apache-2.0
#include "filter/cli/parsed_option.h"

#include <gtest/gtest.h>

#include <optional>

namespace bloomwall::filter {
namespace {

struct QuantityCase {
  const char* name;
  const char* text;
  std::optional<std::uint64_t> want;
};
std::string name_of(const testing::TestParamInfo<QuantityCase>& info) { return info.param.name; }

class CountTest : public testing::TestWithParam<QuantityCase> {};
TEST_P(CountTest, GivesTheNumberOrRefuses) {
  const auto got = count_from(GetParam().text);
  ASSERT_EQ(got.has_value(), GetParam().want.has_value());
  if (got) {
    EXPECT_EQ(*got, *GetParam().want);
  } else {
    EXPECT_EQ(got.error().code, Errc::usage);
    EXPECT_NE(got.error().what.find(GetParam().text), std::string::npos) << "the message repeats the text";
  }
}
INSTANTIATE_TEST_SUITE_P(
    Rules, CountTest,
    testing::Values(QuantityCase{"Plain", "10", 10}, QuantityCase{"Zero", "0", 0}, QuantityCase{"Thousand", "5k", 5000},
                    QuantityCase{"CapitalThousand", "5K", 5000}, QuantityCase{"Million", "20M", 20'000'000},
                    QuantityCase{"Billion", "10G", 10'000'000'000}, QuantityCase{"Trillion", "2T", 2'000'000'000'000},
                    QuantityCase{"Quadrillion", "1P", 1'000'000'000'000'000}, QuantityCase{"Fraction", "1.5k", 1500},
                    QuantityCase{"FractionAlone", ".5k", 500}, QuantityCase{"Exponent", "1e10", 10'000'000'000},
                    QuantityCase{"FractionAndExponent", "2.5e3", 2500}, QuantityCase{"LongFraction", "1.000k", 1000},
                    QuantityCase{"Largest", "18446744073709551615", 18446744073709551615ULL},
                    QuantityCase{"OverLargest", "18446744073709551616", {}},
                    QuantityCase{"OverByUnit", "18446744073709552k", {}}, QuantityCase{"OverByExponent", "1e20", {}},
                    QuantityCase{"NotWhole", "1.5", {}}, QuantityCase{"NotWholeThousand", "1.0005k", {}},
                    QuantityCase{"Empty", "", {}}, QuantityCase{"UnitAlone", "k", {}},
                    QuantityCase{"Negative", "-1", {}}, QuantityCase{"Plus", "+1", {}}, QuantityCase{"Blank", " 1", {}},
                    QuantityCase{"BinaryUnit", "1Ki", {}}, QuantityCase{"Bytes", "1kB", {}},
                    QuantityCase{"Words", "ten", {}}, QuantityCase{"TwoPoints", "1.2.3", {}},
                    QuantityCase{"HugeExponent", "1e999999999999", {}}),
    name_of);

class BytesTest : public testing::TestWithParam<QuantityCase> {};
TEST_P(BytesTest, GivesTheNumberOrRefuses) {
  const auto got = bytes_from(GetParam().text);
  ASSERT_EQ(got.has_value(), GetParam().want.has_value());
  if (got) {
    EXPECT_EQ(*got, *GetParam().want);
  }
}
INSTANTIATE_TEST_SUITE_P(
    Rules, BytesTest,
    testing::Values(
        QuantityCase{"Plain", "4096", 4096}, QuantityCase{"PlainB", "4096B", 4096},
        QuantityCase{"Decimal", "30GB", 30'000'000'000}, QuantityCase{"DecimalWithoutB", "30G", 30'000'000'000},
        QuantityCase{"Binary", "24GiB", 25'769'803'776}, QuantityCase{"BinaryWithoutB", "24Gi", 25'769'803'776},
        QuantityCase{"Kibi", "4KiB", 4096}, QuantityCase{"Kilo", "4kB", 4000}, QuantityCase{"Mebi", "2MiB", 2'097'152},
        QuantityCase{"Tebi", "1TiB", 1'099'511'627'776}, QuantityCase{"BinaryFraction", "1.5GiB", 1'610'612'736},
        QuantityCase{"QuarterKibi", "0.25KiB", 256}, QuantityCase{"NotWholeBinary", "0.1KiB", {}},
        QuantityCase{"Bits", "4Gib", 4'294'967'296}, QuantityCase{"Empty", "", {}}, QuantityCase{"UnitAlone", "GB", {}},
        QuantityCase{"TwoUnits", "1GG", {}}, QuantityCase{"UnknownUnit", "1X", {}}, QuantityCase{"BAlone", "B", {}},
        QuantityCase{"Over", "20000PB", {}}),
    name_of);

TEST(Rate, LiesBetweenZeroAndOne) {
  EXPECT_DOUBLE_EQ(*rate_from("1e-6"), 1e-6);
  EXPECT_DOUBLE_EQ(*rate_from("0.0001"), 1e-4);
  for (const char* text : {"0", "1", "-1e-6", "nan", "inf", "", "1e-6x", "1%", " 1e-6"}) {
    EXPECT_FALSE(rate_from(text)) << text;
  }
}

TEST(Weight, IsAnyNumberFromZeroUp) {
  EXPECT_DOUBLE_EQ(*weight_from("0"), 0);
  EXPECT_DOUBLE_EQ(*weight_from("0.85"), 0.85);
  EXPECT_DOUBLE_EQ(*weight_from("8G"), 8e9);
  for (const char* text : {"-1", "nan", "inf", "", "x", "1 "}) EXPECT_FALSE(weight_from(text)) << text;
}

}  // namespace
}  // namespace bloomwall::filter
