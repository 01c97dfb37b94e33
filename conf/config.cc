// SPDX-License-Identifier: Apache-2.0
#include "conf/config.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <string>
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
  names.groups = names_of(out.groups);
  for (const Group& group : out.groups) {
    if (group.asks_for_clients()) names.groups_of_clients.push_back(group.name);
  }
  map.sections("devices", out.devices, "name", 0);
  join_devices(map, out.devices, out.groups);
  if (out.schedules.size() > kMostSchedules) map.fail("schedules", fmt::format("at most {} may be", kMostSchedules));
  if (out.calendars.size() > kMostSchedules) map.fail("calendars", fmt::format("at most {} may be", kMostSchedules));
}

void read(MapReader& map, Config& out) {
  // load_file() has joined the files, and nothing of it is left.
  std::vector<std::filesystem::path> include;
  map.path_list(kIncludeKey, include);
  map.sections("listeners", out.listeners, "address", 1);
  map.sections("answers", out.answers, "address", 0);
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
  map.refuse_null(
      "admin", "without a value: `address: null` below it turns the admin address off; for the defaults leave it out");
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

namespace {

tl::expected<Config, ConfigErrors> load_files(const std::filesystem::path& path, const StandIn& stand_in) {
  auto files = read_config_files(path, stand_in);
  if (!files) return tl::unexpected(std::move(files).error());
  auto config = make_config(files->tree, {.files = files->files});
  if (!config) return config;
  for (std::size_t i = 1; i < files->files.size(); ++i) config->included.emplace_back(files->files[i].name);
  config->left_out = files->left_out;
  config->drop_in_folder = files->drop_in_folder;
  return config;
}

}  // namespace

tl::expected<Config, ConfigErrors> load_file(const std::filesystem::path& path) { return load_files(path, {}); }

tl::expected<Config, ConfigErrors> load_in_place(const std::filesystem::path& file, const std::filesystem::path& place,
                                                 const std::filesystem::path& main) {
  std::error_code failed;
  const StandIn stand_in{.file = file, .place = std::filesystem::absolute(place, failed).lexically_normal()};
  if (failed) return tl::unexpected(ConfigErrors{{place.string(), 0, 0, "", failed.message()}});
  return load_files(main.empty() ? main_file_of(stand_in) : main, stand_in);
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
std::string fixed_part(const Listener& listener) {
  std::string out = listener.address;
  if (listener.mode == Listener::Mode::transparent) out += " transparent";
  if (!listener.tls.certificate.empty()) out += " tls";
  if (!listener.proxy_protocol.empty()) out += " proxy_protocol";
  return out;
}

}  // namespace

RestartValues restart_values(const Config& config) {
  std::vector<std::string> listeners;
  for (const Listener& listener : config.listeners) listeners.push_back(fixed_part(listener));
  const std::string& access = config.log.access.file;
  const bool is_no_file = access == "off" || access == "journal" || access == "syslog";  // a file may be another one
  const Admin& admin = config.admin;
  std::vector<std::string> answers;
  for (const Answers& door : config.answers) {
    answers.push_back(fmt::format("{} {} {}", door.address, to_string(door.protocol), door.group.value_or("")));
  }
  return {{"listeners", fmt::format("{}", fmt::join(listeners, ", "))},
          {"answers", fmt::format("{}", fmt::join(answers, ", "))},
          {"workers", config.workers == 0 ? "auto" : std::to_string(config.workers)},
          {"state_dir", config.state_dir.string()},
          {"dns.servers", fmt::format("{}", fmt::join(config.dns.servers, ", "))},
          {"dns.cache_entries", std::to_string(config.dns.cache_entries)},
          {"log.access.file", is_no_file ? access : "a file"},
          {"log.access.queue", std::to_string(config.log.access.queue)},
          {"admin.address", admin.address.value_or("null")},
          {"admin.tls", admin.tls.is_on() ? "yes" : "no"},
          {"admin.hosts", fmt::format("{}", fmt::join(admin.hosts, ", "))},
          {"admin.control_socket", admin.control_socket.string()}};
}

std::vector<std::string> needs_restart(const RestartValues& running, const Config& loaded) {
  std::vector<std::string> keys;
  for (const auto& [key, value] : restart_values(loaded)) {
    const auto before = std::ranges::find(running, key, &RestartValues::value_type::first);
    if (before != running.end() && before->second != value) keys.push_back(key);
  }
  return keys;
}

std::vector<std::string> needs_restart(const Config& running, const Config& loaded) {
  return needs_restart(restart_values(running), loaded);
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

std::filesystem::path kept_intermediates(const Config& config) {
  if (config.tls_inspection.verify.intermediates.empty()) return {};
  return config.update.folder / "intermediates.pem";
}

void switch_inspection_off(Config& config) {
  config.tls_inspection.mode = TlsInspection::Mode::off;
  for (Group& group : config.groups) group.tls_inspection.mode = GroupTls::Mode::common;
}

}  // namespace bloomwall::conf
