// The readers of names that other sections define, and of values that depend on schedules.
// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>

#include "conf/yaml_reader.h"

namespace bloomwall::conf {

bool MapReader::is_known(const std::string& name, Place place, std::string key_path, KnownNames known,
                         std::string_view what) {
  const std::vector<std::string>& names = reading_.names.*known;
  if (std::ranges::find(names, name) != names.end()) return true;
  const std::string shown = name.size() <= 64 ? name : name.substr(0, 61) + "...";
  const auto near = nearest_word(name, names);
  const std::string hint = !near.empty()   ? fmt::format("did you mean {}?", near)
                           : names.empty() ? fmt::format("none is configured")
                                           : fmt::format("such as {}", names.front());
  fail_at(place, std::move(key_path), fmt::format("there is no {} \"{}\"; {}", what, shown, hint));
  return false;
}

void MapReader::name_list(std::string_view key, std::vector<std::string>& out, KnownNames known,
                          std::string_view what) {
  if (into_ != nullptr) {
    YamlNode names = node_of(YamlNode::Kind::sequence);
    for (const std::string& name : out) names.items.push_back(text_node(name));
    return put(key, std::move(names));
  }
  const YamlNode* const list = find_scalars(key, fmt::format("names of {}s", what));
  if (list == nullptr) return;
  out.clear();
  for (std::size_t i = 0; i < list->items.size(); ++i) {
    const YamlNode& item = list->items[i];
    std::string key_path = fmt::format("{}[{}]", path_of(key), i);
    if (item.kind != YamlNode::Kind::scalar) {
      expected(item, key_path, fmt::format("the name of a {}", what));
    } else if (is_known(item.text, item.place, std::move(key_path), known, what)) {
      out.push_back(item.text);
    }
  }
}

std::vector<const YamlEntry*> MapReader::entries_by_name(std::string_view key, std::string range, KnownNames known,
                                                         std::string_view what) {
  std::vector<const YamlEntry*> entries;
  const std::string wanted = fmt::format("a map ({{}} for none) of {}s: {}", what, range);
  const YamlNode* const map = find(key, std::move(range));
  if (map == nullptr) return entries;
  if (map->kind != YamlNode::Kind::map) {
    expected(*map, path_of(key), wanted);
    return entries;
  }
  for (const YamlEntry& entry : map->entries) {
    if (is_known(entry.key, entry.place, fmt::format("{}.{}", path_of(key), entry.key), known, what)) {
      entries.push_back(&entry);
    }
  }
  return entries;
}

std::vector<std::pair<std::string, std::size_t>> MapReader::timed_words(const YamlNode& node,
                                                                        const std::string& key_path,
                                                                        const std::vector<std::string_view>& names) {
  std::vector<std::pair<std::string, std::size_t>> words;
  const auto add = [&](const std::string& schedule, const YamlNode& value, const std::string& path) {
    const auto at = std::ranges::find(names, value.text);
    if (value.kind == YamlNode::Kind::scalar && at != names.end()) {
      words.emplace_back(schedule, static_cast<std::size_t>(at - names.begin()));
    } else {
      expected(value, path, one_of(names));
    }
  };
  if (node.kind != YamlNode::Kind::map) {
    add(std::string(kOtherwise), node, key_path);
    return words;
  }
  for (const YamlEntry& entry : node.entries) {
    const std::string path = fmt::format("{}.{}", key_path, entry.key);
    if (entry.key == kOtherwise || is_known(entry.key, entry.place, path, &Names::schedules, "schedule")) {
      add(entry.key, entry.value, path);
    }
  }
  return words;
}

}  // namespace bloomwall::conf
