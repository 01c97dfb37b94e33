// Known lists, from which `bloomwall update --add NAME` makes a filter: catalogue.yaml, which is installed with the
// program. Nothing of it is used before somebody adds it.
// The file: a map with the key `lists`. Errors and limits as of the configuration; at most kMostListed lists.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <tl/expected.hpp>
#include <vector>

#include "base/units.h"
#include "conf/yaml_tree.h"

namespace bloomwall::conf {

class MapReader;

inline constexpr std::size_t kMostListed = 1000;

struct ListedSource {
  std::string name;                         // of the filter that is made of it
  std::string url;                          // https
  std::string format = "auto";              // as in filters[].sources
  std::string category = {};                // ads, malware, ...
  std::string licence = {}, homepage = {};  // of the list
  std::uint64_t entries = 0;                // usually, about
  Milliseconds every{86'400'000};
  std::uint32_t unusable = 5;  // percent of its rules that usually cannot be used, rounded up
  friend bool operator==(const ListedSource&, const ListedSource&) = default;
};

using Catalogue = std::vector<ListedSource>;

tl::expected<Catalogue, std::vector<ConfigError>> load_catalogue(const std::filesystem::path& file);
tl::expected<Catalogue, std::vector<ConfigError>> parse_catalogue(std::string_view yaml, const std::string& name);

// The text of a file in Config::drop_in_folder that makes a filter of this list. `refuses_exceptions`: nobody is to
// open what it blocks.
std::string filter_file_text(const ListedSource& list, const std::filesystem::path& filter_file,
                             bool refuses_exceptions = false);

void read(MapReader& map, ListedSource& out);

}  // namespace bloomwall::conf
