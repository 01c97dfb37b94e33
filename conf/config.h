// The whole configuration as load() returns it, and how a change of it takes effect. Its sections: sections.h.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <utility>
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

struct Config : Doors {
  std::vector<std::filesystem::path> included;  // the files that `include` of the first one named and that were read
  std::vector<std::filesystem::path> left_out;  // files beside those that no pattern takes (config_files.h)
  std::filesystem::path drop_in_folder;         // any file NAME.yaml in it is included; empty: there is no such folder
  std::uint32_t workers = 0;                    // threads, 1 .. 1024; 0 = auto: one a processor
  std::vector<Filter> filters;
  std::vector<std::filesystem::path> allow_lists;
  Otherwise otherwise = Otherwise::allow;
  std::string time_zone = "system";  // of schedules: "system", or a zone such as "Europe/Berlin"
  std::vector<Schedule> schedules;
  std::vector<Calendar> calendars;
  std::filesystem::path safe_search_map;  // empty: the one that is built in
  std::vector<Group> groups;              // asked in this order; their clients are with those of devices
  std::vector<Device> devices;
  // Where what must outlive the process is kept: the highest sequence accepted of each filter. Empty: nothing is kept.
  std::filesystem::path state_dir = kDefaultStateDir;
  BlockPage block_page;
  Reports reports;
  SelfPage self_page;
  Pac pac;
  Access access;
  Dns dns;
  Upstream upstream;
  Timeouts timeouts;
  Limits limits;
  Log log;
  QueryLog query_log;
  Headers headers;
  Admin admin;
  TlsInspection tls_inspection;
  Authentication authentication;
  Update update;
  friend bool operator==(const Config&, const Config&) = default;
};

// What a group decrypts, and the most that anybody's TLS is decrypted; off: nobody's.
TlsInspection::Mode inspection_mode(const TlsInspection& common, const GroupTls& group);
TlsInspection::Mode greatest_inspection_mode(const Config& config);
// What `bloomwall update` makes of tls_inspection.verify.intermediates: PEM. Empty: none are named.
std::filesystem::path kept_intermediates(const Config& config);
void switch_inspection_off(Config& config);  // for everybody

using ConfigErrors = std::vector<ConfigError>;
inline constexpr const char* kDefaultConfigFile = "/etc/bloomwall/bloomwall.yaml";

// With the files that it includes (config_files.h). Every error of them, in order of lines; relative paths are resolved
// against the folder of the file that they stand in. A file that cannot be read, or is larger than kMaxYamlBytes, is an
// error too.
tl::expected<Config, ConfigErrors> load_file(const std::filesystem::path& path);
// What `place` belongs to (main_file_of() in config_files.h), if `file` stood there; or `main`, unless that is empty.
tl::expected<Config, ConfigErrors> load_in_place(const std::filesystem::path& file, const std::filesystem::path& place,
                                                 const std::filesystem::path& main = {});
// One file by itself: `include` is read, and not followed. An empty folder leaves relative paths as they are.
tl::expected<Config, ConfigErrors> load_text(std::string_view yaml, const std::string& name,
                                             const std::filesystem::path& folder = {});
// What a command does with its --config: the file named, else kDefaultConfigFile where there is one, else the defaults.
tl::expected<Config, ConfigErrors> load(const std::filesystem::path& named,
                                        const std::filesystem::path& fallback = kDefaultConfigFile);

// What takes effect only at a start, by key ("listeners", "workers", ...): where it is the same, so is the text.
using RestartValues = std::vector<std::pair<std::string, std::string>>;
RestartValues restart_values(const Config& config);
// The keys of which a reload does not put the change in force. Of `running` what is missing counts as unchanged.
std::vector<std::string> needs_restart(const RestartValues& running, const Config& loaded);
std::vector<std::string> needs_restart(const Config& running, const Config& loaded);

// The configuration as a file would say it that leaves nothing out. Texts are quoted; numbers, durations, sizes and the
// like are not. Read again it gives the same Config.
YamlNode values_of(Config config);

// Every key there is, with its allowed range, in the order the parse functions ask for them.
std::vector<KeyInfo> known_keys();

}  // namespace bloomwall::conf
