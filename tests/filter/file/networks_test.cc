// The section of networks: bytes there and back, hostile ones refused, and files that hold it.
// SPDX-License-Identifier: Apache-2.0
#include "filter/file/networks.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/filter/file/sample_filter.h"

namespace bloomwall::filter {
namespace {

using testing::HasSubstr;
using testing_support::read_bytes;
using testing_support::TempDir;
using testing_support::write_bytes;

AddressRange range(const char* text) {
  const RangeReading reading = read_address_range(text);
  EXPECT_EQ(reading.outcome, RangeReading::Outcome::range) << text;
  return reading.range;
}

RangeSet three() {
  const std::vector<AddressRange> ranges{range("1.10.16.0/20"), range("192.0.2.9/32"), range("2001:db8::/32")};
  return RangeSet(ranges);
}

IpAddress address(const char* text) { return read_address(text).value(); }

TEST(Networks, ComeBackAsTheyWent) {
  const auto bytes = serialise_networks(three());
  EXPECT_EQ(bytes.size(), kNetworksHeaderBytes + 2 * kIpv4RangeBytes + kIpv6RangeBytes);
  const auto parsed = parse_networks(bytes);
  ASSERT_TRUE(parsed) << parsed.error().text();
  EXPECT_EQ(*parsed, three());
  EXPECT_EQ(ipv4_addresses(*parsed), 4097U);
  for (const char* inside : {"1.10.16.0", "1.10.31.255", "192.0.2.9", "::ffff:192.0.2.9", "2001:db8::1"}) {
    EXPECT_TRUE(parsed->find(address(inside))) << inside;
  }
  for (const char* outside : {"1.10.15.255", "1.10.32.0", "192.0.2.8", "192.0.2.10", "2001:db9::", "::1"}) {
    EXPECT_FALSE(parsed->find(address(outside))) << outside;
  }
}

TEST(Networks, NoneMakeNoSection) { EXPECT_TRUE(serialise_networks(RangeSet()).empty()); }

// As the contract has them: filter/FORMAT.md.
TEST(Networks, BytesAreThoseOfTheContract) {
  const std::vector<AddressRange> ranges{range("1.2.3.4-1.2.3.9"), range("2001:db8::1-2001:db8::2")};
  const auto bytes = serialise_networks(RangeSet(ranges));
  const std::vector<int> want{'B', 'W', 'N',  '1', 1,    0,    0, 0,    1,    0, 0, 0, 0, 0, 0, 0, 4, 3, 2,
                              1,   9,   3,    2,   1,    0x20, 1, 0x0d, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,
                              0,   1,   0x20, 1,   0x0d, 0xb8, 0, 0,    0,    0, 0, 0, 0, 0, 0, 0, 0, 2};
  ASSERT_EQ(bytes.size(), want.size());
  for (std::size_t i = 0; i < want.size(); ++i) EXPECT_EQ(std::to_integer<int>(bytes[i]), want[i]) << i;
}

TEST(Networks, EveryDamageIsRefused) {
  const auto whole = serialise_networks(three());
  for (std::size_t cut = 0; cut < whole.size(); ++cut) {
    EXPECT_FALSE(parse_networks(std::span(whole).first(cut))) << cut << " bytes";
  }
  auto longer = whole;
  longer.push_back(std::byte{0});
  EXPECT_FALSE(parse_networks(longer)) << "a byte behind the last range";
  struct Case {
    const char* name;
    std::size_t at;
    int value;
    const char* says;
  };
  const Case cases[] = {
      {"magic", 0, 'X', "not a section of networks"},
      {"fewer of IPv4", 4, 1, "bytes"},
      {"more of IPv6", 8, 2, "bytes"},
      {"more than a file holds", 7, 1, "ranges"},
      {"counts that wrap", 11, 0xFF, "ranges"},
      {"reserved bytes", 12, 1, "reserved"},
      {"IPv4 backwards", 19, 2, "IPv4 range 0 ends before it begins"},
      {"IPv4 out of order", 23, 0xFE, "IPv4 range 1 is out of order"},
      {"IPv6 backwards", 32, 0x21, "IPv6 range 0 ends before it begins"},
  };
  for (const Case& c : cases) {
    auto damaged = whole;
    damaged[c.at] = static_cast<std::byte>(c.value);
    const auto parsed = parse_networks(damaged);
    ASSERT_FALSE(parsed) << c.name;
    EXPECT_EQ(parsed.error().code, Errc::bad_section) << c.name;
    EXPECT_EQ(parsed.error().where, "networks") << c.name;
    EXPECT_THAT(parsed.error().what, HasSubstr(c.says)) << c.name;
    EXPECT_THAT(parsed.error().what, HasSubstr("fetch or build the file again")) << c.name;
  }
}

// What RangeSet would never make is written by hand.
TEST(Networks, RangesThatMeetAreRefused) {
  struct Case {
    const char* name;
    RangeSet::Ipv4Range first, second;
    bool taken;
  };
  constexpr std::uint32_t kLast = 0xFFFFFFFF;
  for (const Case& c : {Case{"a gap of one", {1, 2}, {4, 5}, true}, Case{"touching", {1, 2}, {3, 4}, false},
                        Case{"overlapping", {1, 3}, {3, 4}, false}, Case{"equal", {1, 3}, {1, 3}, false},
                        Case{"inside", {1, 9}, {3, 4}, false}, Case{"backwards", {7, 8}, {3, 4}, false},
                        Case{"both ends of the world", {0, 0}, {kLast, kLast}, true},
                        Case{"behind the last address", {1, kLast}, {3, 4}, false}}) {
    std::vector<std::byte> bytes = serialise_networks(RangeSet({c.first}, {}));
    bytes[4] = std::byte{2};
    const auto more = std::as_bytes(std::span(&c.second, 1));
    bytes.insert(bytes.end(), more.begin(), more.end());
    EXPECT_EQ(parse_networks(bytes).has_value(), c.taken) << c.name;
  }
}

class NetworksInAFile : public testing::Test {
 protected:
  static FilterWriter::Plan plan(const RangeSet& networks) {
    FilterWriter::Plan plan = testing_support::sample_plan();
    plan.networks = serialise_networks(networks);
    plan.header.kinds[index_of(Kind::network)] = {.entries = networks.size(), .keys = networks.size()};
    return plan;
  }
  TempDir dir_;
};

TEST_F(NetworksInAFile, AreThereOnceItIsOpen) {
  testing_support::write_sample(dir_ / "f.bwf", plan(three()));
  const auto file = FilterFile::open(dir_ / "f.bwf");
  ASSERT_TRUE(file) << file.error().text();
  EXPECT_EQ((*file)->networks(), three());
  EXPECT_TRUE((*file)->header().find(SectionType::networks)->critical);
  EXPECT_TRUE((*file)->verify(FilterFile::Depth::tampering));
  testing_support::write_sample(dir_ / "without.bwf");
  const auto without = FilterFile::open(dir_ / "without.bwf");
  ASSERT_TRUE(without);
  EXPECT_TRUE((*without)->networks().empty());
  EXPECT_NE(content_id((*file)->header()), content_id((*without)->header()));
}

TEST_F(NetworksInAFile, EveryBitOfThemThatChangesIsFoundWhenItIsOpened) {
  testing_support::write_sample(dir_ / "f.bwf", plan(three()));
  const auto whole = read_bytes(dir_ / "f.bwf");
  const auto header = parse_header(whole, whole.size());
  ASSERT_TRUE(header);
  const SectionEntry section = *header->find(SectionType::networks);
  for (std::uint64_t at = section.offset; at < section.offset + section.length; ++at) {
    auto damaged = whole;
    damaged[at] ^= std::byte{1};
    write_bytes(dir_ / "d.bwf", damaged);
    const auto file = FilterFile::open(dir_ / "d.bwf");
    ASSERT_FALSE(file) << at;
    EXPECT_EQ(file.error().code, Errc::bad_digest);
    EXPECT_THAT(file.error().what, HasSubstr("section networks is damaged; fetch or build the file again"));
  }
}

TEST_F(NetworksInAFile, CountedOtherwiseThanTheHeaderSaysAreRefused) {
  FilterWriter::Plan other = plan(three());
  other.header.kinds[index_of(Kind::network)].keys = 2;
  testing_support::write_sample(dir_ / "f.bwf", std::move(other));
  const auto file = FilterFile::open(dir_ / "f.bwf");
  ASSERT_FALSE(file);
  EXPECT_EQ(file.error().code, Errc::bad_section);
  EXPECT_THAT(file.error().text(), HasSubstr("networks: 3 ranges where the header says 2"));
}

// Sealed again after the change: what a careful attacker would send.
TEST_F(NetworksInAFile, HostileOnesWithTheRightDigestsAreRefused) {
  std::vector<std::byte> touching = serialise_networks(RangeSet({{1, 2}, {9, 9}}, {}));
  touching[24] = touching[28] = std::byte{3};
  FilterWriter::Plan hostile = plan(RangeSet({{1, 2}, {9, 9}}, {}));
  hostile.networks = touching;
  testing_support::write_sample(dir_ / "f.bwf", std::move(hostile));
  const auto file = FilterFile::open(dir_ / "f.bwf");
  ASSERT_FALSE(file);
  EXPECT_EQ(file.error().code, Errc::bad_section);
  EXPECT_THAT(file.error().text(), HasSubstr("networks: IPv4 range 1 is out of order, overlaps or touches"));
}

TEST_F(NetworksInAFile, ACountingFilterHasNone) {
  FilterWriter::Plan counters = plan(three());
  counters.header.incompatible = kCountersFeature;
  auto writer = FilterWriter::create(dir_ / "f.bwc", std::move(counters));
  ASSERT_TRUE(writer);
  const auto done = (*writer)->commit();
  ASSERT_FALSE(done);
  EXPECT_THAT(done.error().text(), HasSubstr("a counting filter holds no ranges of addresses"));
}

}  // namespace
}  // namespace bloomwall::filter
