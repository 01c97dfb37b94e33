// The whole configuration: one struct per YAML section (each in its own header, every default at its field), as load()
// returns it. The shipped bloomwall.yaml documents each key and equals these defaults (shipped_config_test.cc).
// Strings that name addresses, networks and ports are checked here for form only; proxy/ turns them into sockaddrs.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "base/units.h"
#include "conf/access.h"
#include "conf/admin.h"
#include "conf/block_page.h"
#include "conf/config_error.h"
#include "conf/dns.h"
#include "conf/filters.h"
#include "conf/headers.h"
#include "conf/limits.h"
#include "conf/listeners.h"
#include "conf/log.h"
#include "conf/timeouts.h"
#include "conf/tls_inspection.h"
#include "conf/upstream.h"

namespace bloomwall::conf {

struct KeyInfo;

inline constexpr const char* kDefaultStateDir = "/var/lib/bloomwall";

struct Config {
  std::vector<Listener> listeners{Listener{}};
  std::uint32_t workers = 0;  // threads, 1 .. 1024; 0 = auto: one a processor
  std::vector<Filter> filters;
  std::vector<std::filesystem::path> allow_lists;
  // Where what must outlive the process is kept: the highest sequence accepted of each filter. Empty: nothing is kept.
  std::filesystem::path state_dir = kDefaultStateDir;
  BlockPage block_page;
  Access access;
  Dns dns;
  Upstream upstream;
  Timeouts timeouts;
  Limits limits;
  Log log;
  Headers headers;
  Admin admin;
  TlsInspection tls_inspection;
  friend bool operator==(const Config&, const Config&) = default;
};

using ConfigErrors = std::vector<ConfigError>;
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

// Every key there is, with its allowed range, in the order the parse functions ask for them.
std::vector<KeyInfo> known_keys();

}  // namespace bloomwall::conf
