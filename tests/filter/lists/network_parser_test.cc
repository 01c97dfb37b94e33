// SPDX-License-Identifier: Apache-2.0
#include "tests/filter/lists/list_text.h"

namespace bloomwall::filter::test {
namespace {

ReadOptions networks(bool wide = false) {
  ReadOptions options;
  options.format = Format::networks;
  options.allow_wide_ranges = wide;
  return options;
}

class Networks : public testing::TestWithParam<Row> {};
TEST_P(Networks, AreTaken) { expect_row(GetParam(), networks()); }
INSTANTIATE_TEST_SUITE_P(
    Rules, Networks,
    testing::Values(
        Row{"Drop", "; Spamhaus DROP\n1.10.16.0/20 ; SBL256894\n", "N 1.10.16.0/20, comment"},
        Row{"Netset", "# ipset\n\n1.10.16.0/20\r\n", "N 1.10.16.0/20, blank, comment"},
        Row{"AnAddressIsARangeOfOne", "192.0.2.1\n2001:DB8::1\n[2001:db8::2]\n",
            "N 192.0.2.1/32, N [2001:db8::1]/128, N [2001:db8::2]/128"},
        Row{"AndSoIsAPrefixOfAll", "192.0.2.1/32\n2001:db8::1/128\n192.0.2.1-192.0.2.1\n",
            "N 192.0.2.1/32, N [2001:db8::1]/128, N 192.0.2.1/32"},
        Row{"Ipv6", "2001:db8::/32\n", "N [2001:db8::]/32"}, Row{"Mask", "1.10.16.0/255.255.240.0\n", "N 1.10.16.0/20"},
        Row{"FirstToLast", "192.0.2.1-192.0.2.9\n192.0.2.0 - 192.0.2.255\n", "N 192.0.2.1-192.0.2.9, N 192.0.2.0/24"},
        Row{"CarriedIpv4", "::ffff:192.0.2.0/120\n::ffff:192.0.2.1\n", "N 192.0.2.0/24, N 192.0.2.1/32"},
        Row{"Netblock", "192.0.2.0\t192.0.2.255\t24\t5212\tA NAME\tGB\tabuse@a.example\n192.0.2.7 192.0.2.7 32\n",
            "N 192.0.2.0/24, N 192.0.2.7/32"},
        Row{"LocalNetworks", "0.0.0.0/8\n10.1.0.0/16\n127.0.0.1\n172.16.0.0/12\n192.168.1.0-192.168.1.9\nfe80::/64\n",
            "N 0.0.0.0/8, N 10.1.0.0/16, N 127.0.0.1/32, N 172.16.0.0/12, N 192.168.1.0-192.168.1.9, N [fe80::]/64, "
            "warn: range of the local network or of loopback, which is stopped too x6"},
        Row{"BitsBeyondThePrefix", "192.0.2.1/24\n2001:db8::1/32\n",
            "N 192.0.2.0/24, N [2001:db8::]/32, warn: range with bits set beyond its prefix, taken as the network "
            "around "
            "it x2"},
        Row{"Stars", "192.0.2.*\n198.51.*\n", "N 192.0.2.0/24, N 198.51.0.0/16"},
        Row{"PortGoes", "192.0.2.1:80\n[2001:db8::1]:8443\n",
            "N 192.0.2.1/32, N [2001:db8::1]/128, warn: port taken off, taken as the whole host"},
        Row{"WidestIpv4", "11.0.0.0/8\n20.0.0.1-21.0.0.0\n", "N 11.0.0.0/8, N 20.0.0.1-21.0.0.0"},
        Row{"WidestIpv6", "2001::/16\n", "N [2001::]/16"}),
    row_name);
INSTANTIATE_TEST_SUITE_P(
    Broken, Networks,
    testing::Values(Row{"TooWide", "224.0.0.0/3\n10.0.0.0-11.0.0.0\n10.0.0.1-11.0.0.1\n2000::/15\n",
                        "skip: range too wide; --allow-wide-ranges takes it x4"},
                    Row{"EveryAddress", "0.0.0.0/0\n::/0\n", "skip: range of every address x2"},
                    Row{"Name", "example.com\n", "bad: neither an address nor a range of addresses"},
                    Row{"Url", "http://192.0.2.1/\n192.0.2.1/a\n",
                        "bad: neither an address nor a range of addresses x2"},
                    Row{"NoPort", "192.0.2.1:99999\n", "bad: neither an address nor a range of addresses"},
                    Row{"Words", "192.0.2.1 192.0.2.2\n192.0.2.0/24\tSBL1\nBogon:192.0.2.9\n*.*\n",
                        "bad: neither an address nor a range of addresses x4"},
                    Row{"NetblockThatDisagrees", "192.0.2.0 192.0.2.255 25\n192.0.2.0 192.0.2.255 256 US\n",
                        "bad: first address, last address and prefix that do not agree x2"},
                    Row{"LeadingZeros", "192.0.2.01\n", "bad: neither an address nor a range of addresses"},
                    Row{"ByteOrderMarkInside", "192.0.2.1\xef\xbb\xbf\n", "bad: byte order mark inside the line"}),
    row_name);

class WideNetworks : public testing::TestWithParam<Row> {};
TEST_P(WideNetworks, AreTakenWhereTheyAreAllowed) { expect_row(GetParam(), networks(true)); }
INSTANTIATE_TEST_SUITE_P(Rules, WideNetworks,
                         testing::Values(Row{"Ipv4", "224.0.0.0/3\n", "N 224.0.0.0/3"},
                                         Row{"Ipv6", "2000::/3\n", "N [2000::]/3"},
                                         Row{"ButNeverAll", "0.0.0.0/0\n::/0\n", "skip: range of every address x2"}),
                         row_name);

// In lists of other things a range of several addresses is one, too, and an address stays what it is.
TEST(RangesAmongOthers, AreTakenWithTheSameBounds) {
  ReadOptions options;
  options.format = Format::domains;
  options.allow_wide_ranges = true;
  EXPECT_EQ(describe(read_text("a.example\n192.0.2.0/24\n192.0.2.1\n192.0.2.2/32\n224.0.0.0/3\n", options)),
            "S a.example, N 192.0.2.0/24, X 192.0.2.1, N 192.0.2.2/32, N 224.0.0.0/3");
}

TEST(RangesAmongOthers, OfAWhiteCategoryAreAllowRules) {
  ReadOptions options = networks();
  options.white_categories = WhiteUse::allow;
  ListFile file;
  file.path = "ranges";
  file.usage = Usage::white;
  EXPECT_EQ(describe(read_text("192.0.2.0/24\n198.51.100.7\n", options, file)),
            "allow 192.0.2.0/24, allow 198.51.100.7");
}

}  // namespace
}  // namespace bloomwall::filter::test
