// SPDX-License-Identifier: Apache-2.0
#include "proxy/io/endpoint.h"

#include <gtest/gtest.h>

namespace bloomwall::proxy {
namespace {

TEST(Endpoint, ParsesAndPrints) {
  struct Row {
    const char *text, *printed;
  };
  for (const Row& row :
       {Row{"127.0.0.1:80", "127.0.0.1:80"}, Row{"[::1]:3128", "[::1]:3128"}, Row{":8080", "[::]:8080"},
        Row{"0.0.0.0:0", "0.0.0.0:0"}, Row{"[2001:DB8:0:0::1]:65535", "[2001:db8::1]:65535"},
        Row{"[::ffff:1.2.3.4]:1", "[::ffff:1.2.3.4]:1"}}) {
    const auto parsed = Endpoint::parse(row.text);
    ASSERT_TRUE(parsed) << row.text;
    EXPECT_EQ(parsed->text(), row.printed);
  }
}

TEST(Endpoint, RefusesWhatIsNoAddressWithAPort) {
  for (const char* text :
       {"", ":", "127.0.0.1", "127.0.0.1:", "127.0.0.1:65536", "127.0.0.1:-1", "127.0.0.1:8 0", "::1:80", "[::1]",
        "[127.0.0.1]:80", "localhost:80", "127.1:80", "0x7f000001:80", "[::1]:80x", "[]:80", "[fe80::1%eth0]:80"}) {
    EXPECT_FALSE(Endpoint::parse(text)) << text;
  }
}

TEST(Endpoint, UnmapsIpv4InIpv6) {
  EXPECT_EQ(Endpoint::parse_ip("::ffff:10.1.2.3", 7)->unmapped().text(), "10.1.2.3:7");
  EXPECT_EQ(Endpoint::parse_ip("::1", 7)->unmapped().text(), "[::1]:7");
  EXPECT_FALSE(Endpoint::parse_ip("::ffff:10.1.2.3")->same_ip(*Endpoint::parse_ip("10.1.2.3")));
}

TEST(ListeningSocket, SharesAPortWithItsSiblingsAndNobodyElse) {
  const auto first = listen_on(*Endpoint::parse("127.0.0.1:0"));
  ASSERT_TRUE(first);
  ASSERT_NE(first->address.port(), 0);
  EXPECT_TRUE(listen_on(first->address));
  EXPECT_FALSE(check_free(first->address));
  EXPECT_TRUE(check_free(*Endpoint::parse("127.0.0.1:0")));
}

TEST(ListeningSocket, SaysWhyItCannot) {
  const auto foreign = listen_on(*Endpoint::parse("192.0.2.1:80"));  // TEST-NET: no address of this machine
  ASSERT_FALSE(foreign);
  EXPECT_EQ(foreign.error(), "Cannot assign requested address");
}

}  // namespace
}  // namespace bloomwall::proxy
