// SPDX-License-Identifier: Apache-2.0
#include "filter/lists/foreign_rules.h"

#include <gmock/gmock.h>

#include <string>

#include "tests/filter/lists/list_text.h"

namespace bloomwall::filter::test {
namespace {

struct ForeignCase {
  const char* rule;
  const char* text;
  const char* named;
};
class ForeignRules : public testing::TestWithParam<ForeignCase> {};
TEST_P(ForeignRules, AreNamedWhereAListIsRefused) {
  EXPECT_THAT(read_text(GetParam().text, ReadOptions{}).error, testing::HasSubstr(GetParam().named));
}
INSTANTIATE_TEST_SUITE_P(
    Rules, ForeignRules,
    testing::Values(
        ForeignCase{"TrackingProtection", "msFilterList\n: Expires=3\n-d ads.example\n- /banner/\n-d x.example\n",
                    "a tracking protection list of Internet Explorer (.tpl)"},
        ForeignCase{"TrackingProtectionWithComments", "# x\nmsFilterList\n# y\n-d ads.example\n", "(.tpl)"},
        ForeignCase{"NamePatterns", "# dnscrypt\nad.*\nads.*\n*sex*\n=a.example\nb.example\n",
                    "as dnscrypt-proxy has them"},
        ForeignCase{"ProxyRules", "DOMAIN-SUFFIX,a.example,REJECT\nDOMAIN-KEYWORD,ad,REJECT\nDOMAIN,b.example,REJECT\n",
                    "rules of Surge, Clash or Quantumult"},
        ForeignCase{"RuleSetInYaml", "payload:\n  - '+.a.example'\n  - 'b.example'\n", "a rule set of Clash in YAML"},
        ForeignCase{"Geosite", "full:a.example\nregexp:^ad\nkeyword:ads\n", "a domain list of v2fly"},
        ForeignCase{"Expressions", "^ad([sxv]?[0-9]*|system)[_.-]([^.[:space:]]+\\.){1,}\n(^|\\.)ads\\.\n",
                    "regular expressions"},
        ForeignCase{"DetectionRules", "alert dns any any -> any any (msg:\"x\"; sid:1;)\n",
                    "rules of Snort or Suricata"}),
    [](const testing::TestParamInfo<ForeignCase>& row) { return std::string(row.param.rule); });

TEST(ForeignRules, AreNoLists) {
  for (const char* text : {"", "a.example\n", "*.a.example\n", "0.0.0.0 a.example\n", "||a.example^\n",
                           "http://a.example/x\n", "1,http://a.example/x\n", "- a\nb.example\nc.example\n"}) {
    EXPECT_EQ(foreign_rules(text), "") << text;
  }
}

TEST(ForeignRules, SingleWordsAreCountedAmongAllLines) {
  const std::string error = read_text("intranet\nbanner\nnot a line\n", ReadOptions{}).error;
  EXPECT_THAT(error, testing::HasSubstr("of the first 3 lines 2 are single words and 1 can't be used"));
}

}  // namespace
}  // namespace bloomwall::filter::test
