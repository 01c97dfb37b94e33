// SPDX-License-Identifier: Apache-2.0
#include "conf/yaml_reader.h"

#include <gtest/gtest.h>

namespace bloomwall::conf {
namespace {

using namespace std::chrono_literals;

struct Everything {
  std::uint16_t number = 7;
  std::uint32_t threads = 3;
  Milliseconds wait = 10s;
  std::uint64_t bytes = 4096;
  bool flag = true;
  std::string word = "default";
  std::filesystem::path file = "/default";
  std::string target = "stderr";
  std::optional<std::string> maybe = "127.0.0.1:1";
  std::filesystem::path maybe_file = "/default";
  int pick = 1;
  std::vector<std::string> words{"192.0.2.1"};
  std::vector<std::uint16_t> ports{443};
  std::map<std::string, std::string> names{{"a", "192.0.2.1"}};
  friend bool operator==(const Everything&, const Everything&) = default;
};

void read(MapReader& map, Everything& out) {
  map.integer("number", out.number, std::uint16_t{1}, std::uint16_t{100});
  map.integer_or_auto("threads", out.threads, 8);
  map.duration("wait", out.wait, 1ms, 1min);
  map.size("bytes", out.bytes, 1, 1 << 20);
  map.flag("flag", out.flag);
  map.text("word", out.word, kLabel);
  map.path("file", out.file);
  map.path_or("target", out.target, {"stderr", "off"});
  map.optional_text("maybe", out.maybe, kListenAddress);
  map.optional_path("maybe_file", out.maybe_file);
  map.choice("pick", out.pick, {{"one", 1}, {"two", 2}});
  map.text_list("words", out.words, kIp);
  map.port_list("ports", out.ports);
  map.text_map("names", out.names, kHostName, kIp);
}

Everything read_text(const std::string& yaml, std::vector<ConfigError>& errors) {
  const auto tree = parse_yaml(yaml, "t");
  EXPECT_TRUE(tree.has_value());
  Reading reading{.files = {{"t", "/folder"}}};
  Everything out;
  MapReader map(reading, &*tree, "");
  read(map, out);
  map.finish();
  errors = reading.errors;
  return out;
}

TEST(YamlReader, AbsentKeysLeaveTheDefaults) {
  std::vector<ConfigError> errors;
  EXPECT_EQ(read_text("", errors), Everything{});
  EXPECT_TRUE(errors.empty());
}

TEST(YamlReader, EveryKindOfValueIsTaken) {
  std::vector<ConfigError> errors;
  const auto got = read_text(
      "number: 100\nthreads: auto\nwait: 1m\nbytes: 64KiB\nflag: false\nword: other\nfile: x/../y.txt\ntarget: off\n"
      "maybe: null\nmaybe_file: null\npick: two\nwords: [\"::1\", 192.0.2.2]\nports: []\nnames: {B.example: "
      "192.0.2.3}\n",
      errors);
  ASSERT_TRUE(errors.empty()) << errors.front().text();
  const Everything want{.number = 100,
                        .threads = 0,
                        .wait = 60s,
                        .bytes = 65536,
                        .flag = false,
                        .word = "other",
                        .file = "/folder/y.txt",
                        .target = "off",
                        .maybe = std::nullopt,
                        .maybe_file = {},
                        .pick = 2,
                        .words = {"::1", "192.0.2.2"},
                        .ports = {},
                        .names = {{"b.example", "192.0.2.3"}}};
  EXPECT_EQ(got, want);
}

TEST(YamlReader, AWordIsTheWordInQuotesToo) {
  std::vector<ConfigError> errors;
  EXPECT_EQ(read_text("target: \"off\"\n", errors).target, "off");
  EXPECT_EQ(read_text("target: 'off'\n", errors).target, "off");
  EXPECT_EQ(read_text("target: ./off\n", errors).target, "/folder/off");
  EXPECT_EQ(read_text("target: /var/log/x\n", errors).target, "/var/log/x");
}

struct WordOrKeys {
  bool is_word = false;
  std::string word = "default";
};
void read(MapReader& map, WordOrKeys& out) { map.text("word", out.word, kLabel); }
WordOrKeys read_word_or_keys(const std::string& yaml, std::vector<ConfigError>& errors) {
  const auto tree = parse_yaml(yaml, "t");
  Reading reading{.files = {{"t", "/folder"}}};
  WordOrKeys out;
  MapReader map(reading, &*tree, "");
  map.word_or_section("tls", "internal", out.is_word, out);
  map.finish();
  errors = reading.errors;
  return out;
}

TEST(YamlReader, AWordMayStandForASection) {
  std::vector<ConfigError> errors;
  EXPECT_TRUE(read_word_or_keys("tls: internal\n", errors).is_word);
  EXPECT_TRUE(read_word_or_keys("tls: \"internal\"\n", errors).is_word);
  EXPECT_TRUE(errors.empty());
  const WordOrKeys keys = read_word_or_keys("tls: {word: other}\n", errors);
  EXPECT_FALSE(keys.is_word);
  EXPECT_EQ(keys.word, "other");
  EXPECT_FALSE(read_word_or_keys("tls:\n", errors).is_word) << "keys left out are the defaults";
  EXPECT_TRUE(errors.empty());
  read_word_or_keys("tls: intern\n", errors);
  ASSERT_EQ(errors.size(), 1U);
  EXPECT_EQ(errors.front().line, 1);
  EXPECT_EQ(errors.front().key, "tls");
}

TEST(YamlReader, AWrongValueLeavesTheDefaultAndTheOthersAreStillRead) {
  std::vector<ConfigError> errors;
  const auto got = read_text("number: 101\nwait: 5s\nbytes: lots\n", errors);
  EXPECT_EQ(got.number, 7);
  EXPECT_EQ(got.bytes, 4096U);
  EXPECT_EQ(got.wait, 5s);
  EXPECT_EQ(errors.size(), 2U);
}

TEST(YamlReader, ALongValueIsShownCut) {
  std::vector<ConfigError> errors;
  read_text("word: " + std::string(1000, 'a') + "\n", errors);
  ASSERT_EQ(errors.size(), 1U);
  EXPECT_LT(errors.front().what.size(), 200U);
}

TEST(YamlReader, EveryKeyIsListedWithItsRange) {
  std::vector<KeyInfo> keys;
  Reading reading{.files = {SourceFile{}}, .keys = &keys};
  MapReader map(reading, nullptr, "top");
  Everything scratch;
  read(map, scratch);
  ASSERT_EQ(keys.size(), 14U);
  EXPECT_EQ(keys[0].path, "top.number");
  EXPECT_EQ(keys[0].range, "1 to 100");
  EXPECT_EQ(keys[10].range, "one or two");
}

TEST(YamlReader, SuggestsTheNearestWord) {
  const std::vector<std::string> known{"request_header", "connect", "idle", "via"};
  EXPECT_EQ(nearest_word("conect", known), "connect");
  EXPECT_EQ(nearest_word("request-header", known), "request_header");
  EXPECT_EQ(nearest_word("header_request", known), "");
  EXPECT_EQ(nearest_word("xyz", known), "");
  EXPECT_EQ(nearest_word(std::string(100'000, 'x'), known), "");
}

}  // namespace
}  // namespace bloomwall::conf
