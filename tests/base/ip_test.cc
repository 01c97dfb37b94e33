// SPDX-License-Identifier: Apache-2.0
#include "base/ip.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>

#include <algorithm>
#include <array>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "tests/support/seed.h"

namespace bloomwall {
namespace {

IpAddress address(std::string_view text) {
  const auto parsed = IpAddress::parse(text);
  EXPECT_TRUE(parsed) << text;
  return parsed.value_or(IpAddress{});
}
IpNetwork network(std::string_view text) {
  const auto parsed = IpNetwork::parse(text);
  EXPECT_TRUE(parsed) << text;
  return parsed.value_or(IpNetwork{});
}

TEST(IpAddress, IsWrittenInOneWay) {
  struct Row {
    std::string_view text, written;
  };
  for (const auto& [text, written] : {
           Row{"192.0.2.1", "192.0.2.1"},
           Row{"0.0.0.0", "0.0.0.0"},
           Row{"255.255.255.255", "255.255.255.255"},
           Row{"2001:DB8:0::1", "2001:db8::1"},
           Row{"::", "::"},
           Row{"::1", "::1"},
           Row{"1::", "1::"},
           Row{"1:0:0:2:0:0:0:3", "1:0:0:2::3"},
           Row{"1:0:0:2:3:0:0:4", "1::2:3:0:0:4"},
           Row{"1:0:2:3:4:5:6:7", "1:0:2:3:4:5:6:7"},
           Row{"::ffff:192.0.2.1", "192.0.2.1"},
           Row{"::FFFF:C000:201", "192.0.2.1"},
           Row{"0:0:0:0:0:ffff:192.0.2.1", "192.0.2.1"},
           Row{"::192.0.2.1", "::c000:201"},
           Row{"64:ff9b::192.0.2.1", "64:ff9b::c000:201"},
       }) {
    EXPECT_EQ(address(text).text(), written) << text;
    EXPECT_EQ(address(written), address(text)) << text;
  }
}

TEST(IpAddress, RefusesEverythingElse) {
  for (const std::string_view text : {"",
                                      "1",
                                      ".",
                                      "1.2.3",
                                      "1.2.3.",
                                      ".1.2.3.4",
                                      "1.2.3.4.",
                                      "1.2.3.4.5",
                                      "1.2.3.256",
                                      "01.2.3.4",
                                      "1.2.3.00",
                                      "1.2.3.4 ",
                                      " 1.2.3.4",
                                      "0x7f.0.0.1",
                                      "2130706433",
                                      "1..2.3",
                                      "+1.2.3.4",
                                      "1.2.3.1000",
                                      "::g",
                                      "[::1",
                                      "::1]",
                                      "[::1]",
                                      "[1.2.3.4]",
                                      "fe80::1%eth0",
                                      "[]",
                                      "1.2.3.4/8",
                                      ":",
                                      ":::",
                                      "1:",
                                      ":1",
                                      "1::2::3",
                                      "1:2:3:4:5:6:7",
                                      "1:2:3:4:5:6:7:8:9",
                                      "1:2:3:4:5:6:7::8",
                                      "12345::",
                                      "::1.2.3",
                                      "1.2.3.4::",
                                      "::1.2.3.4:5",
                                      "1:2:3:4:5:6:7:1.2.3.4",
                                      "::01.2.3.4",
                                      "0000:0000:0000:0000:0000:0000:0000:00000"}) {
    EXPECT_FALSE(IpAddress::parse(text)) << text;
  }
  EXPECT_FALSE(IpAddress::parse(std::string_view("1.2.3.4\0", 8)));
  EXPECT_FALSE(IpAddress::parse(std::string_view("::1\0", 4)));
}

TEST(IpAddress, HostsOfUrlsHaveBracketsAroundIpv6) {
  EXPECT_EQ(IpAddress::parse_host("[2001:db8::1]"), address("2001:db8::1"));
  EXPECT_EQ(IpAddress::parse_host("192.0.2.1"), address("192.0.2.1"));
  for (const std::string_view host : {"[192.0.2.1]", "[]", "[", "[2001:db8::1", "example.com"}) {
    EXPECT_FALSE(IpAddress::parse_host(host)) << host;
  }
  std::string out = "https://";
  address("2001:db8::1").append_host(out);
  address("192.0.2.1").append_host(out += '/');
  EXPECT_EQ(out, "https://[2001:db8::1]/192.0.2.1");
}

TEST(IpAddress, IsOneValueHoweverIpv4IsHeld) {
  EXPECT_EQ(IpAddress::v4(0xC0000201U), address("192.0.2.1"));
  EXPECT_EQ(address("::ffff:c000:201"), address("192.0.2.1"));
  EXPECT_TRUE(address("192.0.2.1").is_v4());
  EXPECT_FALSE(address("::c000:201").is_v4());
  EXPECT_EQ(address("192.0.2.1").v4_number(), 0xC0000201U);
  EXPECT_EQ(address("192.0.2.1").wire_octets().size(), 4U);
  EXPECT_EQ(address("2001:db8::1").wire_octets().size(), 16U);
}

TEST(IpAddress, OfNat64IsTheIpv4AddressAsADestinationAlone) {
  EXPECT_EQ(address("64:ff9b::192.0.2.1").destination(), address("192.0.2.1"));
  EXPECT_NE(address("64:ff9b::192.0.2.1"), address("192.0.2.1"));
  for (const std::string_view text : {"192.0.2.1", "2001:db8::1", "64:ff9b:1::c000:201", "64:ff9b::1:c000:201"}) {
    EXPECT_EQ(address(text).destination(), address(text)) << text;
  }
}

// The C library reads the same texts, and writes the same but for IPv4 inside IPv6.
TEST(IpAddress, AgreesWithTheCLibrary) {
  std::mt19937_64 random(test::test_seed());
  const std::string_view pieces[] = {"0", "1",  "ffff", "db8",     "255",  "256", "00",    "01",
                                     ":", "::", ".",    "1.2.3.4", "fe80", "%",   "12345", "G"};
  for (int round = 0; round < 200'000; ++round) {
    std::string text;
    for (auto left = random() % 12; left > 0; --left) {
      text += pieces[random() % std::size(pieces)];
      if (random() % 2 == 0) text += ':';
    }
    std::array<std::uint8_t, 16> octets{};
    const auto parsed = IpAddress::parse(text);
    if (inet_pton(AF_INET6, text.c_str(), octets.data()) == 1) {
      ASSERT_TRUE(parsed) << text;
      ASSERT_EQ(parsed->octets, octets) << text;
    } else {
      ASSERT_EQ(parsed.has_value(), inet_pton(AF_INET, text.c_str(), octets.data()) == 1) << text;
    }
  }
  for (int round = 0; round < 50'000; ++round) {
    IpAddress value;
    for (auto& octet : value.octets) octet = random() % 2 == 0 ? std::uint8_t{0} : static_cast<std::uint8_t>(random());
    ASSERT_EQ(IpAddress::parse(value.text()), value) << value.text();
    if (value.word(0) == 0 && value.word(4) == 0) continue;  // it may carry IPv4
    std::array<char, INET6_ADDRSTRLEN> text{};
    ASSERT_EQ(value.text(), inet_ntop(AF_INET6, value.octets.data(), text.data(), text.size()));
  }
}

TEST(IpNetwork, ContainsAddresses) {
  struct Row {
    std::string_view network, address;
    bool contains;
  };
  for (const auto& row : {
           Row{"10.0.0.0/8", "10.255.0.1", true},
           Row{"10.0.0.0/8", "11.0.0.1", false},
           Row{"10.9.8.7/8", "10.1.1.1", true},
           Row{"0.0.0.0/0", "8.8.8.8", true},
           Row{"0.0.0.0/0", "2001:db8::1", false},
           Row{"0.0.0.0/0", "::ffff:8.8.8.8", true},
           Row{"::/0", "8.8.8.8", true},
           Row{"::ffff:0:0/96", "8.8.8.8", true},
           Row{"::ffff:10.0.0.0/104", "10.1.1.1", true},
           Row{"2001:db8::/33", "2001:db8:7fff::1", true},
           Row{"2001:db8::/33", "2001:db8:8000::1", false},
           Row{"192.0.2.1", "192.0.2.1", true},
           Row{"192.0.2.1", "192.0.2.2", false},
           Row{"64:ff9b::/96", "192.0.2.1", false},
       }) {
    EXPECT_EQ(network(row.network).contains(address(row.address)), row.contains) << row.network << ' ' << row.address;
  }
}

TEST(IpNetwork, IsReadAndWritten) {
  EXPECT_EQ(network("10.9.8.7/8").text(), "10.0.0.0/8");
  EXPECT_EQ(network("192.0.2.1").text(), "192.0.2.1/32");
  EXPECT_EQ(network("::ffff:10.0.0.0/104").text(), "10.0.0.0/8");
  EXPECT_EQ(network("2001:DB8::1/32").text(), "2001:db8::/32");
  EXPECT_EQ(network("::/0").text(), "::/0");
  EXPECT_EQ(network("[2001:db8::]/32"), network("2001:db8::/32"));
  for (const std::string_view text :
       {"10.0.0.0/33", "10.0.0.0/", "10.0.0.0/-1", "10.0.0.0/8x", "10.0.0.0/8/8", "10.0.0.0/0008", "::/129", "/8",
        "a/8", "10/8", "[10.0.0.0]/8", "[::/0]", "10.0.0.0 /8", ""}) {
    EXPECT_FALSE(IpNetwork::parse(text)) << text;
  }
}

}  // namespace
}  // namespace bloomwall
