// SPDX-License-Identifier: Apache-2.0
#include "filter/url/address_range.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "tests/filter/url/small_world.h"
#include "tests/support/seed.h"

namespace bloomwall::filter {
namespace {

RangeSet set_of(const std::vector<std::string_view>& texts) {
  std::vector<AddressRange> ranges;
  for (const std::string_view text : texts) {
    const RangeReading reading = read_address_range(text);
    EXPECT_EQ(reading.outcome, RangeReading::Outcome::range) << text;
    ranges.push_back(reading.range);
  }
  return RangeSet(ranges);
}

std::string text_of(const RangeSet& set) {
  std::string out;
  for (const AddressRange& range : set.ranges()) out += (out.empty() ? "" : " ") + filter::text_of(range);
  return out;
}

struct RangeRow {
  std::string_view name;
  std::vector<std::string_view> ranges;
  std::string_view want;
};
class RangeSets : public testing::TestWithParam<RangeRow> {};

TEST_P(RangeSets, AreSortedAndNeitherOverlapNorTouch) {
  const RangeSet set = set_of(GetParam().ranges);
  EXPECT_EQ(text_of(set), GetParam().want);
  EXPECT_EQ(set, RangeSet({set.ipv4().begin(), set.ipv4().end()}, {set.ipv6().begin(), set.ipv6().end()}));
}

INSTANTIATE_TEST_SUITE_P(
    Rules, RangeSets,
    testing::Values(
        RangeRow{"Empty", {}, ""}, RangeRow{"One", {"192.0.2.7/32"}, "192.0.2.7/32"},
        RangeRow{"InAnyOrder", {"192.0.2.0/24", "10.0.0.0/8"}, "10.0.0.0/8 192.0.2.0/24"},
        RangeRow{"Touching", {"192.0.2.0/25", "192.0.2.128/25"}, "192.0.2.0/24"},
        RangeRow{"OneApart", {"192.0.2.0-192.0.2.3", "192.0.2.5-192.0.2.7"}, "192.0.2.0/30 192.0.2.5-192.0.2.7"},
        RangeRow{"Overlapping", {"192.0.2.0-192.0.2.9", "192.0.2.5-192.0.2.20"}, "192.0.2.0-192.0.2.20"},
        RangeRow{"Inside", {"10.0.0.0/8", "10.1.0.0/16", "11.0.0.0/8"}, "10.0.0.0/7"},
        RangeRow{"Twice", {"10.0.0.0/8", "10.0.0.0/8"}, "10.0.0.0/8"},
        RangeRow{"BothEnds", {"0.0.0.0/1", "255.255.255.255/32"}, "0.0.0.0/1 255.255.255.255/32"},
        RangeRow{"NothingBehindTheLast", {"255.255.255.255/32", "0.0.0.0/32"}, "0.0.0.0/32 255.255.255.255/32"},
        RangeRow{"Ipv4BeforeIpv6", {"::/8", "10.0.0.0/8"}, "10.0.0.0/8 [::]/8"},
        RangeRow{"Ipv6Touching", {"2001:db8::/33", "2001:db8:8000::/33"}, "[2001:db8::]/32"},
        RangeRow{"Ipv6TouchingAcrossOctets",
                 {"2001:db8::-2001:db8::ffff", "2001:db8::1:0-2001:db8::1:ffff"},
                 "[2001:db8::]/111"},
        RangeRow{"MappedIsIpv4", {"::ffff:192.0.2.0/121", "192.0.2.128/25"}, "192.0.2.0/24"}),
    [](const auto& row) { return std::string(row.param.name); });

TEST(RangeSet, FindsTheRangeThatHoldsAnAddress) {
  const RangeSet set = set_of({"10.0.0.0/8", "192.0.2.0-192.0.2.9", "2001:db8::/32"});
  const auto found = [&](std::string_view text) {
    const auto range = set.find(*read_address(text));
    return range ? filter::text_of(*range) : "none";
  };
  EXPECT_EQ(found("10.0.0.0"), "10.0.0.0/8");
  EXPECT_EQ(found("10.255.255.255"), "10.0.0.0/8");
  EXPECT_EQ(found("9.255.255.255"), "none");
  EXPECT_EQ(found("11.0.0.0"), "none");
  EXPECT_EQ(found("192.0.2.9"), "192.0.2.0-192.0.2.9");
  EXPECT_EQ(found("192.0.2.10"), "none");
  EXPECT_EQ(found("255.255.255.255"), "none");
  EXPECT_EQ(found("2001:db8::1"), "[2001:db8::]/32");
  EXPECT_EQ(found("2001:db9::"), "none");
  EXPECT_EQ(found("::ffff:10.1.2.3"), "10.0.0.0/8") << "where the packets go";
  EXPECT_EQ(found("64:ff9b::10.1.2.3"), "10.0.0.0/8");
  EXPECT_EQ(found("a00::"), "none") << "octets of 10.0.0.0 in another family";
  EXPECT_FALSE(RangeSet().find(*read_address("10.0.0.1")));
}

TEST(RangeSet, AgreesWithASetOfAddresses) {
  const std::uint32_t seed = bloomwall::test::test_seed();
  SCOPED_TRACE("seed " + std::to_string(seed));
  SmallWorld world(seed);
  for (int round = 0; round < 300; ++round) {
    const auto [a, in_a] = world.some_ranges();
    const auto [b, in_b] = world.some_ranges();
    const RangeSet first(a), second(b);
    const RangeSet both = united(first, second), left = without(first, second);
    for (std::size_t i = 0; i < SmallWorld::kSize; ++i) {
      const IpAddress address = SmallWorld::address(i);
      ASSERT_EQ(first.find(address).has_value(), in_a[i]) << filter::text_of(address);
      ASSERT_EQ(both.find(address).has_value(), in_a[i] || in_b[i]) << filter::text_of(address);
      ASSERT_EQ(left.find(address).has_value(), in_a[i] && !in_b[i]) << filter::text_of(address);
    }
    for (const AddressRange& range : b) ASSERT_EQ(first.overlaps(range), world.holds_some(in_a, range));
    ASSERT_EQ(without(first, first), RangeSet());
    ASSERT_EQ(united(left, second), both);
  }
}

TEST(RangeMap, KeepsTheLastWordAboutEachAddress) {
  const std::uint32_t seed = bloomwall::test::test_seed();
  SCOPED_TRACE("seed " + std::to_string(seed));
  SmallWorld world(seed);
  for (int round = 0; round < 100; ++round) {
    RangeMap map;
    std::vector<std::uint32_t> values(SmallWorld::kSize);
    for (int step = 0; step < 60; ++step) {
      const AddressRange range = world.range();
      const auto value = static_cast<std::uint32_t>(world.below(3));
      ASSERT_EQ(map.has(range, value), world.holds_only(values, range, value));
      map.set(range, value);
      world.each(range, [&](std::size_t i) { values[i] = value; });
      ASSERT_TRUE(map.has(range, value));
      const AddressRange other = world.range();
      for (const std::uint32_t wanted : {1U, 2U}) {
        std::vector<bool> is_wanted;
        for (const std::uint32_t it : values) is_wanted.push_back(it == wanted);
        ASSERT_EQ(map.touches(other, wanted), world.holds_some(is_wanted, other));
      }
    }
    const RangeSet ones = map.of(1), twos = map.of(2);
    for (std::size_t i = 0; i < SmallWorld::kSize; ++i) {
      ASSERT_EQ(ones.find(SmallWorld::address(i)).has_value(), values[i] == 1);
      ASSERT_EQ(twos.find(SmallWorld::address(i)).has_value(), values[i] == 2);
    }
    ASSERT_LE(ones.size() + twos.size(), map.pieces());
  }
}

}  // namespace
}  // namespace bloomwall::filter
