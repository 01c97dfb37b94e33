// Typed reads from a YAML map into the fields of a struct. A read leaves the field at its default where the key is
// absent, and notes an error (place, key, allowed range) where the value is wrong; it never stops, so that all errors
// of a file come at once. A parse function is a list of such reads:
//     void read(MapReader& map, Timeouts& timeouts) { map.duration("connect", timeouts.connect, 1ms, 10min); }
// Afterwards every key that no function has read is an error. Without a file the same functions list every key with its
// range (known_keys() of config.h), or write what the fields hold (values_of()).
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

// What other sections of the file may be named by.
struct Names {
  std::vector<std::string> filters, listeners, schedules, calendars, groups;
  std::vector<std::string> groups_of_clients;  // groups that ask for clients
};

struct SourceFile {
  std::string name;              // as it stands in errors
  std::filesystem::path folder;  // of relative paths; empty: they stay as they are
};

// What all readers of one tree share.
struct Reading {
  std::vector<SourceFile> files;  // Place::file is the place of one in it
  std::vector<ConfigError> errors = {};
  std::vector<KeyInfo>* keys = nullptr;  // where known_keys() collects
  Names names = {};                      // of the sections that were read already
};

// In a value that depends on schedules: what counts while none of them is active.
inline constexpr std::string_view kOtherwise = "otherwise";

// What a choice may be written as.
template <typename T>
using Words = std::initializer_list<std::pair<std::string_view, T>>;

class MapReader {
 public:
  // `map` is null where the section is absent.
  MapReader(Reading& reading, const YamlNode* map, std::string path);
  // Writes each field into this map, which has none of the keys yet, instead of reading it.
  MapReader(Reading& reading, YamlNode& into);

  template <std::unsigned_integral T>
  void integer(std::string_view key, T& out, T smallest, T largest) {
    if (into_ != nullptr) return put(key, plain_node(std::to_string(out)));
    std::uint64_t value = out;
    read_integer(key, value, smallest, largest);
    out = static_cast<T>(value);
  }
  // "auto" is 0.
  void integer_or_auto(std::string_view key, std::uint32_t& out, std::uint32_t largest);
  void duration(std::string_view key, Milliseconds& out, Milliseconds smallest, Milliseconds largest);
  void size(std::string_view key, std::uint64_t& out, std::uint64_t smallest, std::uint64_t largest);
  void percent(std::string_view key, std::uint32_t& out, std::uint32_t smallest, std::uint32_t largest);
  void ratio(std::string_view key, double& out, double smallest, double largest);  // "1e-6"
  void flag(std::string_view key, bool& out);
  void text(std::string_view key, std::string& out, const Form& form);
  void path(std::string_view key, std::filesystem::path& out);
  // A path, or one of the words, quoted or not: `off` is often quoted because YAML 1.1 reads it as false. A file of
  // that name is written "./off".
  void path_or(std::string_view key, std::string& out, std::initializer_list<std::string_view> words);
  void url_or_path(std::string_view key, std::string& out);  // of a list: kListUrl
  // null leaves `out` empty.
  void optional_text(std::string_view key, std::optional<std::string>& out, const Form& form);
  void optional_path(std::string_view key, std::filesystem::path& out);
  template <typename T>
  void choice(std::string_view key, T& out, std::initializer_list<std::pair<std::string_view, T>> words) {
    if (into_ != nullptr) return put(key, text_node(word_of(out, words)));
    if (const auto index = read_choice(key, names_of<T>(words))) out = (words.begin() + *index)->second;
  }

  void text_list(std::string_view key, std::vector<std::string>& out, const Form& form);
  // The word instead of a list; `is_word` says which.
  void word_or_text_list(std::string_view key, std::string_view word, bool& is_word, std::vector<std::string>& out,
                         const Form& form);
  void path_list(std::string_view key, std::vector<std::filesystem::path>& out);
  void port_list(std::string_view key, std::vector<std::uint16_t>& out);
  // Each one of `known`, which `what` says in an error: "calendar".
  using KnownNames = const std::vector<std::string> Names::*;
  void name_list(std::string_view key, std::vector<std::string>& out, KnownNames known, std::string_view what);
  // One of the words, or a map of schedules to them, in which `otherwise` may stand.
  template <typename Timed>
  void timed(std::string_view key, Timed& out, const Words<typename Timed::Value>& words) {
    if (into_ != nullptr) return put(key, timed_node(out, words));
    if (const YamlNode* const node = find(key, timed_range(words))) read_timed(*node, path_of(key), out, words);
  }
  // Such values by the names of filters.
  template <typename Timed>
  void timed_by_filter(std::string_view key, std::map<std::string, Timed>& out,
                       const Words<typename Timed::Value>& words) {
    if (into_ != nullptr) {
      YamlNode map = node_of(YamlNode::Kind::map);
      for (const auto& [name, value] : out) map.entries.push_back({name, {}, timed_node(value, words)});
      return put(key, std::move(map));
    }
    for (const YamlEntry* const entry : entries_by_name(key, timed_range(words), &Names::filters, "filter")) {
      read_timed(entry->value, path_of(key) + "." + entry->key, out[entry->key], words);
    }
  }

  void text_map(std::string_view key, std::map<std::string, std::string>& out, const Form& key_form, const Form& form);

  // A section of its own: calls read(MapReader&, T&), found beside T.
  template <typename T>
  void section(std::string_view key, T& out) {
    if (into_ != nullptr) return put(key, section_node(out));
    MapReader child(reading_, find_map(key), path_of(key));
    read(child, out);
    child.finish();
  }
  // The word instead of a section; `is_word` says which.
  template <typename T>
  void word_or_section(std::string_view key, std::string_view word, bool& is_word, T& out) {
    if (into_ != nullptr && is_word) return put(key, text_node(word));
    if (into_ == nullptr && read_word(key, word)) {
      is_word = true;
      return;
    }
    section(key, out);
  }
  // A list of such sections. No two may have the same value under `unique`.
  template <typename T>
  void sections(std::string_view key, std::vector<T>& out, std::string_view unique, std::size_t fewest) {
    if (into_ != nullptr) {
      YamlNode items = node_of(YamlNode::Kind::sequence);
      for (T& each : out) items.items.push_back(section_node(each));
      return put(key, std::move(items));
    }
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

  Names& names() { return reading_.names; }
  Reading& reading() { return reading_; }
  void require(std::string_view key);  // an error where the key is absent
  // An error where the key is there without a value, which could be read in two ways.
  void refuse_null(std::string_view key, std::string what);
  // For checks over several keys: an error placed at the value of `key`, or at the map where that is absent.
  void fail(std::string_view key, std::string what);
  void finish();  // unknown keys become errors

 private:
  // Of what is written.
  static YamlNode plain_node(std::string text);  // a number, a duration or the like
  static YamlNode text_node(std::string_view text);
  static YamlNode path_node(const std::filesystem::path& path);  // null for an empty one
  void put(std::string_view key, YamlNode value) { into_->entries.push_back({std::string(key), {}, std::move(value)}); }
  template <typename T>
  static std::string_view word_of(const T& value, const Words<T>& words) {
    for (const auto& [word, meant] : words) {
      if (meant == value) return word;
    }
    return {};
  }
  template <typename Timed>
  static YamlNode timed_node(const Timed& timed, const Words<typename Timed::Value>& words) {
    YamlNode map = node_of(YamlNode::Kind::map);
    for (const auto& [schedule, value] : timed.by_schedule) {
      map.entries.push_back({schedule, {}, text_node(word_of(value, words))});
    }
    if (timed.otherwise) {
      map.entries.push_back({std::string(kOtherwise), {}, text_node(word_of(*timed.otherwise, words))});
    }
    return map;
  }
  template <typename T>
  YamlNode section_node(T& section) {
    YamlNode map = node_of(YamlNode::Kind::map);
    MapReader child(reading_, map);
    read(child, section);
    return map;
  }

  template <typename Timed>
  void read_timed(const YamlNode& node, const std::string& key_path, Timed& out,
                  const Words<typename Timed::Value>& words) {
    out = {};
    for (const auto& [schedule, word] : timed_words(node, key_path, names_of(words))) {
      const auto value = (words.begin() + word)->second;
      if (schedule == kOtherwise) {
        out.otherwise = value;
      } else {
        out.by_schedule.emplace_back(schedule, value);
      }
    }
  }
  template <typename T>
  static std::vector<std::string_view> names_of(const Words<T>& words) {
    std::vector<std::string_view> names;
    for (const auto& [name, value] : words) names.push_back(name);
    return names;
  }
  template <typename T>
  static std::string timed_range(const Words<T>& words) {
    return one_of(names_of(words)) + "; or by schedule";
  }
  static std::string one_of(const std::vector<std::string_view>& names);  // "a, b or c"
  // Schedules, and places in `names`. A single word stands under `otherwise`.
  std::vector<std::pair<std::string, std::size_t>> timed_words(const YamlNode& node, const std::string& key_path,
                                                               const std::vector<std::string_view>& names);
  std::vector<const YamlEntry*> entries_by_name(std::string_view key, std::string range, KnownNames known,
                                                std::string_view what);
  bool is_known(const std::string& name, Place place, std::string key_path, KnownNames known, std::string_view what);
  const YamlNode* find(std::string_view key, std::string range);  // nullptr where absent
  const YamlNode* find_map(std::string_view key);
  const YamlNode* find_list(std::string_view key, std::size_t fewest, std::string_view unique);
  const YamlNode* find_scalars(std::string_view key, std::string range);
  bool read_word(std::string_view key, std::string_view word);
  MapReader item(std::string_view key, const YamlNode* list, std::size_t index);
  void read_integer(std::string_view key, std::uint64_t& out, std::uint64_t smallest, std::uint64_t largest);
  std::optional<std::size_t> read_choice(std::string_view key, const std::vector<std::string_view>& names);
  bool read_text(const YamlNode& node, const std::string& key_path, std::string& out, const Form& form);
  bool read_path(const YamlNode& node, const std::string& key_path, std::filesystem::path& out);
  std::string path_of(std::string_view key) const;
  void fail_at(Place place, std::string key_path, std::string what);
  std::string given_twice(Place first, Place here) const;  // the words of that error
  void expected(const YamlNode& node, const std::string& key_path, std::string_view what);

  Reading& reading_;
  const YamlNode* map_;
  YamlNode* into_ = nullptr;  // it writes
  std::string path_;
  std::vector<std::string> asked_;
};

// The word of `known` that `wrong` was probably meant to be; empty where none is near.
std::string_view nearest_word(std::string_view wrong, const std::vector<std::string>& known);

}  // namespace bloomwall::conf
