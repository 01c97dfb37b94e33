// SPDX-License-Identifier: Apache-2.0
#include "filter/policy/explain.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <vector>

#include "tests/filter/policy/policy_maker.h"

namespace bloomwall::filter {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

std::vector<std::string> told(const Story& story) {
  std::vector<std::string> out;
  for (const AskedQuestion& asked : story.questions) {
    out.push_back((asked.filter.empty() ? "allow" : asked.filter) + ": " + asked.expression + ": " +
                  to_string(asked.answer));
  }
  return out;
}

TEST(Explain, ListsEveryExpressionInTheOrderAsked) {
  PolicyMaker policy({{.name = "f", .entries = {"S example.com"}}}, "");
  const Story story = policy.policy->explain(policy.canonicaliser.url("http://a.b.test/1/2?q"));
  EXPECT_THAT(story.expressions,
              ElementsAre("a.b.test", "a.b.test/1/2?q", "a.b.test/1/2", "a.b.test/1/", "a.b.test/1/2/", "b.test",
                          "b.test/1/2?q", "b.test/1/2", "b.test/1/", "b.test/1/2/"));
  EXPECT_EQ(story.left_out, 0U);
}

TEST(Explain, TheLastLabelIsAnExpressionOnlyWhereSomebodyHoldsOne) {
  const auto expressions = [](PolicyMaker policy) {
    return policy.policy->explain(policy.canonicaliser.url("a.test")).expressions;
  };
  EXPECT_THAT(expressions(PolicyMaker({{.name = "f", .entries = {"S example.com"}}}, "")),
              ElementsAre("a.test", "a.test/"));
  const auto all = ElementsAre("a.test", "a.test/", "test", "test/");
  EXPECT_THAT(expressions(PolicyMaker({{.name = "f", .entries = {"S zip"}}}, "")), all);
  EXPECT_THAT(expressions(PolicyMaker({{.name = "f", .entries = {"S x.test"}, .changes = "+*.zip\n"}}, "")), all);
  EXPECT_THAT(expressions(PolicyMaker({{.name = "f", .entries = {"S x.test"}}}, "intranet\n")), all);
}

TEST(Explain, AHostOfOneLabelAndAnAddressAreExpressions) {
  PolicyMaker policy({{.name = "f", .entries = {"S example.com"}}}, "");
  EXPECT_THAT(policy.policy->explain(policy.canonicaliser.url("http://intranet/")).expressions,
              ElementsAre("intranet", "intranet/"));
  EXPECT_THAT(policy.policy->explain(policy.canonicaliser.url("http://192.0.2.1/a")).expressions,
              ElementsAre("192.0.2.1", "192.0.2.1/a", "192.0.2.1/a/"));
}

TEST(Explain, TellsEveryQuestionAndItsAnswer) {
  PolicyMaker policy({{.name = "hosts", .entries = {"S example.com"}},
                      {.name = "urls", .entries = {"U b.test/x", "D b.test/d/"}, .changes = "-http://b.test/y\n"},
                      {.name = "later", .entries = {"S b.test"}}},
                     "");
  EXPECT_THAT(told(policy.policy->explain(policy.canonicaliser.url("a.b.test/x"))),
              ElementsAre("hosts: S b.test: no", "urls: mark U b.test: yes", "urls: mark D1 b.test: yes",
                          "urls: U b.test/x: yes"));
  EXPECT_THAT(told(policy.policy->explain(policy.canonicaliser.url("a.b.test/y"))),
              ElementsAre("hosts: S b.test: no", "urls: U b.test/y: removed by the delta", "urls: mark U b.test: yes",
                          "urls: mark D1 b.test: yes", "urls: D b.test/y/: no", "later: S b.test: yes"));
}

TEST(Explain, ShowsWhatTheAllowListOverruled) {
  PolicyMaker policy({{.name = "ads", .entries = {"S b.test", "U b.test/x"}},
                      {.name = "new", .entries = {"S z.test"}, .changes = "+b.test\n"}},
                     "b.test @ads @new\nc.test\n");
  EXPECT_THAT(told(policy.policy->explain(policy.canonicaliser.url("b.test"))),
              ElementsAre("allow: S b.test @ads @new: yes", "ads: S b.test: yes, but overruled by the allow list",
                          "ads: mark U b.test: yes", "new: S b.test: yes, but overruled by the allow list"));
  EXPECT_THAT(told(policy.policy->explain(policy.canonicaliser.url("c.test"))),
              ElementsAre("allow: S c.test: yes", "ads: S c.test: no", "ads: mark U c.test: no", "new: S c.test: no"));
}

// A list on trial in front of one that blocks must not look useless.
TEST(Overtaken, IsTheFirstThatMonitorsWhereALaterOneBlocks) {
  PolicyMaker policy({{.name = "one", .entries = {"S b.test", "S m.test"}, .action = FilterAction::monitor},
                      {.name = "more", .entries = {"S b.test"}, .action = FilterAction::monitor},
                      {.name = "two", .entries = {"S b.test", "S only.test", "D c.test/evil/"}}},
                     "");
  EXPECT_EQ(policy.judge("b.test").filter->name, "two");
  EXPECT_EQ(policy.judge("b.test").overtaken, "one");
  EXPECT_EQ(policy.judge_host("b.test").overtaken, "one");
  EXPECT_EQ(policy.judge("m.test").overtaken, "");
  EXPECT_EQ(policy.judge("only.test").overtaken, "");
  PolicyMaker white({{.name = "one", .entries = {"S b.test"}, .action = FilterAction::monitor}}, "", Otherwise::deny);
  EXPECT_EQ(white.judge("b.test").decision, Decision::blocked);
  EXPECT_EQ(white.judge("b.test").overtaken, "one") << "what no list holds is blocked";
}

TEST(Explain, HasTheVerdictOfJudge) {
  PolicyMaker policy({{.name = "m", .entries = {"S m.test", "S b.test"}, .action = FilterAction::monitor},
                      {.name = "b", .entries = {"S b.test", "D c.test/evil/"}, .changes = "-gone.test\n+new.test\n"}},
                     "ok.b.test\nok.m.test @m\n");
  for (const std::string_view text :
       {"m.test", "b.test/x", "c.test/evil/", "http://c.test/evil/%252e%252e/x", "gone.test", "new.test", "ok.b.test",
        "ok.m.test", "plain.test", "http://u@b.test/", "http:///"}) {
    const CanonicalUrl& url = policy.canonicaliser.url(text);
    const Verdict judged = policy.policy->judge(url);
    const Verdict explained = policy.policy->explain(url).verdict;
    EXPECT_EQ(PolicyMaker::say(explained), PolicyMaker::say(judged)) << text;
    EXPECT_EQ(explained.form, judged.form) << text;
    EXPECT_EQ(explained.questions, judged.questions) << text;
    EXPECT_EQ(explained.filter, judged.filter) << text;
  }
}

TEST(Explain, OfARejectedUrlHasNoQuestions) {
  PolicyMaker policy({{.name = "f", .entries = {"S a.test"}}}, "");
  const CanonicalUrl& url = policy.canonicaliser.url("http://u@a.test/");
  const Story story = policy.policy->explain(url);
  EXPECT_THAT(story.expressions, IsEmpty());
  EXPECT_THAT(story.questions, IsEmpty());
  const StoryFields fields = story_fields(url, story);
  EXPECT_EQ(fields.action, "reject");
  EXPECT_EQ(fields.verdict, "rejected");
  EXPECT_EQ(fields.reason, to_string(UrlReason::userinfo));
  EXPECT_THAT(explain_text(url, story), HasSubstr("verdict     rejected (" + fields.reason + ")\n"));
}

TEST(Explain, FieldsAreThoseOfJsonOutput) {
  PolicyMaker policy({{.name = "f", .entries = {"D a.test/evil/"}}}, "");
  const CanonicalUrl& url = policy.canonicaliser.url("HTTP://A.test:80/evil/%252e%252e/x");
  const StoryFields fields = story_fields(url, policy.policy->explain(url));
  EXPECT_EQ(fields.action, "lookup");
  EXPECT_EQ(fields.canonical, "http://a.test/x");
  EXPECT_THAT(fields.alternatives, ElementsAre("http://a.test/evil/../x"));
  EXPECT_THAT(fields.expressions, Contains("a.test/evil/"));
  EXPECT_EQ(fields.verdict, "blocked");
  EXPECT_EQ(fields.filter, "f");
  EXPECT_EQ(fields.expression, "a.test/evil/");
  EXPECT_EQ(fields.reason, "listed");
}

TEST(Explain, TextTellsTheWholeStory) {
  PolicyMaker policy({{.name = "f", .entries = {"D a.test/evil/"}}}, "other.test\n");
  const CanonicalUrl& url = policy.canonicaliser.url("http://a.test/evil/x");
  EXPECT_EQ(explain_text(url, policy.policy->explain(url)),
            "canonical   http://a.test/evil/x\n"
            "verdict     blocked (listed) by filter f, status 403: D a.test/evil/\n"
            "expressions a.test\n"
            "            a.test/evil/x\n"
            "            a.test/evil/\n"
            "            a.test/evil/x/\n"
            "asked       f: mark D1 a.test: yes\n"
            "            f: D a.test/evil/: yes\n");
  const CanonicalUrl& two = policy.canonicaliser.url("http://a.test/evil/%252e%252e/x");
  const std::string text = explain_text(two, policy.policy->explain(two));
  EXPECT_THAT(text, HasSubstr("also read   http://a.test/evil/../x\n"));
  EXPECT_THAT(text, HasSubstr("D a.test/evil/ (form 2 of 2)\n"));
  EXPECT_THAT(text, HasSubstr("form 2, f: D a.test/evil/: yes\n"));
}

TEST(Explain, AHostileUrlFillsNoMemory) {
  PolicyMaker policy({{.name = "f", .entries = {"S example.com"}}}, "");
  std::string host = "a";
  for (int i = 1; i < 127; ++i) host += ".a";
  std::string path;
  for (int i = 0; i < 20000; ++i) path += "/a";
  const std::string text = "http://" + host + path + "?q";
  const CanonicalUrl& url = policy.canonicaliser.url(text);
  const Story story = policy.policy->explain(url);
  EXPECT_LE(story.expressions.size(), kMaxStoryItems);
  std::size_t bytes = 0;
  for (const std::string& expression : story.expressions) bytes += expression.size();
  EXPECT_LE(bytes, kMaxStoryBytes);
  EXPECT_GT(story.left_out, 1'000'000U);
  EXPECT_THAT(explain_text(url, story), HasSubstr("more are not shown"));
}

}  // namespace
}  // namespace bloomwall::filter
