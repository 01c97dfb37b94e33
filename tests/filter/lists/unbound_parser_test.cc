// SPDX-License-Identifier: Apache-2.0
#include "tests/filter/lists/list_text.h"

namespace bloomwall::filter::test {
namespace {

class Unbound : public testing::TestWithParam<Row> {};
TEST_P(Unbound, IsRead) {
  ReadOptions options;
  options.format = Format::unbound;
  expect_row(GetParam(), options);
}
INSTANTIATE_TEST_SUITE_P(
    Rules, Unbound,
    testing::Values(
        Row{"AlwaysNull", "local-zone: \"a.example.\" always_null\n", "S a.example"},
        Row{"EveryStoppingType",
            "local-zone: \"a.example\" always_nxdomain\nlocal-zone: b.example refuse\nlocal-zone: 'c.example' static\n"
            "local-zone: \"d.example\" redirect\nlocal-zone: \"e.example\" always_refuse\nlocal-zone: \"f.example\" "
            "deny\n"
            "local-zone: \"g.example\" inform_deny\n",
            "S a.example, S b.example, S c.example, S d.example, S e.example, S f.example, S g.example"},
        Row{"QuotedType", "local-zone: \"a.example.\" \"always_null\"\n", "S a.example"},
        Row{"NoBlankAfterColon", "local-zone:\"a.example.\" always_null # why\n", "S a.example"},
        Row{"AddressDataIsExact", "local-data: \"a.example. A 0.0.0.0\"\nlocal-data: 'b.example AAAA ::'\n",
            "X a.example, X b.example"},
        Row{"AddressThatIsNoSink", "local-data: \"a.example. A 192.0.2.53\"\n",
            "X a.example, warn: address that is not a sink; the name may really be there"},
        Row{"DataWithTtlAndClass", "local-data: \"a.example. 3600 IN A 0.0.0.0\"\n", "X a.example"},
        Row{"SeveralStatements",
            "server: local-zone: \"a.example.\" always_null\nlocal-zone: b.example static local-zone: \"c.example\" "
            "deny\n"
            "local-data: 'd.example. A 0.0.0.0' local-data: \"e.example. AAAA ::\"\n",
            "S a.example, S b.example, S c.example, X d.example, X e.example"},
        Row{"CapitalsAndBlanks", "LOCAL-ZONE: \"a.example\" Static\nlocal-zone : b.example deny\n",
            "S a.example, S b.example"},
        Row{"ClausesEndAView", "view:\n name: \"v\"\nserver:\nlocal-zone: a.example static\n",
            "S a.example, boilerplate x3"},
        Row{"FilesAndAddresses", "server:\n root-hints: \"root.hints\"\n interface: 192.0.2.1\n logfile: /x/y.log\n",
            "boilerplate x4"},
        Row{"OtherOptions", "server:\n  verbosity: 1\n", "boilerplate x2"},
        Row{"CommentsAndBlanks", "# local-zone: \"a.example\" deny\n\n", "blank, comment"}),
    row_name);
INSTANTIATE_TEST_SUITE_P(
    Broken, Unbound,
    testing::Values(
        Row{"TypesThatPass",
            "local-zone: \"a.example\" transparent\nlocal-zone: \"b.example\" typetransparent\n"
            "local-zone: \"c.example\" nodefault\nlocal-zone: \"d.example\" inform\n",
            "skip: local-zone of a type that stops nothing x4"},
        Row{"UnknownType", "local-zone: \"a.example\" vanish\n", "skip: local-zone of a type this build does not know"},
        Row{"Root", "local-zone: \".\" always_null\n", "skip: every name"},
        Row{"OtherData", "local-data: \"a.example TXT x\"\n", "skip: local-data other than addresses"},
        Row{"NoType", "local-zone: \"a.example\"\n", "bad: local-zone without a name or a type"},
        Row{"OpenQuote", "local-zone: \"a.example always_null\n", "bad: quote is not closed"},
        Row{"NamesElsewhere", "include: \"x\"\n", "skip: include of another file"},
        Row{"UrlIsNoOption", "http://a.example/\n", "bad: not an unbound option"},
        Row{"AddressesAreNoOptions", "2001:db8::1\nfe80::/64\n2001:db8::1-2001:db8::9\n",
            "bad: not an unbound option x3"},
        Row{"NoOption", "a.example\n", "bad: not an unbound option"},
        Row{"InAView", "view:\n name: \"v\"\n local-zone: a.example static\n local-data: \"b.example A 0.0.0.0\"\n",
            "skip: zone of a view, which applies only to some clients x2, boilerplate x2"},
        Row{"OptionsOfNames",
            "local-zones: \"a.example\" static\nlocal-data-ptr: \"192.0.2.1 b.example\"\nforward-zone: name: "
            "\"c.example\"\n"
            "domain-insecure: d.example\n",
            "skip: option that stops no zone x4"},
        Row{"GoodBesideBad",
            "local-zone: a.example static local-zone: b.example inform\nlocal-zone: c.example deny x\n",
            "S a.example, S c.example, skipped name: local-zone of a type that stops nothing, skipped name: not an "
            "unbound option"},
        Row{"EmptyData", "local-data: \"\"\n", "bad: local-data without a name or a type"}),
    row_name);

}  // namespace
}  // namespace bloomwall::filter::test
