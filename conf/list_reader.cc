// The readers of lists and of maps of texts. A list that is given replaces the default as a whole.
// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/units.h"
#include "conf/yaml_reader.h"

namespace bloomwall::conf {
namespace {

template <typename Values, typename Make>
YamlNode list_node(const Values& values, Make make) {
  YamlNode list = node_of(YamlNode::Kind::sequence);
  for (const auto& value : values) list.items.push_back(make(value));
  return list;
}

constexpr std::uint64_t kMostPort = 65535;
constexpr std::size_t kShortestRange = 9;  // that is written as one

// "443" or "1025-65535". False: neither.
bool add_ports(std::string_view text, std::vector<std::uint16_t>& out) {
  const std::size_t dash = text.find('-');
  const auto first = parse_integer(text.substr(0, dash));
  const auto last = dash == std::string_view::npos ? first : parse_integer(text.substr(dash + 1));
  if (!first || !last || *first < 1 || *last > kMostPort || *first > *last) return false;
  for (std::uint64_t port = *first; port <= *last; ++port) out.push_back(static_cast<std::uint16_t>(port));
  return true;
}

std::vector<std::string> ranges_of(const std::vector<std::uint16_t>& ports) {
  std::vector<std::string> out;
  for (std::size_t i = 0; i < ports.size();) {
    std::size_t end = i + 1;
    while (end < ports.size() && ports[end] == ports[i] + (end - i)) ++end;
    if (end - i >= kShortestRange) {
      out.push_back(fmt::format("{}-{}", ports[i], ports[end - 1]));
      i = end;
    } else {
      out.push_back(std::to_string(ports[i++]));
    }
  }
  return out;
}

}  // namespace

void MapReader::text_list(std::string_view key, std::vector<std::string>& out, const Form& form) {
  if (into_ != nullptr) return put(key, list_node(out, text_node));
  const YamlNode* list = find_scalars(key, std::string(form.expected));
  if (list == nullptr) return;
  out.clear();
  for (std::size_t i = 0; i < list->items.size(); ++i) {
    std::string value;
    if (read_text(list->items[i], fmt::format("{}[{}]", path_of(key), i), value, form)) out.push_back(std::move(value));
  }
}

void MapReader::word_or_text_list(std::string_view key, std::string_view word, bool& is_word,
                                  std::vector<std::string>& out, const Form& form) {
  if (into_ != nullptr && is_word) return put(key, text_node(word));
  const YamlEntry* const entry = map_ == nullptr ? nullptr : map_->find(key);
  is_word = entry != nullptr && entry->value.kind == YamlNode::Kind::scalar && entry->value.text == word;
  if (!is_word) return text_list(key, out, form);
  asked_.emplace_back(key);
}

void MapReader::path_list(std::string_view key, std::vector<std::filesystem::path>& out) {
  if (into_ != nullptr) return put(key, list_node(out, path_node));
  const YamlNode* list = find_scalars(key, "paths");
  if (list == nullptr) return;
  out.clear();
  for (std::size_t i = 0; i < list->items.size(); ++i) {
    std::filesystem::path value;
    if (read_path(list->items[i], fmt::format("{}[{}]", path_of(key), i), value)) out.push_back(std::move(value));
  }
}

void MapReader::port_list(std::string_view key, std::vector<std::uint16_t>& out) {
  if (into_ != nullptr) return put(key, list_node(ranges_of(out), plain_node));
  const YamlNode* list = find_scalars(key, "ports from 1 to 65535");
  if (list == nullptr) return;
  out.clear();
  for (std::size_t i = 0; i < list->items.size(); ++i) {
    const YamlNode& item = list->items[i];
    const bool is_plain = item.kind == YamlNode::Kind::scalar && !item.quoted;
    if (!is_plain || !add_ports(item.text, out)) {
      expected(item, fmt::format("{}[{}]", path_of(key), i), "a port from 1 to 65535");
    }
  }
}

void MapReader::text_map(std::string_view key, std::map<std::string, std::string>& out, const Form& key_form,
                         const Form& form) {
  if (into_ != nullptr) {
    YamlNode written = node_of(YamlNode::Kind::map);
    for (const auto& [from, to] : out) written.entries.push_back({from, {}, text_node(to)});
    return put(key, std::move(written));
  }
  const std::string range = fmt::format("{}: {}", key_form.expected, form.expected);
  const YamlNode* map = find(key, range);
  if (map == nullptr) return;
  if (map->kind != YamlNode::Kind::map)
    return expected(*map, path_of(key), fmt::format("a map ({{}} for none) of {}", range));
  out.clear();
  for (const YamlEntry& entry : map->entries) {
    const std::string entry_path = fmt::format("{}.{}", path_of(key), entry.key);
    YamlNode name;
    name.kind = YamlNode::Kind::scalar;
    name.place = entry.place;
    name.text = entry.key;
    std::string from, to;
    if (!read_text(name, entry_path, from, key_form) || !read_text(entry.value, entry_path, to, form)) continue;
    if (!out.emplace(std::move(from), std::move(to)).second) fail_at(entry.place, entry_path, "given twice");
  }
}

}  // namespace bloomwall::conf
