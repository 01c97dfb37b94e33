// SPDX-License-Identifier: Apache-2.0
#include "proxy/reply/block_template.h"

#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <ostream>
#include <string>
#include <string_view>

namespace bloomwall::proxy::http_test {
namespace {

TemplateValues values() {
  TemplateValues v;
  v[static_cast<std::size_t>(TemplateVariable::url)] = "http://a/?x=\"<'&\x01";
  v[static_cast<std::size_t>(TemplateVariable::host)] = "a.test";
  v[static_cast<std::size_t>(TemplateVariable::report_link)] = "https://h.example/?a=1&b=2";
  v[static_cast<std::size_t>(TemplateVariable::contact_link)] = "javascript:alert(1)";
  return v;
}

struct GoodTemplate {
  std::string_view name, text, want;
};
void PrintTo(const GoodTemplate& c, std::ostream* out) { *out << c.name; }
class Rendered : public ::testing::TestWithParam<GoodTemplate> {};

TEST_P(Rendered, EscapesForThePlace) {
  const auto parsed = BlockTemplate::parse(GetParam().text);
  ASSERT_TRUE(parsed) << parsed.error().what;
  std::string out;
  parsed->render(out, values());
  EXPECT_EQ(out, GetParam().want);
}

INSTANTIATE_TEST_SUITE_P(
    Rules, Rendered,
    ::testing::Values(
        GoodTemplate{"Literal", "plain", "plain"}, GoodTemplate{"Empty", "", ""},
        GoodTemplate{"Text", "<p>{{url}}</p>", "<p>http://a/?x=&quot;&lt;&#39;&amp;\xEF\xBF\xBD</p>"},
        GoodTemplate{"SpacesInTheBraces", "{{ host }}", "a.test"},
        GoodTemplate{"DoubleQuotedAttribute", "<a title=\"{{host}}\">", "<a title=\"a.test\">"},
        GoodTemplate{"SingleQuotedAttribute", "<a title='{{url}}'>",
                     "<a title='http://a/?x=&quot;&lt;&#39;&amp;\xEF\xBF\xBD'>"},
        GoodTemplate{"LinkInHref", "<a href=\"{{report_link}}\">", "<a href=\"https://h.example/?a=1&amp;b=2\">"},
        GoodTemplate{"LinkOfAnotherSchemeVanishes", "<a href=\"{{contact_link}}\">", "<a href=\"\">"},
        GoodTemplate{"PartOfAUrl", "<a href=\"https://x/?u={{url}}\">",
                     "<a href=\"https://x/?u=http%3A%2F%2Fa%2F%3Fx%3D%22%3C%27%26%01\">"},
        GoodTemplate{"LinkAfterStartIsAPart", "<a href=\"/go?{{report_link}}\">",
                     "<a href=\"/go?https%3A%2F%2Fh.example%2F%3Fa%3D1%26b%3D2\">"},
        GoodTemplate{"SectionWithValue", "a{{#host}}<b>{{host}}</b>{{/host}}c", "a<b>a.test</b>c"},
        GoodTemplate{"SectionWithout", "a{{#contact}}<b>{{contact}}</b>{{/contact}}c", "ac"},
        GoodTemplate{"NestedSections", "{{#host}}1{{#contact}}2{{/contact}}3{{/host}}4", "134"},
        GoodTemplate{"NestedInAnAbsentOne", "{{#contact}}1{{#host}}2{{/host}}3{{/contact}}4", "4"},
        GoodTemplate{"Comment", "a{{! {{nonsense}} }} !}}b", "ab"},
        GoodTemplate{"AfterScriptAndStyle", "<script>if (a<b) x='</p>';</script><style>a{b:c}</style>{{host}}",
                     "<script>if (a<b) x='</p>';</script><style>a{b:c}</style>a.test"},
        GoodTemplate{"AfterHtmlComment", "<!-- <a href=\" -->{{host}}", "<!-- <a href=\" -->a.test"},
        GoodTemplate{"InTitle", "<title>{{host}}</title>", "<title>a.test</title>"},
        GoodTemplate{"UpperCaseMarkup", "<A HREF=\"{{report_link}}\">", "<A HREF=\"https://h.example/?a=1&amp;b=2\">"}),
    [](const auto& param) { return std::string(param.param.name); });

struct BadTemplate {
  std::string_view name, text;
  int line, column;
  std::string_view what;
};
void PrintTo(const BadTemplate& c, std::ostream* out) { *out << c.name; }
class RefusedTemplate : public ::testing::TestWithParam<BadTemplate> {};

TEST_P(RefusedTemplate, NamesPlaceAndVariable) {
  const auto parsed = BlockTemplate::parse(GetParam().text);
  ASSERT_FALSE(parsed);
  EXPECT_EQ(parsed.error().line, GetParam().line);
  EXPECT_EQ(parsed.error().column, GetParam().column);
  EXPECT_NE(parsed.error().what.find(GetParam().what), std::string::npos) << parsed.error().what;
}

INSTANTIATE_TEST_SUITE_P(
    Rules, RefusedTemplate,
    ::testing::Values(
        BadTemplate{"UnknownVariable", "a\nbc {{hots}}", 2, 4, "\"hots\""}, BadTemplate{"NoName", "{{}}", 1, 1, "\"\""},
        BadTemplate{"Unclosed", "\n {{url", 2, 2, "}}"}, BadTemplate{"UnclosedComment", "{{! a }}", 1, 1, "!}}"},
        BadTemplate{"OpenSection", "{{#host}}", 1, 1, "{{#host}}"},
        BadTemplate{"StrayEnd", "x{{/host}}", 1, 2, "{{/host}}"},
        BadTemplate{"CrossedSections", "{{#host}}{{#url}}{{/host}}{{/url}}", 1, 18, "{{/host}}"},
        BadTemplate{"InScript", "<script>\nvar u = \"{{url}}\";</script>", 2, 10, "{{url}}"},
        BadTemplate{"InAnAttributeInsideScript", "<script>if(a<b c=\"{{url}}\")</script>", 1, 19, "{{url}}"},
        BadTemplate{"InSelfClosedScript", "<script/>{{url}}</script>", 1, 10, "{{url}}"},
        BadTemplate{"InStyle", "<style>a{color:{{host}}}</style>", 1, 16, "{{host}}"},
        BadTemplate{"InStyleAttribute", "<p style=\"color:{{host}}\">", 1, 17, "{{host}}"},
        BadTemplate{"InEventHandler", "<p onClick='f(\"{{url}}\")'>", 1, 16, "{{url}}"},
        BadTemplate{"InUnquotedAttribute", "<p title={{url}}>", 1, 10, "{{url}}"},
        BadTemplate{"AsAttributeName", "<p {{url}}>", 1, 4, "{{url}}"},
        BadTemplate{"AsTagName", "<{{url}}>", 1, 2, "{{url}}"},
        BadTemplate{"InHtmlComment", "<!-- {{url}} -->", 1, 6, "{{url}}"},
        BadTemplate{"InDoctype", "<!doctype {{url}}>", 1, 11, "{{url}}"},
        BadTemplate{"UrlThatIsNoLink", "<a href=\"{{url}}\">", 1, 10, "{{url}}"},
        BadTemplate{"RefreshTarget", "<meta http-equiv=refresh content=\"0;url={{url}}\">", 1, 41, "{{url}}"},
        BadTemplate{"SectionInATag", "<p {{#host}}x{{/host}}>", 1, 4, "{{#host}}"},
        BadTemplate{"SectionThatEndsInATag", "{{#host}}<p {{/host}}>", 1, 13, "{{/host}}"},
        BadTemplate{"SlashBeforeAttribute", "<a/href=\"{{url}}\">", 1, 10, "{{url}}"}),
    [](const auto& param) { return std::string(param.param.name); });

TEST(BlockTemplate, HasALimit) {
  EXPECT_TRUE(BlockTemplate::parse(std::string(BlockTemplate::kMaxBytes, 'a')));
  EXPECT_FALSE(BlockTemplate::parse(std::string(BlockTemplate::kMaxBytes + 1, 'a')));
}

TEST(BlockTemplate, TheBuiltInPageIsTheShippedFile) {
  std::ifstream in(BLOOMWALL_SOURCE_DIR "/conf/blocked.html", std::ios::binary);
  const std::string file((std::istreambuf_iterator<char>(in)), std::istreambuf_iterator<char>());
  ASSERT_FALSE(file.empty());
  EXPECT_EQ(built_in_block_template(), file);
  const auto parsed = BlockTemplate::parse(file);
  ASSERT_TRUE(parsed) << parsed.error().line << ":" << parsed.error().column << " " << parsed.error().what;
}

TEST(BlockTemplate, TheShippedFileDocumentsEveryVariable) {
  const std::string_view text = built_in_block_template();
  const std::string_view comment = text.substr(0, text.find("!}}"));
  for (const std::string_view name : kTemplateVariables) {
    EXPECT_NE(comment.find("\n    " + std::string(name) + " "), std::string_view::npos) << name;
  }
}

TEST(BlockTemplate, TheShippedPageLoadsNothingFromElsewhere) {
  std::string out;
  BlockTemplate::built_in().render(out, values());
  for (const std::string_view sign : {"<script", "<link", "<img", "@import", "url(", "src="}) {
    EXPECT_EQ(out.find(sign), std::string::npos) << sign;
  }
  EXPECT_TRUE(out.starts_with("<!doctype html>"));
}

}  // namespace
}  // namespace bloomwall::proxy::http_test
