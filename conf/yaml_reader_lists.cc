// The readers of lists and maps. A list that is given replaces the default as a whole.
// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <map>

#include "conf/yaml_reader.h"

namespace bloomwall::conf {

const YamlNode* MapReader::find_map(std::string_view key) { return find(key, ""); }

// The list under `key`, or nullptr where it is absent or wrong.
const YamlNode* MapReader::find_list(std::string_view key, std::size_t fewest, std::string_view unique) {
  const YamlNode* list = find(key, "");
  if (list == nullptr) return nullptr;
  if (list->kind != YamlNode::Kind::sequence) {
    expected(*list, path_of(key), "a list (- ..., or [] for none)");
    return nullptr;
  }
  if (list->items.size() < fewest) fail_at(list->place, path_of(key), fmt::format("at least {} wanted", fewest));
  std::map<std::string_view, int> lines;
  for (std::size_t i = 0; i < list->items.size(); ++i) {
    const YamlEntry* entry = list->items[i].find(unique);
    if (entry == nullptr || entry->value.kind != YamlNode::Kind::scalar) continue;
    const auto [first, fresh] = lines.try_emplace(entry->value.text, entry->value.place.line);
    if (fresh) continue;
    fail_at(entry->value.place, fmt::format("{}[{}].{}", path_of(key), i, unique),
            fmt::format("given twice; first on line {}", first->second));
  }
  return list;
}

MapReader MapReader::item(std::string_view key, const YamlNode* list, std::size_t index) {
  if (list == nullptr) return {reading_, nullptr, path_of(key) + "[]"};
  const YamlNode& node = list->items[index];
  std::string path = fmt::format("{}[{}]", path_of(key), index);
  if (node.kind == YamlNode::Kind::null) expected(node, path, "a map (key: value)");
  return {reading_, &node, std::move(path)};
}

const YamlNode* MapReader::find_scalars(std::string_view key, std::string range) {
  const YamlNode* list = find(key, range);
  if (list == nullptr || list->kind == YamlNode::Kind::sequence) return list;
  expected(*list, path_of(key), fmt::format("a list ([] for none) of: {}", range));
  return nullptr;
}

void MapReader::text_list(std::string_view key, std::vector<std::string>& out, const Form& form) {
  const YamlNode* list = find_scalars(key, std::string(form.expected));
  if (list == nullptr) return;
  out.clear();
  for (std::size_t i = 0; i < list->items.size(); ++i) {
    std::string value;
    if (read_text(list->items[i], fmt::format("{}[{}]", path_of(key), i), value, form)) out.push_back(std::move(value));
  }
}

void MapReader::path_list(std::string_view key, std::vector<std::filesystem::path>& out) {
  const YamlNode* list = find_scalars(key, "paths");
  if (list == nullptr) return;
  out.clear();
  for (std::size_t i = 0; i < list->items.size(); ++i) {
    std::filesystem::path value;
    if (read_path(list->items[i], fmt::format("{}[{}]", path_of(key), i), value)) out.push_back(std::move(value));
  }
}

void MapReader::port_list(std::string_view key, std::vector<std::uint16_t>& out) {
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
