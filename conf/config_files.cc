// SPDX-License-Identifier: Apache-2.0
#include "conf/config_files.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <fnmatch.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdint>
#include <iterator>
#include <map>
#include <set>
#include <system_error>
#include <utility>

#include "base/text.h"
#include "conf/yaml_text.h"

namespace bloomwall::conf {
namespace {

using Errors = std::vector<ConfigError>;

ConfigError cannot_read(const std::filesystem::path& path, int error) {
  return {path.string(), 0, 0, "", std::generic_category().message(error)};
}

void set_file(YamlNode& node, std::uint16_t file) {
  node.place.file = file;
  for (YamlNode& item : node.items) set_file(item, file);
  for (YamlEntry& entry : node.entries) {
    entry.place.file = file;
    set_file(entry.value, file);
  }
}

// By its name.
bool looks_like_configuration(const std::filesystem::path& path) {
  std::string end = path.extension().string();
  make_lower(end);
  return end == ".yml" || end == ".yaml" || end == ".json" || end == ".conf";
}

bool is_pattern(const std::string& name) { return name.find_first_of("*?[") != std::string::npos; }

// Joins two trees, and knows where it is in them.
class Joiner {
 public:
  Joiner(const std::vector<SourceFile>& files, Errors& errors) : files_(files), errors_(errors) {}

  // `place`: of the key in the later file.
  void join(YamlNode& into, YamlNode more, Place place, const std::string& path) {
    using Kind = YamlNode::Kind;
    const bool holds_nothing = more.kind == Kind::null && (into.kind == Kind::map || into.kind == Kind::sequence);
    if (holds_nothing) return;
    if (into.kind == Kind::null && (more.kind == Kind::map || more.kind == Kind::sequence)) {
      into = std::move(more);
    } else if (into.kind == Kind::map && more.kind == Kind::map) {
      join_maps(into, std::move(more), path);
    } else if (into.kind == Kind::sequence && more.kind == Kind::sequence) {
      std::ranges::move(more.items, std::back_inserter(into.items));
    } else {
      errors_.push_back(
          {files_.at(place.file).name, place.line, place.column, path,
           fmt::format("given twice; first in {}, line {}", files_.at(into.place.file).name, into.place.line)});
    }
  }

 private:
  void join_maps(YamlNode& into, YamlNode more, const std::string& path) {
    std::map<std::string, std::size_t, std::less<>> known;
    for (std::size_t i = 0; i < into.entries.size(); ++i) known.emplace(into.entries[i].key, i);
    for (YamlEntry& entry : more.entries) {
      const auto at = known.find(entry.key);
      if (at == known.end()) {
        into.entries.push_back(std::move(entry));
      } else {
        const std::string below = path.empty() ? entry.key : path + "." + entry.key;
        join(into.entries[at->second].value, std::move(entry.value), entry.place, below);
      }
    }
  }

  const std::vector<SourceFile>& files_;
  Errors& errors_;
};

// Reads the files one after the other. What is wrong with one of them does not keep it from the others.
class FileReader {
 public:
  explicit FileReader(StandIn stand_in) : stand_in_(std::move(stand_in)) {}

  // False: the first file cannot be read, and there is nothing to join with.
  bool read_first(const std::filesystem::path& path) {
    std::error_code failed;
    folder_ = std::filesystem::absolute(path, failed).parent_path();
    shown_folder_ = path.parent_path();
    if (failed) errors.push_back(cannot_read(path, failed.value()));
    const bool stands_in = std::filesystem::absolute(path, failed).lexically_normal() == stand_in_.place;
    return !failed && add(stands_in ? stand_in_.file.string() : path.string(), path, folder_);
  }

  void read_included() {
    const auto at = std::ranges::find(out.tree.entries, kIncludeKey, &YamlEntry::key);
    if (at == out.tree.entries.end()) return;
    const YamlNode include = std::move(at->value);
    out.tree.entries.erase(at);
    const bool is_list = include.kind == YamlNode::Kind::sequence;
    if (!is_list) read_matches(include, std::string(kIncludeKey));
    for (std::size_t i = 0; is_list && i < include.items.size(); ++i) {
      read_matches(include.items[i], fmt::format("{}[{}]", kIncludeKey, i));
    }
    for (const auto& [whole, shown] : beside_) {
      if (!read_.contains(whole)) out.left_out.push_back(shown);
    }
  }

  bool has_stood_in() const { return has_stood_in_; }

  ConfigFiles out;
  Errors errors;

 private:
  void fail(Place place, std::string key, std::string what) {
    errors.push_back({out.files.at(place.file).name, place.line, place.column, std::move(key), std::move(what)});
  }

  void read_matches(const YamlNode& pattern, const std::string& key) {
    if (pattern.kind != YamlNode::Kind::scalar || pattern.text.empty() || pattern.text.size() > 4000) {
      return fail(pattern.place, key, "expected paths, such as conf.d/*.yaml");
    }
    const std::filesystem::path path = pattern.text;
    const std::string name = path.filename().string();
    if (is_pattern(path.parent_path().string())) {
      return fail(pattern.place, key, "* ? and [ may stand in the last part of a path alone");
    }
    if (!is_pattern(name)) return read_one(path, pattern, key);
    if (name == "*.yaml" && out.drop_in_folder.empty()) out.drop_in_folder = folder_ / path.parent_path();
    std::error_code failed;
    std::set<std::string> names;
    std::filesystem::directory_iterator each(folder_ / path.parent_path(), failed), end;
    if (failed == std::errc::no_such_file_or_directory) return;
    for (; !failed && each != end; each.increment(failed)) {
      const std::string found = each->path().filename().string();
      if (::fnmatch(name.c_str(), found.c_str(), FNM_PERIOD) == 0) {
        names.insert(found);
      } else if (found.front() != '.' && looks_like_configuration(found)) {
        beside_.emplace((folder_ / path.parent_path() / found).lexically_normal(),
                        shown_folder_ / path.parent_path() / found);
      }
    }
    if (is_here(path.parent_path(), name)) names.insert(stand_in_.place.filename().string());
    if (failed) return fail(pattern.place, key, fmt::format("{}: {}", path.parent_path().string(), failed.message()));
    for (const std::string& found : names) read_one(path.parent_path() / found, pattern, key);
  }

  // Whether what a file stands in for would be found by a pattern.
  bool is_here(const std::filesystem::path& folder, const std::string& pattern) const {
    return !stand_in_.file.empty() &&
           (folder_ / folder / "").lexically_normal() == stand_in_.place.parent_path() / "" &&
           ::fnmatch(pattern.c_str(), stand_in_.place.filename().c_str(), FNM_PERIOD) == 0;
  }

  void read_one(const std::filesystem::path& path, const YamlNode& pattern, const std::string& key) {
    const std::filesystem::path whole = folder_ / path;
    if (!stand_in_.file.empty() && whole.lexically_normal() == stand_in_.place) {
      add(stand_in_.file.string(), whole, whole.parent_path());
      return;
    }
    std::error_code failed;
    const auto status = std::filesystem::status(whole, failed);
    if (failed) return fail(pattern.place, key, fmt::format("{}: {}", path.string(), failed.message()));
    if (!std::filesystem::is_regular_file(status)) {
      return fail(pattern.place, key, fmt::format("{}: is not a file", path.string()));
    }
    if (is_full_) return;
    is_full_ = seen_.size() > kMaxIncluded;
    if (is_full_) return fail(pattern.place, key, fmt::format("at most {} files may be included", kMaxIncluded));
    add((shown_folder_ / path).string(), whole, whole.parent_path());
  }

  // False: it cannot be read.
  bool add(const std::string& name, const std::filesystem::path& place, const std::filesystem::path& folder) {
    const bool stands_in =
        !stand_in_.file.empty() && std::filesystem::absolute(place).lexically_normal() == stand_in_.place;
    const std::filesystem::path& path = stands_in ? stand_in_.file : place;
    has_stood_in_ |= stands_in;
    read_.insert(place.lexically_normal());
    struct stat status{};
    if (::stat(path.c_str(), &status) == 0 && !seen_.emplace(status.st_dev, status.st_ino).second) return true;
    const auto text = read_yaml_file(path);
    if (!text) {
      errors.push_back({name, 0, 0, "", text.error().front().what});
      return false;
    }
    auto tree = parse_yaml(*text, name);
    if (!tree) {
      errors.insert(errors.end(), tree.error().begin(), tree.error().end());
      return false;
    }
    bytes_ += text->size();
    is_full_ = bytes_ > kMaxYamlBytes;
    if (is_full_) {
      errors.push_back(
          {name, 0, 0, "", fmt::format("all files together are larger than {} KiB", kMaxYamlBytes / 1024)});
      return false;
    }
    out.files.push_back({name, folder});
    if (out.files.size() == 1) {
      out.tree = *std::move(tree);
    } else {
      join(*std::move(tree));
    }
    return true;
  }

  void join(YamlNode tree) {
    set_file(tree, static_cast<std::uint16_t>(out.files.size() - 1));
    if (tree.kind != YamlNode::Kind::map && tree.kind != YamlNode::Kind::null) {
      return fail(tree.place, "", "expected a map (key: value)");
    }
    if (const YamlEntry* const nested = tree.find(kIncludeKey); nested != nullptr) {
      fail(nested->place, std::string(kIncludeKey), "a file that is included cannot include others");
    }
    join_trees(out.tree, std::move(tree), out.files, errors);
  }

  const StandIn stand_in_;
  bool has_stood_in_ = false;
  std::filesystem::path folder_, shown_folder_;  // of the first file: whole, and as it stands in errors
  std::map<std::filesystem::path, std::filesystem::path> beside_;  // what a pattern has left out: whole, and as shown
  std::set<std::filesystem::path> read_;
  std::set<std::pair<dev_t, ino_t>> seen_;
  std::uint64_t bytes_ = 0;
  bool is_full_ = false;  // a limit was reached, and that was said
};

}  // namespace

void join_trees(YamlNode& into, YamlNode more, const std::vector<SourceFile>& files, Errors& errors) {
  if (into.kind != YamlNode::Kind::map && into.kind != YamlNode::Kind::null) return;  // an error of its own
  const Place place = more.place;
  Joiner(files, errors).join(into, std::move(more), place, "");
}

std::filesystem::path main_file_of(const StandIn& stand_in) {
  const std::filesystem::path above = stand_in.place.parent_path().parent_path() / "bloomwall.yaml";
  std::error_code failed;
  if (above == stand_in.place || !std::filesystem::is_regular_file(above, failed)) return stand_in.place;
  FileReader reader({.file = stand_in.file.empty() ? stand_in.place : stand_in.file, .place = stand_in.place});
  if (reader.read_first(above)) reader.read_included();
  return reader.has_stood_in() ? above : stand_in.place;
}

tl::expected<ConfigFiles, Errors> read_config_files(const std::filesystem::path& path, const StandIn& stand_in) {
  FileReader reader(stand_in);
  if (reader.read_first(path)) reader.read_included();
  if (reader.errors.empty()) return std::move(reader.out);
  return tl::unexpected(std::move(reader.errors));
}

}  // namespace bloomwall::conf
