// SPDX-License-Identifier: Apache-2.0
#include "filter/url/address_range.h"

#include <gtest/gtest.h>

#include <string>

#include "tests/filter/lists/list_text.h"

namespace bloomwall::filter::test {
namespace {

std::string told(std::string_view text) {
  const RangeReading reading = read_address_range(text);
  switch (reading.outcome) {
    case RangeReading::Outcome::no_range:
      return "none";
    case RangeReading::Outcome::range:
      return text_of(reading.range);
    case RangeReading::Outcome::malformed:
      return "bad: " + std::string(reading.reason);
    case RangeReading::Outcome::unsupported:
      return "skip: " + std::string(reading.reason);
  }
  return "?";
}

TEST(AddressRange, OfClientsIsWhereTheyComeFrom) {
  for (const std::string_view text : {"64:ff9b::/100", "64:ff9b::c000:207-64:ff9b::c000:208"}) {
    const RangeReading destinations = read_address_range(text), clients = read_address_range(text, RangeOf::clients);
    EXPECT_TRUE(destinations.range.is_v4()) << text;
    EXPECT_FALSE(clients.range.is_v4()) << text;
    EXPECT_FALSE(clients.range.contains(*IpAddress::parse("192.0.2.7"))) << text;
  }
}

class AddressRanges : public testing::TestWithParam<Row> {};
TEST_P(AddressRanges, AreRead) { EXPECT_EQ(told(GetParam().text), GetParam().want); }
INSTANTIATE_TEST_SUITE_P(
    Rules, AddressRanges,
    testing::Values(Row{"Ipv4", "1.10.16.0/20", "1.10.16.0/20"}, Row{"Ipv6", "2001:DB8::/32", "[2001:db8::]/32"},
                    Row{"Brackets", "[2001:db8::]/32", "[2001:db8::]/32"}, Row{"One", "192.0.2.1/32", "192.0.2.1/32"},
                    Row{"OneOfIpv6", "2001:db8::1/128", "[2001:db8::1]/128"},
                    Row{"Mask", "10.0.0.0/255.255.0.0", "10.0.0.0/16"},
                    Row{"Dash", "192.0.2.0-192.0.2.9", "192.0.2.0-192.0.2.9"},
                    Row{"DashWithBlanks", "192.0.2.0 - 192.0.2.255", "192.0.2.0/24"},
                    Row{"DashOfIpv6", "2001:db8::1-2001:db8::2", "[2001:db8::1]-[2001:db8::2]"},
                    Row{"Mapped", "::ffff:192.0.2.0/120", "192.0.2.0/24"},
                    Row{"Nat64", "64:ff9b::192.0.2.0/120", "192.0.2.0/24"}, Row{"Stars", "192.0.2.*", "192.0.2.0/24"},
                    Row{"StarsOfALongerRange", "192.0.*.*", "192.0.0.0/16"},
                    Row{"OneStarForSeveralOctets", "10.*", "10.0.0.0/8"}),
    row_name);
INSTANTIATE_TEST_SUITE_P(
    Broken, AddressRanges,
    testing::Values(Row{"BitsBeyond", "192.0.2.5/24", "bad: address range with bits set beyond its prefix"},
                    Row{"PrefixTooLong", "192.0.2.0/33", "bad: prefix longer than the address"},
                    Row{"PrefixTooLongOfIpv6", "2001:db8::/129", "bad: prefix longer than the address"},
                    Row{"Everything", "0.0.0.0/0", "skip: range of every address"},
                    Row{"EverythingOfIpv6", "::/0", "skip: range of every address"},
                    Row{"MappedEverything", "::ffff:0:0/96", "skip: range of every address"},
                    Row{"Backwards", "192.0.2.9-192.0.2.0", "bad: address range that ends before it begins"},
                    Row{"TwoKinds", "192.0.2.9-2001:db8::1", "bad: address range whose end can't be read"},
                    Row{"ShortEnd", "192.0.2.1-9", "bad: address range whose end can't be read"},
                    Row{"Shortened", "10/8", "bad: address range whose address can't be read"},
                    Row{"LeadingZeros", "010.0.0.0/8", "bad: address range whose address can't be read"},
                    Row{"MaskWithGaps", "10.0.0.0/255.0.255.0", "bad: address range with a mask that is not a prefix"}),
    row_name);
INSTANTIATE_TEST_SUITE_P(Others, AddressRanges,
                         testing::Values(Row{"Address", "192.0.2.1", "none"}, Row{"Name", "a-b.example", "none"},
                                         Row{"Page", "192.0.2.1/2024", "none"}, Row{"Path", "192.0.2.1/1/2", "none"},
                                         Row{"Url", "http://192.0.2.0/24", "none"}, Row{"Port", "abc:80/24", "none"},
                                         Row{"NameWithDigits", "1.2.3.4-5.example", "none"},
                                         Row{"NamePath", "bad.cafe/24", "none"}, Row{"StarsAlone", "*.*.*.*", "none"},
                                         Row{"StarInTheMiddle", "192.*.2.*", "none"},
                                         Row{"StarsOfANumber", "256.1.*", "none"},
                                         Row{"TooManyStars", "192.0.2.*.*", "none"},
                                         Row{"StarBehindAName", "a.example.*", "none"}, Row{"Nothing", "", "none"}),
                         row_name);

struct RangeSink final : ListSink {
  void entry(const Entry& entry, std::uint64_t /*line*/) override { told.push_back(text_of(entry)); }
  void allow(std::string_view text, std::uint64_t /*line*/) override { told.emplace_back(text); }
  bool takes_ranges() const override { return true; }
  void range(const AddressRange& range, std::uint64_t line) override {
    told.push_back(fmt::format("{}: {}", line, text_of(range)));
  }
  std::vector<std::string> told;
};

TEST(AddressRangeSink, IsHandedRangesOfEveryFormatThatHoldsThem) {
  for (const Format format : {Format::domains, Format::urls, Format::squidguard_domains, Format::squidguard_urls,
                              Format::wildcard, Format::mixed}) {
    RangeSink sink;
    ReadOptions options;
    options.format = format;
    const auto report = read_list(
        ListInput::of_memory("; DROP\n1.10.16.0/20 ; SBL1\n2001:db8::/32\n192.0.2.1/32\n", "list"), {}, options, sink);
    ASSERT_TRUE(report) << report.error().text();
    EXPECT_EQ(sink.told, (std::vector<std::string>{"2: 1.10.16.0/20", "3: [2001:db8::]/32", "4: 192.0.2.1/32"}))
        << to_string(format);
    EXPECT_EQ(report->entries[index_of(Kind::network)], 3U);
    EXPECT_EQ(report->taken, 3U);
    EXPECT_EQ(report->unusable, 0U);
  }
}

}  // namespace
}  // namespace bloomwall::filter::test
