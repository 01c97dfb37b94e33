// The readers of lists and of maps of texts. A list that is given replaces the default as a whole.
// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <utility>

#include "conf/yaml_reader.h"

namespace bloomwall::conf {
namespace {

template <typename Values, typename Make>
YamlNode list_node(const Values& values, Make make) {
  YamlNode list = node_of(YamlNode::Kind::sequence);
  for (const auto& value : values) list.items.push_back(make(value));
  return list;
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
  if (into_ != nullptr) return put(key, list_node(out, [](auto port) { return plain_node(std::to_string(port)); }));
  const YamlNode* list = find_scalars(key, "ports from 1 to 65535");
  if (list == nullptr) return;
  out.clear();
  for (std::size_t i = 0; i < list->items.size(); ++i) {
    const YamlNode& item = list->items[i];
    const auto value = item.kind == YamlNode::Kind::scalar && !item.quoted ? parse_integer(item.text) : std::nullopt;
    if (!value || *value < 1 || *value > 65535) {
      expected(item, fmt::format("{}[{}]", path_of(key), i), "a port from 1 to 65535");
    } else {
      out.push_back(static_cast<std::uint16_t>(*value));
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
