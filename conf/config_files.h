// The files of a configuration as one tree. `include` in the first file names others, which are joined with it before
// anything is read from the tree:
//   include: [conf.d/*.yaml]
// A pattern is a path from the folder of the first file, or an absolute one. Its last part may hold * ? and [..], as in
// a shell; they match no leading dot. Files come in the order of the patterns, those of one pattern by name (octets). A
// path without such characters must be there, a pattern may match nothing. A file that is named twice is read once.
// Maps are joined key by key, lists one behind the other; a single value that two files give is an error. Files that
// are included include none.
// A pattern DIR/*.yaml leaves out what is called otherwise: of these those are named that look like a configuration.
// Limits: kMaxIncluded files, and kMaxYamlBytes of text in all.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <string>
#include <tl/expected.hpp>
#include <vector>

#include "conf/yaml_reader.h"
#include "conf/yaml_tree.h"

namespace bloomwall::conf {

inline constexpr std::size_t kMaxIncluded = 256;
inline constexpr std::string_view kIncludeKey = "include";

struct ConfigFiles {
  YamlNode tree;                       // Place::file of each node says which file it is from
  std::vector<SourceFile> files = {};  // the first one, then those that were included
  // Where a program may put files that are then included: that of the first pattern DIR/*.yaml; empty: there is none.
  std::filesystem::path drop_in_folder = {};
  // In a folder of a pattern, called .yml, .yaml, .json or .conf in whatever case, and taken by no pattern: as they
  // stand in errors, in order.
  std::vector<std::filesystem::path> left_out = {};
};

// A file that is read in the place of another one, which need not be there. Relative paths in it begin where they would
// in that one.
struct StandIn {
  std::filesystem::path file = {}, place = {};  // place: absolute and normal
};

// Every error of all files that could be read. Blocks where `path` is a pipe.
tl::expected<ConfigFiles, std::vector<ConfigError>> read_config_files(const std::filesystem::path& path,
                                                                      const StandIn& stand_in = {});
// The configuration that a file would be part of if it stood at `place`: where ../bloomwall.yaml, seen from there,
// includes `place` it is that one, else `place` itself. `stand_in.file` empty: the file that is at `place`.
std::filesystem::path main_file_of(const StandIn& stand_in);

// Joins a tree with another, which was read after it. `files` are those that both are from. Log-linear in the number of
// keys.
void join_trees(YamlNode& into, YamlNode more, const std::vector<SourceFile>& files, std::vector<ConfigError>& errors);

}  // namespace bloomwall::conf
