// SPDX-License-Identifier: Apache-2.0
#include "tests/filter/lists/list_text.h"

namespace bloomwall::filter::test {
namespace {

class Dnsmasq : public testing::TestWithParam<Row> {};
TEST_P(Dnsmasq, IsRead) {
  ReadOptions options;
  options.format = Format::dnsmasq;
  expect_row(GetParam(), options);
}
INSTANTIATE_TEST_SUITE_P(
    Rules, Dnsmasq,
    testing::Values(
        Row{"AddressHash", "address=/a.example/#\n", "S a.example"},
        Row{"AddressSink", "address=/a.example/0.0.0.0\naddress=/b.example/::\n", "S a.example, S b.example"},
        Row{"AddressElsewhere", "address=/a.example/192.0.2.53\n",
            "S a.example, warn: address that is not a sink; the name may really be there"},
        Row{"AddressNothing", "address=/a.example/\n", "S a.example"},
        Row{"SeveralDomains", "address=/a.example/b.example/c.example/0.0.0.0\n",
            "S a.example, S b.example, S c.example"},
        Row{"ServerNothing", "server=/a.example/\n", "S a.example"},
        Row{"LocalNothing", "local=/a.example/b.example/\n", "S a.example, S b.example"},
        Row{"LeadingDot", "address=/.a.example/#\n", "S a.example"},
        Row{"BlanksAround", "  address = /a.example/# # why\n", "S a.example"},
        Row{"OnTheCommandLine", "--address=/a.example/\n", "S a.example"},
        Row{"CapitalsAndQuotes", "Address=/a.example/#\naddress=\"/b.example/0.0.0.0\"\n", "S a.example, S b.example"},
        Row{"CommentsAndBlanks", "# address=/a.example/#\n\n", "blank, comment"},
        Row{"OtherOptions",
            "domain-needed\ncache-size=1000\nserver=192.0.2.53\nserver=//192.0.2.1\nlog-facility=/var/log/x\n",
            "skip: server for a domain, boilerplate x4"},
        Row{"NamesWithoutDot", "server=//\nlocal=//\n", "boilerplate x2"}),
    row_name);
INSTANTIATE_TEST_SUITE_P(
    Broken, Dnsmasq,
    testing::Values(
        Row{"Forwarder", "server=/a.example/192.0.2.53\n", "skip: server for a domain"},
        Row{"StandardServers", "server=/a.example/#\n", "skip: server for a domain"},
        Row{"EveryName", "address=/#/192.0.2.1\n", "skip: every name"},
        Row{"WildcardWithoutLabel", "address=/*a.example/#\n", "skip: wildcard inside a host"},
        Row{"TopLevelDomain", "address=/zip/#\n", "skip: top-level domain"},
        Row{"NotClosed", "address=/a.example\n", "bad: no '/' after the domain"},
        Row{"AddressAlone", "address=192.0.2.1\n", "bad: no '/' around the domain"},
        Row{"NoSlashes", "server=a.example\nlocal=b.example\n", "bad: no '/' around the domain x2"},
        Row{"OptionsOfNames",
            "host-record=a.example,0.0.0.0\ncname=b.example,sink.example\nauth-zone=c.example\naddres=/d.example/#\n"
            "foo=/e.example/0.0.0.0\nmx-host=f.example,x\n",
            "skip: option that stops no domain x6"},
        Row{"OptionsOfAnswers", "bogus-nxdomain=192.0.2.1\nignore-address=192.0.2.1\n",
            "skip: option that stops no domain x2"},
        Row{"NoOption", "||a.example^\n", "bad: not a dnsmasq option"},
        Row{"NamesElsewhere", "conf-file=/etc/x\naddn-hosts=/etc/y\n", "skip: include of another file x2"},
        Row{"OtherOptionsOfDomains", "ipset=/a.example/x\n", "skip: option that stops no domain"},
        Row{"GoodBesideBad", "address=/zip/a.example/#\n", "S a.example, skipped name: top-level domain"},
        Row{"SeveralBad", "address=/a.example/*b.example/c.example:80/0.0.0.0\n",
            "S a.example, S c.example, skipped name: wildcard inside a host"}),
    row_name);

}  // namespace
}  // namespace bloomwall::filter::test
