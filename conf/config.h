// The whole configuration as load() returns it, and how a change of it takes effect. Its sections: sections.h.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "base/units.h"
#include "conf/authentication.h"
#include "conf/groups.h"
#include "conf/sections.h"
#include "conf/update.h"
#include "conf/yaml_tree.h"

namespace bloomwall::conf {

struct KeyInfo;

inline constexpr const char* kDefaultStateDir = "/var/lib/bloomwall";

struct Config {
  std::vector<Listener> listeners{Listener{}};
  std::uint32_t workers = 0;    // threads, 1 .. 1024; 0 = auto: one a processor
  std::vector<Filter> filters;  // also those of the files in filters_folder, which come last
  // Files NAME.yaml with the key `filters` alone, in the order of their names. Relative: beside the configuration, and
  // not read by load_text() without a folder.
  std::filesystem::path filters_folder = "filters.d";
  std::vector<std::filesystem::path> allow_lists;
  Otherwise otherwise = Otherwise::allow;
  std::string time_zone = "system";  // of schedules: "system", or a zone such as "Europe/Berlin"
  std::vector<Schedule> schedules;
  std::vector<Calendar> calendars;
  std::filesystem::path safe_search_map;  // empty: the one that is built in
  std::vector<Group> groups;              // asked in this order
  // Where what must outlive the process is kept: the highest sequence accepted of each filter. Empty: nothing is kept.
  std::filesystem::path state_dir = kDefaultStateDir;
  BlockPage block_page;
  Reports reports;
  SelfPage self_page;
  Access access;
  Dns dns;
  Upstream upstream;
  Timeouts timeouts;
  Limits limits;
  Log log;
  Headers headers;
  Admin admin;
  TlsInspection tls_inspection;
  Authentication authentication;
  Update update;
  friend bool operator==(const Config&, const Config&) = default;
};

using ConfigErrors = std::vector<ConfigError>;
inline constexpr std::size_t kMostFilterFiles = 256;  // in filters_folder
inline constexpr const char* kDefaultConfigFile = "/etc/bloomwall/bloomwall.yaml";

// Every error of the file, in order of lines; relative paths in it are resolved against the file's folder. A file that
// cannot be read, or is larger than kMaxYamlBytes, is an error too.
tl::expected<Config, ConfigErrors> load_file(const std::filesystem::path& path);
// An empty folder leaves relative paths as they are.
tl::expected<Config, ConfigErrors> load_text(std::string_view yaml, const std::string& name,
                                             const std::filesystem::path& folder = {});
// What a command does with its --config: the file named, else kDefaultConfigFile where there is one, else the defaults.
tl::expected<Config, ConfigErrors> load(const std::filesystem::path& named,
                                        const std::filesystem::path& fallback = kDefaultConfigFile);

// Keys of which a change takes effect only after a restart ("listeners", "workers", ...), compared between two loads.
std::vector<std::string> needs_restart(const Config& running, const Config& loaded);

// The configuration as a file would say it that leaves nothing out. Texts are quoted; numbers, durations, sizes and the
// like are not. Read again it gives the same Config.
YamlNode values_of(Config config);

// Every key there is, with its allowed range, in the order the parse functions ask for them.
std::vector<KeyInfo> known_keys();

}  // namespace bloomwall::conf
