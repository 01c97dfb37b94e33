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
        Row{"DataWithTtlAndClass", "local-data: \"a.example. 3600 IN A 0.0.0.0\"\n", "X a.example"},
        Row{"OtherOptions", "server:\n  verbosity: 1\n", "boilerplate x2"},
        Row{"CommentsAndBlanks", "# local-zone: \"a.example\" deny\n\n", "blank, comment"}),
    row_name);
INSTANTIATE_TEST_SUITE_P(
    Broken, Unbound,
    testing::Values(Row{"TypesThatPass",
                        "local-zone: \"a.example\" transparent\nlocal-zone: \"b.example\" typetransparent\n"
                        "local-zone: \"c.example\" nodefault\nlocal-zone: \"d.example\" inform\n",
                        "skip: local-zone of a type that stops nothing x4"},
                    Row{"UnknownType", "local-zone: \"a.example\" vanish\n",
                        "skip: local-zone of a type this build does not know"},
                    Row{"Root", "local-zone: \".\" always_null\n", "skip: every name"},
                    Row{"OtherData", "local-data: \"a.example TXT x\"\n", "skip: local-data other than addresses"},
                    Row{"NoType", "local-zone: \"a.example\"\n", "bad: local-zone without a name or a type"},
                    Row{"OpenQuote", "local-zone: \"a.example always_null\n", "bad: quote is not closed"},
                    Row{"NamesElsewhere", "include: \"x\"\n", "skip: include of another file"},
                    Row{"UrlIsNoOption", "http://a.example/\n", "bad: not an unbound option"},
                    Row{"NoOption", "a.example\n", "bad: not an unbound option"},
                    Row{"EmptyData", "local-data: \"\"\n", "bad: local-data without a name or a type"}),
    row_name);

}  // namespace
}  // namespace bloomwall::filter::test
