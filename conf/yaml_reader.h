// Typed reads from a YAML map into the fields of a struct. A read leaves the field at its default where the key is
// absent, and notes an error (place, key, allowed range) where the value is wrong; it never stops, so that all errors
// of a file come at once. A parse function is a list of such reads:
//     void read(MapReader& map, Timeouts& timeouts) { map.duration("connect", timeouts.connect, 1ms, 10min); }
// Afterwards every key that no function has read is an error. Without a file the same functions list every key with its
// range: that is known_keys() of config.h.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <concepts>
#include <filesystem>
#include <initializer_list>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/units.h"
#include "conf/forms.h"
#include "conf/yaml_tree.h"

namespace bloomwall::conf {

struct KeyInfo {
  std::string path;   // "filters[].action"
  std::string range;  // "block or monitor"
};

// What all readers of one file share.
struct Reading {
  std::string file;              // as it stands in errors
  std::filesystem::path folder;  // of relative paths; empty: they stay as they are
  std::vector<ConfigError> errors;
  std::vector<KeyInfo>* keys = nullptr;  // where known_keys() collects
};

class MapReader {
 public:
  // `map` is null where the section is absent.
  MapReader(Reading& reading, const YamlNode* map, std::string path);

  template <std::unsigned_integral T>
  void integer(std::string_view key, T& out, T smallest, T largest) {
    std::uint64_t value = out;
    read_integer(key, value, smallest, largest);
    out = static_cast<T>(value);
  }
  // "auto" is 0.
  void integer_or_auto(std::string_view key, std::uint32_t& out, std::uint32_t largest);
  void duration(std::string_view key, Milliseconds& out, Milliseconds smallest, Milliseconds largest);
  void size(std::string_view key, std::uint64_t& out, std::uint64_t smallest, std::uint64_t largest);
  void percent(std::string_view key, std::uint32_t& out, std::uint32_t smallest, std::uint32_t largest);
  void flag(std::string_view key, bool& out);
  void text(std::string_view key, std::string& out, const Form& form);
  void path(std::string_view key, std::filesystem::path& out);
  // A path, or one of the words, quoted or not: `off` is often quoted because YAML 1.1 reads it as false. A file of
  // that name is written "./off".
  void path_or(std::string_view key, std::string& out, std::initializer_list<std::string_view> words);
  // null leaves `out` empty.
  void optional_text(std::string_view key, std::optional<std::string>& out, const Form& form);
  void optional_path(std::string_view key, std::filesystem::path& out);
  template <typename T>
  void choice(std::string_view key, T& out, std::initializer_list<std::pair<std::string_view, T>> words) {
    std::vector<std::string_view> names;
    for (const auto& [name, value] : words) names.push_back(name);
    if (const auto index = read_choice(key, names)) out = (words.begin() + *index)->second;
  }

  void text_list(std::string_view key, std::vector<std::string>& out, const Form& form);
  void path_list(std::string_view key, std::vector<std::filesystem::path>& out);
  void port_list(std::string_view key, std::vector<std::uint16_t>& out);
  void text_map(std::string_view key, std::map<std::string, std::string>& out, const Form& key_form, const Form& form);

  // A section of its own: calls read(MapReader&, T&), found beside T.
  template <typename T>
  void section(std::string_view key, T& out) {
    MapReader child(reading_, find_map(key), path_of(key));
    read(child, out);
    child.finish();
  }
  // A list of such sections. No two may have the same value under `unique`.
  template <typename T>
  void sections(std::string_view key, std::vector<T>& out, std::string_view unique, std::size_t fewest) {
    const YamlNode* list = find_list(key, fewest, unique);
    if (list == nullptr && reading_.keys == nullptr) return;
    std::vector<T> made;
    const std::size_t count = list == nullptr ? 1 : list->items.size();
    for (std::size_t i = 0; i < count; ++i) {
      MapReader child = item(key, list, i);
      read(child, made.emplace_back());
      child.finish();
    }
    if (list != nullptr) out = std::move(made);
  }

  void require(std::string_view key);  // an error where the key is absent
  // For checks over several keys: an error placed at the value of `key`, or at the map where that is absent.
  void fail(std::string_view key, std::string what);
  void finish();  // unknown keys become errors

 private:
  const YamlNode* find(std::string_view key, std::string range);  // nullptr where absent
  const YamlNode* find_map(std::string_view key);
  const YamlNode* find_list(std::string_view key, std::size_t fewest, std::string_view unique);
  const YamlNode* find_scalars(std::string_view key, std::string range);
  MapReader item(std::string_view key, const YamlNode* list, std::size_t index);
  void read_integer(std::string_view key, std::uint64_t& out, std::uint64_t smallest, std::uint64_t largest);
  std::optional<std::size_t> read_choice(std::string_view key, const std::vector<std::string_view>& names);
  bool read_text(const YamlNode& node, const std::string& key_path, std::string& out, const Form& form);
  bool read_path(const YamlNode& node, const std::string& key_path, std::filesystem::path& out);
  std::string path_of(std::string_view key) const;
  void fail_at(Place place, std::string key_path, std::string what);
  void expected(const YamlNode& node, const std::string& key_path, std::string_view what);

  Reading& reading_;
  const YamlNode* map_;
  std::string path_;
  std::vector<std::string> asked_;
};

// The word of `known` that `wrong` was probably meant to be; empty where none is near.
std::string_view nearest_word(std::string_view wrong, const std::vector<std::string>& known);

}  // namespace bloomwall::conf
