// SPDX-License-Identifier: Apache-2.0
#include "filter/lists/adblock_rule.h"

#include <gtest/gtest.h>

namespace bloomwall::filter {
namespace {

TEST(AdblockRule, IsSplitAtTheModifiers) {
  const AdblockRule rule = split_adblock_rule("@@||a.example/$b^$script,domain=c.example");
  EXPECT_TRUE(rule.exception);
  EXPECT_EQ(rule.pattern, "||a.example/$b^");
  EXPECT_EQ(rule.modifiers, "script,domain=c.example");
}

TEST(AdblockRule, ADollarOfThePatternStaysInIt) {
  for (const char* text : {"||a.example/$/b", "||a.example/a$B", "||a.example/a$", "||a.example"}) {
    const AdblockRule rule = split_adblock_rule(text);
    EXPECT_EQ(rule.pattern, text);
    EXPECT_TRUE(rule.modifiers.empty());
  }
}

TEST(AdblockRule, ManyDollarsCostLinearTime) {
  const std::string text(65'000, '$');
  EXPECT_EQ(split_adblock_rule(text).pattern, text);
}

TEST(AdblockModifiers, AliasesShareAReason) {
  EXPECT_EQ(find_modifier("xhr")->reason, find_modifier("xmlhttprequest")->reason);
  EXPECT_EQ(find_modifier("css")->reason, "modifier $stylesheet");
  EXPECT_EQ(find_modifier("___")->use, ModifierUse::plain);
  EXPECT_EQ(find_modifier(""), nullptr);
  EXPECT_EQ(find_modifier("Script"), nullptr);
}

TEST(BadFilter, GivesTheRuleItTakesBack) {
  EXPECT_EQ(bad_filter_target("||a.example^$badfilter"), "||a.example^");
  EXPECT_EQ(bad_filter_target("@@||a.example^$script,badfilter,domain=b"), "@@||a.example^$script,domain=b");
  EXPECT_EQ(bad_filter_target(" ||a.example^$badfilter,script "), "||a.example^$script");
  EXPECT_EQ(bad_filter_target("||a.example/badfilter^"), std::nullopt);
  EXPECT_EQ(bad_filter_target("! $badfilter"), std::nullopt);
  EXPECT_EQ(bad_filter_target("a.example##.badfilter"), std::nullopt);
}

}  // namespace
}  // namespace bloomwall::filter
