// SPDX-License-Identifier: Apache-2.0
#include "filter/lists/refang.h"

#include <gtest/gtest.h>

#include <string>

#include "tests/filter/lists/list_text.h"

namespace bloomwall::filter::test {
namespace {

TEST(Refang, GivesWhatIsMeant) {
  std::string scratch;
  struct Defanged {
    const char* text;
    const char* meant;
  };
  for (const Defanged& row : {Defanged{"hxxp://a[.]test/x[.]y", "http://a.test/x.y"},
                              {"hXXps://a.test", "https://a.test"},
                              {"HXXP[:]//a(.)test", "http://a.test"},
                              {"a[dot]b(DOT)test", "a.b.test"},
                              {"192[.]0[.]2[.]1", "192.0.2.1"},
                              {"http[:]//a{.}test/?q=(.)", "http://a.test/?q=(.)"},
                              {"https[://]a.test:80/", "https://a.test:80/"},
                              {"a[.]test/x[.]y[.]exe?z=[.]", "a.test/x.y.exe?z=."},
                              {"hxxp://a.test/x(.)y", "http://a.test/x(.)y"},
                              {"*[.]a[.]test", "*.a.test"}}) {
    EXPECT_EQ(refanged(row.text, scratch), row.meant) << row.text;
  }
}

TEST(Refang, LeavesEverythingElseAsItIs) {
  std::string scratch;
  for (const std::string_view text :
       {"", "a.test", "http://a.test/a[.]b", "http://[2001:db8::1]/x", "[2001:db8::1]", "http://a.test/?x[.]=(dot)",
        "||a[.]b^", "/ads[.]com/", "hxxp", "hxx://a.test", "xn--a.test", "[Adblock Plus 2.0]", "a.test # b[.]test"}) {
    EXPECT_EQ(refanged(text, scratch).data(), text.data()) << text;
  }
}

class DefangedList : public testing::TestWithParam<Row> {};
TEST_P(DefangedList, IsRead) { expect_row(GetParam(), {}); }
INSTANTIATE_TEST_SUITE_P(
    Rules, DefangedList,
    testing::Values(
        Row{"Urls", "hxxp://a[.]test/x\nhxxps://b.test/y\nhttp://c.test/z[.]\n",
            "U a.test/x, U b.test/y, U c.test/z[.], warn: defanged, taken as the host or URL that is meant x2"},
        Row{"Paths", "hxxp://a[.]test/x[.]exe\nhttp://b.test/y[.]exe\n",
            "U a.test/x.exe, U b.test/y[.]exe, warn: defanged, taken as the host or URL that is meant"},
        Row{"Names", "a[.]test\nb(.)test # why\n192[.]0[.]2[.]1\n",
            "S a.test, S b.test, X 192.0.2.1, warn: defanged, taken as the host or URL that is meant x3"},
        Row{"Tables", "id,url\n1,hxxp://a[.]test/x\n2,b[.]com\n",
            "U a.test/x, S b.com, boilerplate, warn: defanged, taken as the host or URL that is meant x2"},
        Row{"Mixtures", "||a.test^\nhxxp://b[.]test/x\nc[.]test\n",
            "S a.test, U b.test/x, S c.test, warn: defanged, taken as the host or URL that is meant x2"}),
    row_name);

}  // namespace
}  // namespace bloomwall::filter::test
