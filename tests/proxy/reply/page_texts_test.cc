// The texts of the proxy's own pages: whole in each language, and chosen by Accept-Language.
// SPDX-License-Identifier: Apache-2.0
#include "proxy/reply/page_texts.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include "proxy/reply/block_template.h"
#include "proxy/reply/page_frame.h"

namespace bloomwall::proxy {
namespace {

// "{filter}{host}", in the order of the alphabet.
std::string placeholders(std::string_view text) {
  std::vector<std::string> found;
  for (std::size_t open = text.find('{'); open != std::string_view::npos; open = text.find('{', open + 1)) {
    const std::size_t close = text.find('}', open);
    EXPECT_NE(close, std::string_view::npos) << text;
    found.emplace_back(text.substr(open, close - open + 1));
  }
  std::ranges::sort(found);
  std::string all;
  for (const std::string& one : found) all += one;
  return all;
}

bool is_utf8_text(std::string_view text) {
  for (std::size_t i = 0; i < text.size();) {
    const auto lead = static_cast<unsigned char>(text[i]);
    const std::size_t size = lead < 0x80 ? 1 : lead >> 5U == 6 ? 2 : lead >> 4U == 14 ? 3 : 0;
    if (size == 0 || lead < 0x20 || i + size > text.size()) return false;
    for (std::size_t j = 1; j < size; ++j) {
      if (static_cast<unsigned char>(text[i + j]) >> 6U != 2) return false;
    }
    i += size;
  }
  return true;
}

TEST(PageTexts, AreWholeInEveryLanguage) {
  std::set<std::string_view> names;
  ASSERT_GE(page_texts().size(), 140U);
  for (const PageTextEntry& entry : page_texts()) {
    EXPECT_TRUE(names.insert(entry.name).second) << entry.name << " stands there twice";
    for (std::size_t i = 0; i < kLanguageTags.size(); ++i) {
      const std::string_view text = entry.languages[i];
      EXPECT_FALSE(text.empty()) << entry.name << " " << kLanguageTags[i];
      EXPECT_TRUE(is_utf8_text(text)) << entry.name << " " << kLanguageTags[i];
      EXPECT_EQ(placeholders(text), placeholders(entry.languages[0])) << entry.name << " " << kLanguageTags[i];
      const bool ends_sentence = text.ends_with('.');
      EXPECT_EQ(ends_sentence, entry.languages[0].ends_with('.')) << entry.name << " " << kLanguageTags[i];
    }
  }
}

// What is the same in two languages by chance is short; a sentence that is was forgotten.
TEST(PageTexts, AreTranslated) {
  for (const PageTextEntry& entry : page_texts()) {
    for (std::size_t i = 1; i < kLanguageTags.size(); ++i) {
      const bool is_long = entry.languages[0].size() > 24;
      EXPECT_TRUE(!is_long || entry.languages[i] != entry.languages[0]) << entry.name << " " << kLanguageTags[i];
    }
  }
}

struct Chosen {
  std::string_view accept_language;
  Language want;
};

class LanguageChoice : public testing::TestWithParam<Chosen> {};

TEST_P(LanguageChoice, IsTheBestThatIsThere) {
  EXPECT_EQ(choose_language(GetParam().accept_language), GetParam().want) << GetParam().accept_language;
}

INSTANTIATE_TEST_SUITE_P(
    Rows, LanguageChoice,
    testing::Values(Chosen{"", Language::en}, Chosen{"de", Language::de}, Chosen{"DE-at", Language::de},
                    Chosen{"de-Latn-DE-1996", Language::de}, Chosen{"den", Language::en}, Chosen{"d", Language::en},
                    Chosen{"fr-CH, fr;q=0.9, en;q=0.8, de;q=0.7, *;q=0.5", Language::fr},
                    Chosen{"en;q=0.1, pl;q=0.2", Language::pl}, Chosen{"pt-BR,pt;q=0.9,en;q=0.8", Language::pt},
                    Chosen{"zh-CN, ja;q=0.9", Language::en}, Chosen{"zh, it;q=0.001", Language::it},
                    Chosen{"nl;q=0, es;q=0.5", Language::es}, Chosen{"de;q=0", Language::en},
                    Chosen{"de;q=1.5, es;q=0.3", Language::de}, Chosen{"de;q=x", Language::en},
                    Chosen{"es, de", Language::es}, Chosen{"*, de;q=0.5", Language::en},
                    Chosen{"*;q=0.1, de;q=0.5", Language::de}, Chosen{"en-GB;q=0.4, de;q=0.5, *", Language::de},
                    Chosen{",,; ;q=1, de ;q=0.2", Language::de}, Chosen{"\"de\", fr", Language::fr}));

TEST(LanguageChoice, ReadsNoMoreThanItsLimit) {
  std::string many;
  for (int i = 0; i < 64; ++i) many += "xx,";
  EXPECT_EQ(choose_language(many + "de"), Language::en);
  EXPECT_EQ(choose_language(many.substr(3) + "de"), Language::de);
}

TEST(PageTexts, AreFilledIn) {
  EXPECT_EQ(filled("{a} of {b}", {{"a", "1"}, {"b", "{a}"}}), "1 of {a}") << "what is filled in is not read again";
  EXPECT_EQ(filled("no {c} end {", {{"a", "1"}}), "no  end {");
}

TEST(PageFrame, EscapesItsTitleAndSaysItsLanguage) {
  const std::string page = framed({.language = Language::de, .title = "<b>", .body = "<p>x</p>"});
  EXPECT_NE(page.find("<html lang=\"de\" dir=\"ltr\">"), std::string::npos);
  EXPECT_NE(page.find("<h1>&lt;b&gt;</h1>"), std::string::npos);
  EXPECT_EQ(page.find("<script"), std::string::npos);
  EXPECT_EQ(page.find("<footer>"), std::string::npos);
  EXPECT_EQ(html_text(PageText::error_contact, Language::fr, {{"contact", "<a>"}}), "Contact : &lt;a&gt;");
}

// A language that is written from right to left needs its texts and a row of direction_of(), and no other style.
TEST(PageFrame, AndTheBlockPageNameNoSideOfTheScreen) {
  const std::string frame = framed({});
  for (const std::string_view page : {std::string_view(frame), built_in_block_template()}) {
    for (const char* const side : {"-left", "-right", "left:", "right:", ":left", ":right", ": left", ": right"}) {
      EXPECT_EQ(page.find(side), std::string_view::npos) << side;
    }
    EXPECT_NE(page.find(" dir=\""), std::string_view::npos);
  }
}

TEST(BlockTemplate, SaysTextsInTheReadersLanguage) {
  const auto page = BlockTemplate::parse("<p lang=\"{{lang}}\" title=\"{{t.label_host}}\">{{ t.report_open }}</p>");
  ASSERT_TRUE(page.has_value()) << page.error().what;
  EXPECT_TRUE(page->has_languages());
  TemplateValues values;
  values[static_cast<std::size_t>(TemplateVariable::lang)] = "pl";
  std::string out;
  page->render(out, values, Language::pl);
  EXPECT_EQ(out, "<p lang=\"pl\" title=\"Host\">Zg\xc5\x82o\xc5\x9b pomy\xc5\x82k\xc4\x99</p>");
}

TEST(BlockTemplate, RefusesTextsThatItCannotSay) {
  for (const char* const wrong : {"{{t.nothing}}", "{{t.block_by_filter}}", "{{#t.label_host}}x{{/t.label_host}}",
                                  "<style>{{t.label_host}}</style>", "<a href=\"{{t.label_host}}\">", "{{t.}}"}) {
    EXPECT_FALSE(BlockTemplate::parse(wrong).has_value()) << wrong;
  }
}

}  // namespace
}  // namespace bloomwall::proxy
