// SPDX-License-Identifier: Apache-2.0
#include "tests/filter/lists/list_text.h"

namespace bloomwall::filter::test {
namespace {

class Mixed : public testing::TestWithParam<Row> {};
TEST_P(Mixed, IsReadLineByLine) {
  ReadOptions options;
  options.format = Format::mixed;
  expect_row(GetParam(), options);
}
INSTANTIATE_TEST_SUITE_P(
    Rules, Mixed,
    testing::Values(
        Row{"WrittenByHand", "a.test\n||b.test^\na.test/x/\n", "S a.test, S b.test, D a.test/x/"},
        Row{"Names", "*.a.test # why\n.b.test\n192.0.2.1 ; c\n", "S a.test, S b.test, X 192.0.2.1"},
        Row{"Hosts", "0.0.0.0 a.test b.test # c\n", "X a.test, X b.test"},
        Row{"Resolvers", "address=/a.test/#\nlocal-zone: \"b.test\" always_null\nserver:\n",
            "S a.test, S b.test, boilerplate"},
        Row{"Urls", "http://a.test/b # why\nc.test/d?e\n", "U a.test/b, Q c.test/d?e"},
        Row{"Adblock", "||a.test/b/$important\n@@||c.test^\n||d.test^$script\n||e.test^\n||e.test^$badfilter\n",
            "D a.test/b/, allow c.test, skip: modifier $script, cancelled x2, warn: $important, taken as a "
            "plain rule"},
        Row{"Ranges", "192.0.2.0/24\n", "skip: address range"},
        Row{"CommentsOfOtherShapes", "a.test # CNAME cloaking\nb.test # x, see http://r.test/y\n||c.test^ # ## x\n",
            "S a.test, S b.test, S c.test"},
        Row{"Directives", "||a.test^\n!#include b.txt\n!#if env_mobile\n||c.test^\n!#endif\n",
            "S a.test, S c.test, skip: include of another list, comment, boilerplate, warn: condition of the "
            "list's preprocessor, read as if it held"},
        Row{"Comments", "# a\n; b\n! c\n\n", "blank, comment x3"}),
    row_name);
INSTANTIATE_TEST_SUITE_P(
    Broken, Mixed,
    testing::Values(Row{"Words", "intranet\nbanner\n", "bad: single word in a list of several formats x2"},
                    Row{"AddressThatIsNoSink", "192.0.2.1 a.test\n192.0.2.1 US\n",
                        "bad: an address that is not a sink, followed by text, bad: several words "
                        "where a host is expected"},
                    Row{"WordsWithADot", ".banner\n*.gif\n*.min.js\n*.zip\n",
                        "S min.js, skip: top-level domain, bad: single word in a list of several formats x2"},
                    Row{"GluedAddresses", "0.0.0.0a.test\n127.0.0.1b.test\n127.0.0.1.c.test\n",
                        "S 127.0.0.1.c.test, bad: a name glued to the address of a hosts file x2"},
                    Row{"Cosmetic",
                        "##.ad\na.test##.ad\na.test#%#//scriptlet('x')\na.test#$#b{a:url(/x)}\n"
                        "a.test#@%#//x\na.test#?#div/x\na.test,b.test#@$?#x/y\na.test$$p/x\n"
                        "a.test$@$p/x\na.test##a[href=\"http://x.test/y\"]\n",
                        "skip: cosmetic rule x10"},
                    Row{"NeedsOtherLines", "a.test CNAME .\n{+block}\n1,http://a.test/x\n",
                        "bad: line of a format that can't be mixed x3"}),
    row_name);

}  // namespace
}  // namespace bloomwall::filter::test
