// conf/bloomwall.yaml is documentation that cannot go stale: it loads, it equals the built-in defaults, it holds every
// key, and beside each key stands what the key may be, in the words of the error message.
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <map>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "conf/config.h"
#include "conf/yaml_reader.h"
#include "conf/yaml_tree.h"

namespace bloomwall::conf {
namespace {

std::vector<std::string> shipped_lines() {
  std::ifstream in(BLOOMWALL_SOURCE_DIR "/conf/bloomwall.yaml");
  std::vector<std::string> lines;
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

std::string join(const std::vector<std::string>& lines) {
  std::string text;
  for (const auto& line : lines) text += line + "\n";
  return text;
}

// A comment for people: "# text". An example is "#key: value" or "#  key: value".
bool is_prose(const std::string& line) {
  return line == "#" || (line.size() > 2 && line.starts_with("# ") && line[2] != ' ');
}
bool is_example(const std::string& line) { return line.starts_with("#") && !is_prose(line); }

// The file as somebody leaves it who takes every example: without the sign before it, and without the empty list above
// it.
std::vector<std::string> with_examples() {
  auto lines = shipped_lines();
  for (std::size_t i = 0; i < lines.size(); ++i) {
    if (!is_example(lines[i])) continue;
    lines[i].erase(0, 1);
    std::string& above = lines[i - 1];
    for (const char* empty : {": []", ": {}"}) {
      if (const auto at = above.rfind(empty); at != std::string::npos && at + 4 == above.size()) above.resize(at + 1);
    }
  }
  return lines;
}

void collect(const YamlNode& node, const std::string& path, std::map<std::string, int>& lines_of) {
  for (const YamlEntry& entry : node.entries) {
    const std::string below = path.empty() ? entry.key : path + "." + entry.key;
    if (path != "dns.hosts") lines_of.emplace(below, entry.place.line);
    collect(entry.value, below, lines_of);
  }
  for (const YamlNode& item : node.items) collect(item, path + "[]", lines_of);
}

std::map<std::string, int> keys_of(const std::vector<std::string>& lines) {
  const auto tree = parse_yaml(join(lines), "shipped");
  std::map<std::string, int> found;
  if (tree) collect(*tree, "", found);
  return found;
}

// An event stream that lives in a tunnel must live where TLS is intercepted, and in clear.
TEST(ShippedConfig, WhatMayBeQuietInATunnelMayBeQuietOutsideIt) {
  const Timeouts usual;
  EXPECT_EQ(usual.response_header, usual.tunnel_idle);
  EXPECT_EQ(usual.body, usual.tunnel_idle);
}

TEST(ShippedConfig, EqualsTheBuiltInDefaults) {
  const auto loaded = load_text(join(shipped_lines()), "shipped");
  ASSERT_TRUE(loaded.has_value()) << loaded.error().front().text();
  EXPECT_EQ(*loaded, Config{});
}

std::string flow_of(const YamlNode& node) {
  std::string out;
  const auto add = [&](const std::string& text) { out += (out.empty() ? "" : ", ") + text; };
  switch (node.kind) {
    case YamlNode::Kind::null:
      return "null";
    case YamlNode::Kind::scalar:
      return node.quoted ? "'" + node.text + "'" : node.text;
    case YamlNode::Kind::sequence:
      for (const YamlNode& item : node.items) add(flow_of(item));
      return "[" + out + "]";
    case YamlNode::Kind::map:
      for (const YamlEntry& entry : node.entries) add("'" + entry.key + "': " + flow_of(entry.value));
      return "{" + out + "}";
  }
  return out;
}

// With every key, so that what is written says all that was read.
TEST(ShippedConfig, ItsExamplesReadBackFromTheirValues) {
  const auto loaded = load_text(join(with_examples()), "examples");
  ASSERT_TRUE(loaded.has_value()) << loaded.error().front().text();
  const YamlNode values = values_of(*loaded);
  const auto again = load_text(flow_of(values), "values");
  ASSERT_TRUE(again.has_value()) << again.error().front().text() << "\n" << flow_of(values);
  EXPECT_EQ(*again, *loaded);
  std::map<std::string, int> written;
  collect(values, "", written);
  for (const KeyInfo& key : known_keys()) EXPECT_TRUE(written.contains(key.path)) << key.path;
}

TEST(ShippedConfig, TheSampleLoads) {
  const auto loaded = load_file(BLOOMWALL_SOURCE_DIR "/conf/sample/bloomwall.yaml");
  ASSERT_TRUE(loaded.has_value()) << loaded.error().front().text();
  EXPECT_EQ(loaded->filters.size(), 1U);
}

TEST(ShippedConfig, ItsExamplesLoad) {
  const auto loaded = load_text(join(with_examples()), "examples");
  ASSERT_TRUE(loaded.has_value()) << loaded.error().front().text();
  EXPECT_EQ(loaded->filters.size(), 2U);
  EXPECT_EQ(loaded->listeners.size(), 2U);
  EXPECT_EQ(loaded->allow_lists.size(), 1U);
  EXPECT_EQ(loaded->dns.hosts.size(), 1U);
}

TEST(ShippedConfig, HoldsEveryKeyThereIs) {
  const auto found = keys_of(with_examples());
  const auto keys = known_keys();
  ASSERT_GE(keys.size(), 40U);
  for (const KeyInfo& key : keys) EXPECT_TRUE(found.contains(key.path)) << key.path;
}

TEST(ShippedConfig, SaysBesideEachKeyWhatItMayBe) {
  const auto lines = with_examples();
  const auto found = keys_of(lines);
  for (const KeyInfo& key : known_keys()) {
    const auto at = found.find(key.path);
    ASSERT_NE(at, found.end()) << key.path;
    const auto own = static_cast<std::size_t>(at->second - 1);
    std::string comment = lines[own].substr(std::min(lines[own].find('#'), lines[own].size()));
    for (std::size_t i = own; i > 0; --i) {  // and the comment above, unbroken
      const auto text = lines[i - 1].find_first_not_of(' ');
      if (text == std::string::npos || lines[i - 1][text] != '#') break;
      comment.insert(0, lines[i - 1] + "\n");
    }
    const std::string range = key.range.substr(0, key.range.find("; or null"));
    EXPECT_NE(comment.find(range), std::string::npos) << key.path << " may be: " << key.range << "\n" << comment;
    const bool says_null = comment.find("or null") != std::string::npos;
    EXPECT_TRUE(says_null || range == key.range) << key.path;
  }
}

// How many fields an aggregate has; counted by how many values can initialise it.
struct Anything {
  template <typename T>
  operator T() const;
};
template <typename T, typename... Values>
consteval std::size_t field_count(Values... values) {
  if constexpr (requires { T{values..., Anything{}}; }) {
    return field_count<T>(values..., Anything{});
  } else {
    return sizeof...(Values);
  }
}

// A field that no key sets would be a setting that nobody can use.
TEST(ShippedConfig, EveryFieldHasItsKey) {
  std::map<std::string, std::size_t> keys;  // by section
  for (const KeyInfo& key : known_keys()) {
    const auto dot = key.path.rfind('.');
    ++keys[dot == std::string::npos ? "" : key.path.substr(0, dot)];
  }
  const std::map<std::string, std::size_t> fields{
      // include, workers, allow_lists, otherwise, time_zone, safe_search_map, state_dir; the others are sections, which
      // follow, and `included`, `left_out` and `drop_in_folder`, which `include` fills
      {"", 7},
      {"listeners[]", field_count<Listener>() - 1},  // tls is a section
      {"listeners[].tls", field_count<ListenerTls>()},
      {"filters[]", field_count<Filter>() - 3},  // the sections that follow
      {"filters[].sources[]", field_count<Source>()},
      {"filters[].build", field_count<Build>()},
      {"filters[].guards", field_count<Guards>()},
      {"calendars[]", field_count<Calendar>()},
      {"schedules[]", field_count<Schedule>()},
      {"groups[]",
       field_count<Group>() - 3},  // block_page and tls_inspection are sections, `devices` is a word for clients
      {"devices[]", field_count<Device>()},
      {"groups[].block_page", field_count<GroupPage>()},
      {"groups[].tls_inspection", field_count<GroupTls>()},
      {"answers[]", field_count<Answers>()},
      {"block_page", field_count<BlockPage>()},
      {"reports", field_count<Reports>()},
      {"self_page", field_count<SelfPage>()},
      {"pac", field_count<Pac>()},
      {"access", field_count<Access>()},
      {"dns", field_count<Dns>()},
      {"upstream", field_count<Upstream>()},
      {"timeouts", field_count<Timeouts>()},
      {"limits", field_count<Limits>()},
      {"log", field_count<Log>() - 1},  // access is a section
      {"log.access", field_count<AccessLog>()},
      {"query_log", field_count<QueryLog>()},
      {"headers", field_count<Headers>()},
      {"admin", field_count<Admin>() - 1},                   // tls is a section
      {"admin.tls", field_count<AdminTls>() - 1},            // `internal` is a word in place of the keys
      {"tls_inspection", field_count<TlsInspection>() - 4},  // the sections that follow
      {"tls_inspection.ca", field_count<InspectionCa>()},
      {"tls_inspection.auto_pass", field_count<AutoPass>()},
      {"tls_inspection.verify", field_count<OriginTrust>()},
      {"tls_inspection.leaf", field_count<LeafCertificates>()},
      {"authentication", field_count<Authentication>() - 3},  // the sections that follow
      {"authentication.basic_helper", field_count<AuthHelper>()},
      {"authentication.negotiate_helper", field_count<AuthHelper>()},
      {"authentication.groups_helper", field_count<AuthHelper>()},
      {"update", field_count<Update>()}};
  EXPECT_EQ(keys, fields);
  static_assert(field_count<Config>() == 31, "a new section: add it above and to bloomwall.yaml");
}

}  // namespace
}  // namespace bloomwall::conf
