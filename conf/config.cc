// SPDX-License-Identifier: Apache-2.0
#include "conf/config.h"

#include <fmt/format.h>

#include <algorithm>
#include <system_error>
#include <tuple>
#include <utility>

#include "conf/config_files.h"
#include "conf/yaml_reader.h"

namespace bloomwall::conf {
namespace {

constexpr std::uint32_t kMostWorkers = 1024;

template <typename T>
std::vector<std::string> names_of(const std::vector<T>& items) {
  std::vector<std::string> names;
  for (const T& item : items) names.push_back(item.name);
  return names;
}

// Each section names those before it.
void read_groups(MapReader& map, Config& out) {
  Names& names = map.names();
  map.text("time_zone", out.time_zone, kTimeZone);
  map.sections("calendars", out.calendars, "name", 0);
  names.calendars = names_of(out.calendars);
  map.sections("schedules", out.schedules, "name", 0);
  names.schedules = names_of(out.schedules);
  names.filters = names_of(out.filters);
  for (const Listener& listener : out.listeners) names.listeners.push_back(listener.address);
  map.optional_path("safe_search_map", out.safe_search_map);
  map.sections("groups", out.groups, "name", 0);
  check_order(map, out.groups);
  if (out.schedules.size() > kMostSchedules) map.fail("schedules", fmt::format("at most {} may be", kMostSchedules));
  if (out.calendars.size() > kMostSchedules) map.fail("calendars", fmt::format("at most {} may be", kMostSchedules));
}

void read(MapReader& map, Config& out) {
  // load_file() has joined the files, and nothing of it is left.
  std::vector<std::filesystem::path> include;
  map.path_list(kIncludeKey, include);
  map.sections("listeners", out.listeners, "address", 1);
  map.integer_or_auto("workers", out.workers, kMostWorkers);
  map.sections("filters", out.filters, "name", 0);
  map.path_list("allow_lists", out.allow_lists);
  map.choice("otherwise", out.otherwise, {{"allow", Otherwise::allow}, {"deny", Otherwise::deny}});
  read_groups(map, out);
  map.optional_path("state_dir", out.state_dir);
  map.section("block_page", out.block_page);
  map.section("reports", out.reports);
  map.section("self_page", out.self_page);
  map.section("pac", out.pac);
  map.section("access", out.access);
  map.section("dns", out.dns);
  map.section("upstream", out.upstream);
  map.section("timeouts", out.timeouts);
  map.section("limits", out.limits);
  map.section("log", out.log);
  map.section("query_log", out.query_log);
  map.section("headers", out.headers);
  map.section("admin", out.admin);
  map.section("tls_inspection", out.tls_inspection);
  map.section("authentication", out.authentication);
  map.section("update", out.update);
}

// Errors of one file together, in the order of its lines.
tl::expected<Config, ConfigErrors> make_config(const YamlNode& tree, Reading reading) {
  Config config;
  MapReader root(reading, &tree, "");
  read(root, config);
  root.finish();
  if (reading.errors.empty()) return config;
  std::ranges::sort(reading.errors, {},
                    [](const ConfigError& e) { return std::tie(e.file, e.line, e.column, e.key, e.what); });
  return tl::unexpected(std::move(reading.errors));
}

}  // namespace

tl::expected<Config, ConfigErrors> load_text(std::string_view yaml, const std::string& name,
                                             const std::filesystem::path& folder) {
  const auto tree = parse_yaml(yaml, name);
  if (!tree) return tl::unexpected(tree.error());
  return make_config(*tree, {.files = {{name, folder}}});
}

tl::expected<Config, ConfigErrors> load_file(const std::filesystem::path& path) {
  auto files = read_config_files(path);
  if (!files) return tl::unexpected(std::move(files).error());
  auto config = make_config(files->tree, {.files = files->files});
  if (!config) return config;
  for (std::size_t i = 1; i < files->files.size(); ++i) config->included.emplace_back(files->files[i].name);
  config->drop_in_folder = files->drop_in_folder;
  return config;
}

tl::expected<Config, ConfigErrors> load(const std::filesystem::path& named, const std::filesystem::path& fallback) {
  if (!named.empty()) return load_file(named);
  std::error_code error;
  const auto status = std::filesystem::status(fallback, error);
  if (status.type() == std::filesystem::file_type::not_found) return Config{};
  return load_file(fallback);  // what cannot even be looked at is an error there
}

namespace {

// Of each listener what a reload cannot change.
using SealedListener = std::tuple<std::string, Listener::Mode, bool, bool>;
std::vector<SealedListener> sealed_listeners(const Config& config) {
  std::vector<SealedListener> out;
  for (const Listener& listener : config.listeners) {
    out.emplace_back(listener.address, listener.mode, listener.tls.certificate.empty(),
                     listener.proxy_protocol.empty());
  }
  return out;
}

}  // namespace

std::vector<std::string> needs_restart(const Config& running, const Config& loaded) {
  std::vector<std::string> keys;
  const auto sealed = [&](const char* key, const auto& before, const auto& after) {
    if (!(before == after)) keys.emplace_back(key);
  };
  sealed("listeners", sealed_listeners(running), sealed_listeners(loaded));
  sealed("workers", running.workers, loaded.workers);
  sealed("state_dir", running.state_dir, loaded.state_dir);
  sealed("dns.servers", running.dns.servers, loaded.dns.servers);
  sealed("dns.cache_entries", running.dns.cache_entries, loaded.dns.cache_entries);
  const auto kind_of = [](const Config& config) {  // what lines look like, or that there are none
    const std::string& file = config.log.access.file;
    return file == "off" || file == "journal" || file == "syslog" ? file : std::string();
  };
  sealed("log.access.file", kind_of(running), kind_of(loaded));
  sealed("log.access.queue", running.log.access.queue, loaded.log.access.queue);
  sealed("admin.address", running.admin.address, loaded.admin.address);
  sealed("admin.tls", running.admin.tls.certificate.empty(), loaded.admin.tls.certificate.empty());
  sealed("admin.hosts", running.admin.hosts, loaded.admin.hosts);
  sealed("admin.control_socket", running.admin.control_socket, loaded.admin.control_socket);
  return keys;
}

YamlNode values_of(Config config) {
  Reading reading{.files = {SourceFile{}}};
  YamlNode root = node_of(YamlNode::Kind::map);
  MapReader writer(reading, root);
  read(writer, config);
  return root;
}

std::vector<KeyInfo> known_keys() {
  std::vector<KeyInfo> keys;
  Reading reading{.files = {SourceFile{}}, .keys = &keys};
  Config config;
  MapReader root(reading, nullptr, "");
  read(root, config);
  return keys;
}

TlsInspection::Mode inspection_mode(const TlsInspection& common, const GroupTls& group) {
  switch (group.mode) {
    case GroupTls::Mode::common:
      return common.mode;
    case GroupTls::Mode::off:
      return TlsInspection::Mode::off;
    case GroupTls::Mode::blocked:
      return TlsInspection::Mode::blocked;
    case GroupTls::Mode::urls:
      return TlsInspection::Mode::urls;
    case GroupTls::Mode::all:
      return TlsInspection::Mode::all;
  }
  return common.mode;
}

TlsInspection::Mode greatest_inspection_mode(const Config& config) {
  TlsInspection::Mode greatest = config.tls_inspection.mode;
  for (const Group& group : config.groups) {
    greatest = std::max(greatest, inspection_mode(config.tls_inspection, group.tls_inspection));
  }
  return greatest;
}

void switch_inspection_off(Config& config) {
  config.tls_inspection.mode = TlsInspection::Mode::off;
  for (Group& group : config.groups) group.tls_inspection.mode = GroupTls::Mode::common;
}

}  // namespace bloomwall::conf
