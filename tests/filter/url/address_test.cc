// SPDX-License-Identifier: Apache-2.0
#include <optional>
#include <string>

#include <gtest/gtest.h>

#include "filter/url/address.h"

namespace bloomwall::filter {
namespace {

std::string ipv4(std::string_view host) {
  const Ipv4Reading reading = read_ipv4(host);
  if (!reading.ends_in_number) return "name";
  if (!reading.address) return "bad";
  std::string out;
  append_ipv4(*reading.address, out);
  return out;
}

std::string ipv6(std::string_view text) {
  const std::optional<Ipv6Groups> groups = read_ipv6(text);
  if (!groups) return "bad";
  std::string out;
  append_ipv6(*groups, out);
  return out;
}

std::optional<std::uint32_t> embedded(std::string_view text) {
  return embedded_ipv4(read_ipv6(text).value_or(Ipv6Groups{}));
}

TEST(Ipv4Test, EveryPartFillsWhatIsLeft) {
  EXPECT_EQ(ipv4("1"), "0.0.0.1");
  EXPECT_EQ(ipv4("1.2"), "1.0.0.2");
  EXPECT_EQ(ipv4("1.2.772"), "1.2.3.4");
  EXPECT_EQ(ipv4("1.2.3.4"), "1.2.3.4");
  EXPECT_EQ(ipv4("1.2.3.4.5"), "bad");
}

TEST(Ipv4Test, LimitsOfEachPart) {
  EXPECT_EQ(ipv4("4294967295"), "255.255.255.255");
  EXPECT_EQ(ipv4("4294967296"), "bad");
  EXPECT_EQ(ipv4("255.16777215"), "255.255.255.255");
  EXPECT_EQ(ipv4("255.16777216"), "bad");
  EXPECT_EQ(ipv4("255.255.65535"), "255.255.255.255");
  EXPECT_EQ(ipv4("255.255.65536"), "bad");
  EXPECT_EQ(ipv4("256.1"), "bad");
}

TEST(Ipv4Test, Bases) {
  EXPECT_EQ(ipv4("0x7F.1"), "127.0.0.1");
  EXPECT_EQ(ipv4("0177.1"), "127.0.0.1");
  EXPECT_EQ(ipv4("00.0.0.00"), "0.0.0.0");
  EXPECT_EQ(ipv4("0X"), "0.0.0.0");
  EXPECT_EQ(ipv4("0x1ffffffff"), "bad");
  EXPECT_EQ(ipv4(std::string(5000, '0') + "1"), "0.0.0.1");
  EXPECT_EQ(ipv4(std::string(5000, '9')), "bad");
}

TEST(Ipv4Test, OnlyTheLastLabelMakesANumber) {
  EXPECT_EQ(ipv4("1.2.3.x"), "name");
  EXPECT_EQ(ipv4("0xg"), "name");
  EXPECT_EQ(ipv4("00x0"), "name");
  EXPECT_EQ(ipv4("x.09"), "bad");
  EXPECT_EQ(ipv4("x.0x9"), "bad");
  EXPECT_EQ(ipv4("-1"), "name");
}

TEST(Ipv4Test, DottedFormIsStrict) {
  EXPECT_EQ(read_dotted_ipv4("192.0.2.1"), 0xC0000201U);
  EXPECT_EQ(read_dotted_ipv4("0.0.0.0"), 0U);
  for (const char* const text :
       {"", "1", "1.2.3", "1.2.3.4.", ".1.2.3", "1.2.3.4.5", "01.2.3.4", "1.2.3.256", "0x1.2.3.4", "1..2.3"}) {
    EXPECT_EQ(read_dotted_ipv4(text), std::nullopt) << text;
  }
}

TEST(Ipv6Test, WritesTheOneSpelling) {
  EXPECT_EQ(ipv6("::"), "[::]");
  EXPECT_EQ(ipv6("::1"), "[::1]");
  EXPECT_EQ(ipv6("1::"), "[1::]");
  EXPECT_EQ(ipv6("ABCD:0:0:0:00EF:0:0:0"), "[abcd::ef:0:0:0]");
  EXPECT_EQ(ipv6("0:0:1:0:0:0:1:0"), "[0:0:1::1:0]");
  EXPECT_EQ(ipv6("0:1:0:1:0:1:0:1"), "[0:1:0:1:0:1:0:1]");
  EXPECT_EQ(ipv6("1:2:3:4:5:6:7:8"), "[1:2:3:4:5:6:7:8]");
  EXPECT_EQ(ipv6("1:2:3:4:5:6:7::"), "[1:2:3:4:5:6:7:0]");
  EXPECT_EQ(ipv6("::2:3:4:5:6:7:8"), "[0:2:3:4:5:6:7:8]");
  EXPECT_EQ(ipv6("ffff:ffff:ffff:ffff:ffff:ffff:255.255.255.255"), "[ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff]");
  EXPECT_EQ(ipv6("1::2:192.0.2.1"), "[1::2:c000:201]");
}

TEST(Ipv6Test, RefusesWhatIsNoAddress) {
  for (const char* const text : {"",
                                 ":",
                                 ":::",
                                 "1",
                                 "1:2:3:4:5:6:7",
                                 "1:2:3:4:5:6:7:8:9",
                                 "1::2::3",
                                 "1:::2",
                                 ":1:2:3:4:5:6:7:8",
                                 "1:2:3:4:5:6:7:8:",
                                 "::12345",
                                 "::g",
                                 "::1.2.3",
                                 "1.2.3.4",
                                 "1.2.3.4::",
                                 "1:2:3:4:5:6:7:1.2.3.4",
                                 "::1.2.3.4:5",
                                 "::%",
                                 "[::1]",
                                 " ::1",
                                 "1:2:3:4::5:6:7:8",
                                 "ffff:ffff:ffff:ffff:ffff:ffff:255.255.255.2555"}) {
    EXPECT_EQ(ipv6(text), "bad") << text;
  }
}

TEST(Ipv6Test, AddressesThatCarryIpv4) {
  EXPECT_EQ(embedded("::ffff:192.0.2.1"), 0xC0000201U);
  EXPECT_EQ(embedded("64:ff9b::192.0.2.1"), 0xC0000201U);
  for (const char* const text :
       {"::192.0.2.1", "64:ff9b:1::1", "::fffe:192.0.2.1", "1::ffff:192.0.2.1", "2001:db8::1"}) {
    EXPECT_EQ(embedded(text), std::nullopt) << text;
  }
}

}  // namespace
}  // namespace bloomwall::filter
