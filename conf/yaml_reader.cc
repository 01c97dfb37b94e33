// SPDX-License-Identifier: Apache-2.0
#include "conf/yaml_reader.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <numeric>

namespace bloomwall::conf {
namespace {

// What stands there, for "expected X, found Y".
std::string describe(const YamlNode& node) {
  switch (node.kind) {
    case YamlNode::Kind::null:
      return "nothing";
    case YamlNode::Kind::sequence:
      return "a list";
    case YamlNode::Kind::map:
      return "a map";
    case YamlNode::Kind::scalar:
      break;
  }
  const std::string shown = node.text.size() <= 60 ? node.text : node.text.substr(0, 57) + "...";
  return fmt::format("{}\"{}\"", node.quoted ? "the text " : "", shown);
}

// "a", "a or b", "a, b or c".
template <typename Words>
std::string enumerate(const Words& words) {
  std::string text;
  for (std::size_t i = 0; i < words.size(); ++i) {
    if (i > 0) text += i + 1 == words.size() ? " or " : ", ";
    text += words[i];
  }
  return text;
}

bool is_plain(const YamlNode& node) { return node.kind == YamlNode::Kind::scalar && !node.quoted; }

std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 0; i < a.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = i + 1;
    for (std::size_t j = 0; j < b.size(); ++j) {
      const std::size_t changed = diagonal + (a[i] == b[j] ? 0 : 1);
      diagonal = row[j + 1];
      row[j + 1] = std::min({row[j] + 1, row[j + 1] + 1, changed});
    }
  }
  return row.back();
}

}  // namespace

std::string_view nearest_word(std::string_view wrong, const std::vector<std::string>& known) {
  if (wrong.size() > 64) return {};
  std::string_view best;
  std::size_t best_distance = std::max<std::size_t>(2, wrong.size() / 3) + 1;
  for (const std::string& word : known) {
    const std::size_t distance = edit_distance(wrong, word);
    if (distance < best_distance && distance < word.size()) {
      best = word;
      best_distance = distance;
    }
  }
  return best;
}

MapReader::MapReader(Reading& reading, const YamlNode* map, std::string path)
    : reading_(reading), map_(map), path_(std::move(path)) {
  if (map_ != nullptr && map_->kind != YamlNode::Kind::map) {
    if (map_->kind != YamlNode::Kind::null) expected(*map_, path_, "a map (key: value)");
    map_ = nullptr;
  }
}

MapReader::MapReader(Reading& reading, YamlNode& into) : reading_(reading), map_(nullptr), into_(&into) {}

YamlNode MapReader::plain_node(std::string text) {
  YamlNode node = node_of(YamlNode::Kind::scalar);
  node.text = std::move(text);
  return node;
}
YamlNode MapReader::text_node(std::string_view text) {
  YamlNode node = plain_node(std::string(text));
  node.quoted = true;
  return node;
}
YamlNode MapReader::path_node(const std::filesystem::path& path) {
  return path.empty() ? YamlNode() : text_node(path.native());
}

std::string MapReader::path_of(std::string_view key) const {
  return path_.empty() ? std::string(key) : fmt::format("{}.{}", path_, key);
}

void MapReader::fail_at(Place place, std::string key_path, std::string what) {
  reading_.errors.push_back(
      {reading_.files.at(place.file).name, place.line, place.column, std::move(key_path), std::move(what)});
}
std::string MapReader::given_twice(Place first, Place here) const {
  if (first.file == here.file) return fmt::format("given twice; first on line {}", first.line);
  return fmt::format("given twice; first in {}, line {}", reading_.files.at(first.file).name, first.line);
}
void MapReader::expected(const YamlNode& node, const std::string& key_path, std::string_view what) {
  fail_at(node.place, key_path, fmt::format("expected {}, found {}", what, describe(node)));
}
void MapReader::fail(std::string_view key, std::string what) {
  const YamlEntry* entry = map_ == nullptr ? nullptr : map_->find(key);
  const Place place = entry != nullptr ? entry->value.place : map_ != nullptr ? map_->place : Place{};
  fail_at(place, path_of(key), std::move(what));
}

void MapReader::require(std::string_view key) {
  if (map_ != nullptr && map_->find(key) == nullptr) fail(key, "missing");
}

void MapReader::refuse_null(std::string_view key, std::string what) {
  const YamlEntry* const entry = map_ == nullptr ? nullptr : map_->find(key);
  if (entry != nullptr && entry->value.kind == YamlNode::Kind::null) fail(key, std::move(what));
}

const YamlNode* MapReader::find(std::string_view key, std::string range) {
  asked_.emplace_back(key);
  if (reading_.keys != nullptr && !range.empty()) reading_.keys->push_back({path_of(key), std::move(range)});
  const YamlEntry* entry = map_ == nullptr ? nullptr : map_->find(key);
  return entry == nullptr ? nullptr : &entry->value;
}

void MapReader::finish() {
  if (map_ == nullptr) return;
  for (const YamlEntry& entry : map_->entries) {
    if (std::ranges::find(asked_, entry.key) != asked_.end()) continue;
    const auto near = nearest_word(entry.key, asked_);
    fail_at(entry.place, path_of(entry.key),
            near.empty() ? fmt::format("unknown key; known here: {}", fmt::join(asked_, ", "))
                         : fmt::format("unknown key; did you mean {}?", near));
  }
}

void MapReader::read_integer(std::string_view key, std::uint64_t& out, std::uint64_t smallest, std::uint64_t largest) {
  const std::string range = fmt::format("{} to {}", smallest, largest);
  const YamlNode* node = find(key, range);
  if (node == nullptr) return;
  const auto value = is_plain(*node) ? parse_integer(node->text) : std::nullopt;
  if (!value || *value < smallest || *value > largest) {
    return expected(*node, path_of(key), "a whole number from " + range);
  }
  out = *value;
}

void MapReader::integer_or_auto(std::string_view key, std::uint32_t& out, std::uint32_t largest) {
  if (into_ != nullptr) return put(key, plain_node(out == 0 ? "auto" : std::to_string(out)));
  const std::string range = fmt::format("auto or 1 to {}", largest);
  const YamlNode* node = find(key, range);
  if (node == nullptr) return;
  const auto value = is_plain(*node) ? parse_integer(node->text) : std::nullopt;
  if (is_plain(*node) && node->text == "auto") {
    out = 0;
  } else if (value && *value >= 1 && *value <= largest) {
    out = static_cast<std::uint32_t>(*value);
  } else {
    expected(*node, path_of(key), range);
  }
}

void MapReader::duration(std::string_view key, Milliseconds& out, Milliseconds smallest, Milliseconds largest) {
  if (into_ != nullptr) return put(key, plain_node(format_duration(out)));
  const std::string range = fmt::format("{} to {}", format_duration(smallest), format_duration(largest));
  const YamlNode* node = find(key, range);
  if (node == nullptr) return;
  const auto value = is_plain(*node) ? parse_duration(node->text) : std::nullopt;
  if (!value || *value < smallest || *value > largest) {
    return expected(*node, path_of(key), fmt::format("a duration from {}, such as {}", range, format_duration(out)));
  }
  out = *value;
}

void MapReader::size(std::string_view key, std::uint64_t& out, std::uint64_t smallest, std::uint64_t largest) {
  if (into_ != nullptr) return put(key, plain_node(format_size(out)));
  const std::string range = fmt::format("{} to {}", format_size(smallest), format_size(largest));
  const YamlNode* node = find(key, range);
  if (node == nullptr) return;
  const auto value = is_plain(*node) ? parse_size(node->text) : std::nullopt;
  if (!value || *value < smallest || *value > largest) {
    return expected(*node, path_of(key), fmt::format("a size from {}, such as {}", range, format_size(out)));
  }
  out = *value;
}

void MapReader::percent(std::string_view key, std::uint32_t& out, std::uint32_t smallest, std::uint32_t largest) {
  if (into_ != nullptr) return put(key, plain_node(fmt::format("{}%", out)));
  const std::string range = fmt::format("{}% to {}%", smallest, largest);
  const YamlNode* node = find(key, range);
  if (node == nullptr) return;
  const auto value = is_plain(*node) ? parse_percent(node->text) : std::nullopt;
  if (!value || *value < smallest || *value > largest) {
    return expected(*node, path_of(key), fmt::format("a share from {}, such as {}%", range, out));
  }
  out = static_cast<std::uint32_t>(*value);
}

namespace {

// "1e-6", not "1e-06".
std::string ratio_text(double value) {
  std::string text = fmt::format("{}", value);
  const auto at = text.find("e-0");
  return at == std::string::npos ? text : text.erase(at + 2, 1);
}

}  // namespace

void MapReader::ratio(std::string_view key, double& out, double smallest, double largest) {
  if (into_ != nullptr) return put(key, plain_node(ratio_text(out)));
  const std::string range = fmt::format("{} to {}", ratio_text(smallest), ratio_text(largest));
  const YamlNode* node = find(key, range);
  if (node == nullptr) return;
  const auto value = is_plain(*node) ? parse_weight(node->text) : std::nullopt;
  if (!value || !(*value >= smallest && *value <= largest)) {
    return expected(*node, path_of(key), fmt::format("a number from {}, such as {}", range, ratio_text(out)));
  }
  out = *value;
}

void MapReader::flag(std::string_view key, bool& out) {
  if (into_ != nullptr) return put(key, plain_node(out ? "true" : "false"));
  const YamlNode* node = find(key, "true or false");
  if (node == nullptr) return;
  if (!is_plain(*node) || (node->text != "true" && node->text != "false")) {
    return expected(*node, path_of(key), "true or false");
  }
  out = node->text == "true";
}

bool MapReader::read_text(const YamlNode& node, const std::string& key_path, std::string& out, const Form& form) {
  if (node.kind != YamlNode::Kind::scalar) {
    expected(node, key_path, form.expected);
    return false;
  }
  std::string value = node.text;
  if (const auto checked = form.check(value); !checked) {
    const std::string& why = checked.error();
    expected(node, key_path, why.empty() ? std::string(form.expected) : fmt::format("{} ({})", form.expected, why));
    return false;
  }
  out = std::move(value);
  return true;
}

void MapReader::text(std::string_view key, std::string& out, const Form& form) {
  if (into_ != nullptr) return put(key, text_node(out));
  if (const YamlNode* node = find(key, std::string(form.expected))) read_text(*node, path_of(key), out, form);
}

void MapReader::optional_text(std::string_view key, std::optional<std::string>& out, const Form& form) {
  if (into_ != nullptr) return put(key, out ? text_node(*out) : YamlNode());
  const YamlNode* node = find(key, fmt::format("{}; or null", form.expected));
  if (node == nullptr) return;
  std::string value;
  if (node->kind == YamlNode::Kind::null) {
    out.reset();
  } else if (read_text(*node, path_of(key), value, form)) {
    out = std::move(value);
  }
}

bool MapReader::read_path(const YamlNode& node, const std::string& key_path, std::filesystem::path& out) {
  const auto is_control = [](char c) { return (c >= 0 && c < 0x20) || c == 0x7f; };
  if (node.kind != YamlNode::Kind::scalar || node.text.empty() || node.text.size() > 4000 ||
      std::ranges::any_of(node.text, is_control)) {
    expected(node, key_path, "a path");
    return false;
  }
  const std::filesystem::path& folder = reading_.files.at(node.place.file).folder;
  out = folder.empty() ? std::filesystem::path(node.text) : (folder / node.text).lexically_normal();
  return true;
}

void MapReader::path(std::string_view key, std::filesystem::path& out) {
  if (into_ != nullptr) return put(key, path_node(out));
  if (const YamlNode* node = find(key, "a path")) read_path(*node, path_of(key), out);
}

void MapReader::optional_path(std::string_view key, std::filesystem::path& out) {
  if (into_ != nullptr) return put(key, path_node(out));
  const YamlNode* node = find(key, "a path; or null");
  if (node == nullptr) return;
  if (node->kind == YamlNode::Kind::null) {
    out.clear();
  } else {
    read_path(*node, path_of(key), out);
  }
}

void MapReader::path_or(std::string_view key, std::string& out, std::initializer_list<std::string_view> words) {
  if (into_ != nullptr) return put(key, text_node(out));
  std::vector<std::string_view> choices{"a path"};
  choices.insert(choices.end(), words);
  const YamlNode* node = find(key, enumerate(choices));
  if (node == nullptr) return;
  std::filesystem::path path;
  if (node->kind == YamlNode::Kind::scalar && std::ranges::find(words, node->text) != words.end()) {
    out = node->text;
  } else if (read_path(*node, path_of(key), path)) {
    out = path.string();
  }
}

void MapReader::url_or_path(std::string_view key, std::string& out) {
  if (into_ != nullptr) return put(key, text_node(out));
  const YamlNode* node = find(key, std::string(kListUrl.expected));
  if (node == nullptr) return;
  std::filesystem::path path;
  const bool is_url = node->kind == YamlNode::Kind::scalar && node->text.find("://") != std::string::npos;
  if (is_url) {
    read_text(*node, path_of(key), out, kListUrl);
  } else if (read_path(*node, path_of(key), path)) {
    out = path.string();
  }
}

std::string MapReader::one_of(const std::vector<std::string_view>& names) { return enumerate(names); }

std::optional<std::size_t> MapReader::read_choice(std::string_view key, const std::vector<std::string_view>& names) {
  const std::string range = enumerate(names);
  const YamlNode* node = find(key, range);
  if (node == nullptr) return std::nullopt;
  const auto at = std::ranges::find(names, node->text);
  if (node->kind != YamlNode::Kind::scalar || at == names.end()) {
    expected(*node, path_of(key), range);
    return std::nullopt;
  }
  return static_cast<std::size_t>(at - names.begin());
}

// The readers of lists and maps. A list that is given replaces the default as a whole.

const YamlNode* MapReader::find_map(std::string_view key) { return find(key, ""); }

// True: the key has a single word, be it the one that is wanted or, which is an error, another.
bool MapReader::read_word(std::string_view key, std::string_view word) {
  const YamlEntry* const entry = map_ == nullptr ? nullptr : map_->find(key);
  if (entry == nullptr || entry->value.kind != YamlNode::Kind::scalar) return false;
  asked_.emplace_back(key);
  if (entry->value.text != word) expected(entry->value, path_of(key), fmt::format("{}, or keys below it", word));
  return true;
}

// The list under `key`, or nullptr where it is absent or wrong.
const YamlNode* MapReader::find_list(std::string_view key, std::size_t fewest, std::string_view unique) {
  const YamlNode* list = find(key, "");
  if (list == nullptr) return nullptr;
  if (list->kind != YamlNode::Kind::sequence) {
    expected(*list, path_of(key), "a list (- ..., or [] for none)");
    return nullptr;
  }
  if (list->items.size() < fewest) fail_at(list->place, path_of(key), fmt::format("at least {} wanted", fewest));
  std::map<std::string_view, Place> places;
  for (std::size_t i = 0; i < list->items.size(); ++i) {
    const YamlEntry* entry = list->items[i].find(unique);
    if (entry == nullptr || entry->value.kind != YamlNode::Kind::scalar) continue;
    const auto [first, fresh] = places.try_emplace(entry->value.text, entry->value.place);
    if (fresh) continue;
    fail_at(entry->value.place, fmt::format("{}[{}].{}", path_of(key), i, unique),
            given_twice(first->second, entry->value.place));
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

}  // namespace bloomwall::conf
