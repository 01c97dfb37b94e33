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
  return IpAddress::v4(*reading.address).text();
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

TEST(AddressTest, OfAUrlIsWherePacketsGo) {
  struct Row {
    std::string_view text, want;
  };
  for (const auto& [text, want] : {
           Row{"192.0.2.1", "192.0.2.1"},
           Row{"::ffff:192.0.2.1", "192.0.2.1"},
           Row{"[::ffff:192.0.2.1]", "192.0.2.1"},
           Row{"64:ff9b::192.0.2.1", "192.0.2.1"},
           Row{"::192.0.2.1", "[::c000:201]"},
           Row{"64:ff9b:1::1", "[64:ff9b:1::1]"},
           Row{"::fffe:192.0.2.1", "[::fffe:c000:201]"},
           Row{"1::ffff:192.0.2.1", "[1::ffff:c000:201]"},
           Row{"2001:DB8::1", "[2001:db8::1]"},
       }) {
    const auto address = read_address(text);
    EXPECT_EQ(address ? text_of(*address) : "none", want) << text;
  }
}

}  // namespace
}  // namespace bloomwall::filter
