// SPDX-License-Identifier: Apache-2.0
#include "tests/filter/lists/list_text.h"

namespace bloomwall::filter::test {
namespace {

ReadOptions hosts() {
  ReadOptions options;
  options.format = Format::hosts;
  return options;
}

class HostsFile : public testing::TestWithParam<Row> {};
TEST_P(HostsFile, IsRead) { expect_row(GetParam(), hosts()); }
INSTANTIATE_TEST_SUITE_P(
    Rules, HostsFile,
    testing::Values(
        Row{"NameIsExact", "0.0.0.0 ads.example.com\n", "X ads.example.com"},
        Row{"TabsAndLoopback", "127.0.0.1\tads.example.com\n", "X ads.example.com"},
        Row{"Ipv6Sinks", ":: a.example\n::1 b.example\nfe80::1%lo0 c.example\n",
            "X a.example, X b.example, X c.example"},
        Row{"PaddedSinks", "000.000.000.000 a.example\n127.000.000.001 b.example\n", "X a.example, X b.example"},
        Row{"SeveralNames", "0.0.0.0 a.example b.example  c.example\n", "X a.example, X b.example, X c.example"},
        Row{"CommentAfterNames", "0.0.0.0 a.example # b.example\n", "X a.example"},
        Row{"GluedComment", "0.0.0.0 a.example#b.example c.example\n", "X a.example"},
        Row{"Wildcards", "0.0.0.0 *.a.example .b.example c.example\n", "S a.example, S b.example, X c.example"},
        Row{"BlanksOfUnicode",
            "0.0.0.0\xc2\xa0"
            "a.example\xe3\x80\x80"
            "b.example\n",
            "X a.example, X b.example"},
        Row{"CommentGluedToSpace", "0.0.0.0 a.example #b.example\n", "X a.example"},
        Row{"NoSink", "192.0.2.53 a.example\n2001:db8::53 b.example c.example\n",
            "X a.example, X b.example, X c.example, warn: address that is not a sink; the name may really be there "
            "x2"},
        Row{"BoilerplateNames",
            "127.0.0.1 localhost\n::1 ip6-localhost ip6-loopback\n255.255.255.255 broadcasthost\n"
            "127.0.0.1 localhost.localdomain\n0.0.0.0 0.0.0.0\nfe00::0 ip6-localnet\nff02::1 ip6-allnodes\n",
            "boilerplate x7"},
        Row{"BoilerplateBesideNames", "127.0.0.1 localhost a.example local\n", "X a.example"},
        Row{"NamesOfTheMachine", "127.0.1.1 mypc\n127.0.1.1 mypc.a.example mypc\n0.0.0.0 nas b.example NAS.c.example\n",
            "X mypc.a.example, X b.example, X nas.c.example, boilerplate"},
        Row{"AddressAsName", "0.0.0.0 192.0.2.1\n", "X 192.0.2.1"},
        Row{"Ipv6AsName", "0.0.0.0 2001:db8::1\n", "X [2001:db8::1]"},
        Row{"PublicSuffix", "0.0.0.0 github.io\n", "X github.io, warn: public suffix"},
        Row{"TrailingDotAndCase", "0.0.0.0 Ads.Example.\n", "X ads.example"},
        Row{"CommentsAndBlanks", "# a\n; b\n! c\n\n", "blank, comment x3"}),
    row_name);
INSTANTIATE_TEST_SUITE_P(
    Broken, HostsFile,
    testing::Values(
        Row{"NoAddress", "example.com\n", "bad: does not begin with an address"},
        Row{"NoNames", "0.0.0.0\n0.0.0.0 # nothing\n", "bad: an address without names x2"},
        Row{"BadAddress", "0.0.0.256 a.example\n", "bad: does not begin with an address"},
        Row{"BadNameAlone", "0.0.0.0 a.example/b\n", "bad: path where a host is expected"},
        Row{"BadNameBesideGood", "0.0.0.0 a.example b.example/c\n",
            "X a.example, skipped name: path where a host is expected"},
        Row{"ProseBehindAName", "127.0.0.1 a.example -> www.b.example\n127.0.0.1 c.example see www.d.example\n",
            "X a.example, X c.example, skipped name: a name without a dot x2, skipped name: after a word that "
            "is not a host x2"},
        Row{"ProseBehindNoName", "0.0.0.0 a.example/b c.example\n", "bad: path where a host is expected"},
        Row{"UnsupportedBesideGood", "0.0.0.0 *a.example b.example\n",
            "X b.example, skipped name: wildcard inside a host"},
        Row{"SingleLabel", "0.0.0.0 inf\n0.0.0.0 com\n", "skip: a name without a dot x2"},
        Row{"RecordsJoined", "0.0.0.0 a.example 127.0.0.1 b.example\n",
            "X a.example, skipped name: after a word that is not a host, skipped name: an address behind an address"},
        Row{"ColumnsBehindAddresses",
            "192.0.2.1 10\n192.0.2.1\tUS\n192.0.2.1 local\n192.0.2.1 2026-08-22 10:00:00\n192.0.2.1 ssh,ftp\n",
            "bad: a name without a dot x5"},
        Row{"AddressesBehindAddresses", "192.0.2.0 192.0.2.255\n192.0.2.0 255.255.255.0\n192.0.2.0 192.0.2.255 24 US\n",
            "bad: an address behind an address x3"},
        Row{"NumberBehindAnAddress", "192.0.2.1 87.5\n", "bad: host ends in a number but is not an IPv4 address"},
        Row{"TextBehindADash", "192.0.2.1 - mirai.example\n", "bad: a name without a dot"},
        Row{"Wildcard", "0.0.0.0 a.*.example.com\n", "skip: wildcard inside a host"},
        Row{"RangeAsName", "0.0.0.0 192.0.2.0/24\n", "skip: address range"}),
    row_name);

TEST(HostsFileOptions, HostsAsSuffix) {
  ReadOptions options = hosts();
  options.hosts_as_suffix = true;
  expect_row({"", "0.0.0.0 a.example 192.0.2.1\n", "S a.example, X 192.0.2.1"}, options);
}

}  // namespace
}  // namespace bloomwall::filter::test
