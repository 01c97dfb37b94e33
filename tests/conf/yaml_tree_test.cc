// SPDX-License-Identifier: Apache-2.0
#include "conf/yaml_tree.h"

#include <gtest/gtest.h>

#include <chrono>
#include <string>

namespace bloomwall::conf {
namespace {

TEST(YamlTree, EveryValueKnowsItsPlace) {
  const auto tree = parse_yaml("a: 1\nb:\n  - x\n  - {c: 'q', d: }\n", "t");
  ASSERT_TRUE(tree.has_value());
  ASSERT_EQ(tree->kind, YamlNode::Kind::map);
  EXPECT_EQ(tree->find("a")->value.text, "1");
  EXPECT_EQ(tree->find("a")->value.place.column, 4);
  EXPECT_EQ(tree->find("none"), nullptr);
  const YamlNode& list = tree->find("b")->value;
  ASSERT_EQ(list.items.size(), 2U);
  EXPECT_FALSE(list.items[0].quoted);
  const YamlEntry* c = list.items[1].find("c");
  ASSERT_NE(c, nullptr);
  EXPECT_TRUE(c->value.quoted);
  EXPECT_EQ(c->place.line, 4);
  EXPECT_EQ(c->place.column, 6);
  EXPECT_EQ(c->value.place.column, 9);
  EXPECT_EQ(list.items[1].find("d")->value.kind, YamlNode::Kind::null);
}

TEST(YamlTree, NothingAtAllIsNull) {
  for (const char* text : {"", "\n\n", "# only a comment\n", "---\n", "~", "null"}) {
    const auto tree = parse_yaml(text, "t");
    ASSERT_TRUE(tree.has_value()) << text;
    EXPECT_EQ(tree->kind, YamlNode::Kind::null) << text;
  }
}

TEST(YamlTree, AByteOrderMarkIsNoPartOfTheFirstKey) {
  const auto tree = parse_yaml("\xef\xbb\xbfworkers: 2\n", "t");
  ASSERT_TRUE(tree.has_value());
  EXPECT_NE(tree->find("workers"), nullptr);
}

std::string first_error(const std::string& text) {
  const auto tree = parse_yaml(text, "t");
  return tree ? "none" : tree.error().front().text();
}

TEST(YamlTree, BoundsSizeDepthAndNumber) {
  EXPECT_EQ(first_error(std::string(kMaxYamlBytes + 1, ' ')), "t: larger than 1024 KiB");
  EXPECT_EQ(first_error(std::string(kMaxYamlBytes, ' ')), "none");
  const auto nested = [](std::size_t depth) { return std::string(depth, '[') + std::string(depth, ']'); };
  EXPECT_EQ(first_error(nested(kMaxYamlDepth)), "none");
  EXPECT_EQ(first_error(nested(kMaxYamlDepth + 1)), "t:1:17: not YAML: nested deeper than 16 levels");
  std::string many = "[";
  for (std::size_t i = 0; i <= kMaxYamlNodes; ++i) many += "a,";
  EXPECT_EQ(first_error(many + "]"), "t: not YAML: more than 100000 values");
}

TEST(YamlTree, HostileFilesEndSoon) {
  const auto begin = std::chrono::steady_clock::now();
  const std::string half_mega(kMaxYamlBytes / 2, 'x');
  for (const char* piece :
       {"[", "{", "- ", "? ", "a: ", "&a ", "*a ", "!a ", "\"", "'", "|\n", "a:\n", "%", "--- ", ",", "{a: ["}) {
    std::string text;
    while (text.size() + 8 < kMaxYamlBytes) text += piece;
    EXPECT_NE(first_error(text), "") << piece;
  }
  EXPECT_NE(first_error("a: " + half_mega), "");
  const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(std::chrono::steady_clock::now() - begin);
  EXPECT_LT(seconds.count(), 60) << "some hostile file takes more than linear time";
}

TEST(YamlTree, ABillionLaughsAreRefusedAtTheFirst) {
  const auto tree = parse_yaml("a: &a [x,x]\nb: &b [*a,*a]\nc: &c [*b,*b]\n", "t");
  ASSERT_FALSE(tree.has_value());
  EXPECT_EQ(tree.error().size(), 7U) << "three anchors, four aliases";
}

TEST(Utf8, TakesText) {
  for (const char* text : {"", "plain\ttext\r\n",
                           "b\xc3\xbc"
                           "cher",
                           "\xe2\x82\xac", "\xf0\x9f\x98\x80",
                           "\xef\xbb\xbf"
                           "a",
                           "\xed\x9f\xbf", "\xf4\x8f\xbf\xbf"}) {
    EXPECT_EQ(find_non_text(text), std::nullopt) << text;
  }
}

TEST(Utf8, FindsTheFirstOctetThatIsNone) {
  const struct {
    const char* name;
    std::string text;
  } rows[] = {
      {"lone continuation", "ab\x80"},
      {"latin 1", "ab\xe9x"},
      {"cut sequence", "ab\xe2\x82"},
      {"overlong slash", "ab\xc0\xaf"},
      {"overlong three", "ab\xe0\x80\xaf"},
      {"overlong four", "ab\xf0\x80\x80\xaf"},
      {"surrogate", "ab\xed\xa0\x80"},
      {"beyond U+10FFFF", "ab\xf4\x90\x80\x80"},
      {"five octets", "ab\xf8\x88\x80\x80\x80"},
      {"escape", "ab\x1b[0m"},
      {"delete", "ab\x7f"},
      {"NUL", std::string("ab\0c", 4)},
  };
  for (const auto& row : rows) EXPECT_EQ(find_non_text(row.text), 2U) << row.name;
}

}  // namespace
}  // namespace bloomwall::conf
