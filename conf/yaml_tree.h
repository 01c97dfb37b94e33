// YAML text as a plain tree in which every value and key knows its line and column. The only caller of yaml-cpp. The
// subset that a configuration needs: one document, maps with text keys, sequences, scalars. Anchors, aliases and tags
// are refused (an alias can make a small file huge), and so are equal keys in a map, text that is not UTF-8, control
// octets, more than kMaxYamlBytes, kMaxYamlDepth or kMaxYamlNodes.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <tl/expected.hpp>
#include <vector>

namespace bloomwall::conf {

inline constexpr std::size_t kMaxYamlBytes = std::size_t{1} << 20;
inline constexpr std::size_t kMaxYamlDepth = 16;
inline constexpr std::size_t kMaxYamlNodes = 100'000;

// One thing wrong with a configuration, placed so that an editor can jump to it.
struct ConfigError {
  std::string file;
  int line = 0;              // 1-based; 0: the whole file
  int column = 0;            // 1-based
  std::string key;           // "timeouts.idle"
  std::string what;          // "expected a duration from 1ms to 24h, such as 60s"
  std::string text() const;  // "file:line:column: key: what"
};

struct Place {
  int line = 0, column = 0;  // both 1-based; 0: nowhere
  std::uint16_t file = 0;    // of several files: which (config_files.h)
};

struct YamlEntry;
struct YamlNode {
  enum class Kind : std::uint8_t { null, scalar, sequence, map };
  Kind kind = Kind::null;
  bool quoted = false;  // a scalar in quotes or in block style: text, whatever it looks like
  Place place;
  std::string text;                // scalar
  std::vector<YamlNode> items;     // sequence
  std::vector<YamlEntry> entries;  // map, as in the file

  const YamlEntry* find(std::string_view key) const;  // nullptr where it is none, or no map
};
struct YamlEntry {
  std::string key;
  Place place;  // of the key
  YamlNode value;
};
inline YamlNode node_of(YamlNode::Kind kind) {
  YamlNode node;
  node.kind = kind;
  return node;
}

// Where `text` stops being readable text: the first octet that is not well-formed UTF-8 (RFC 3629), or a control
// character other than TAB, LF and CR. Nothing where all of it is text.
std::optional<std::size_t> find_non_text(std::string_view text);

// An empty document is a null node. `name` stands in errors. Linear but for the sorting of keys.
tl::expected<YamlNode, std::vector<ConfigError>> parse_yaml(std::string_view text, const std::string& name);

}  // namespace bloomwall::conf
