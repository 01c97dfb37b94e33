// SPDX-License-Identifier: Apache-2.0
#include "conf/config.h"

#include <fmt/format.h>

#include <algorithm>
#include <system_error>
#include <tuple>
#include <utility>

#include "conf/yaml_reader.h"
#include "conf/yaml_text.h"

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

// Below, as configuration files are read.
void read_filters_folder(MapReader& map, Config& out);

void read(MapReader& map, Config& out) {
  map.sections("listeners", out.listeners, "address", 1);
  map.integer_or_auto("workers", out.workers, kMostWorkers);
  map.sections("filters", out.filters, "name", 0);
  map.optional_path("filters_folder", out.filters_folder);
  read_filters_folder(map, out);
  map.path_list("allow_lists", out.allow_lists);
  map.choice("otherwise", out.otherwise, {{"allow", Otherwise::allow}, {"deny", Otherwise::deny}});
  read_groups(map, out);
  map.optional_path("state_dir", out.state_dir);
  map.section("block_page", out.block_page);
  map.section("reports", out.reports);
  map.section("self_page", out.self_page);
  map.section("access", out.access);
  map.section("dns", out.dns);
  map.section("upstream", out.upstream);
  map.section("timeouts", out.timeouts);
  map.section("limits", out.limits);
  map.section("log", out.log);
  map.section("headers", out.headers);
  map.section("admin", out.admin);
  map.section("tls_inspection", out.tls_inspection);
  map.section("authentication", out.authentication);
  map.section("update", out.update);
}

tl::unexpected<ConfigErrors> cannot_read(const std::filesystem::path& path, int error) {
  return tl::unexpected(ConfigErrors{{path.string(), 0, 0, "", std::generic_category().message(error)}});
}

// Names of files, sorted. A folder that is not there has none.
std::vector<std::filesystem::path> filter_files(const std::filesystem::path& folder, std::error_code& error) {
  std::vector<std::filesystem::path> files;
  std::filesystem::directory_iterator at(folder, error);
  for (; !error && at != std::filesystem::directory_iterator(); at.increment(error)) {
    const std::string name = at->path().filename().string();
    if (name.ends_with(".yaml") && !name.starts_with('.')) files.push_back(at->path());
  }
  if (error == std::errc::no_such_file_or_directory) error.clear();
  std::ranges::sort(files);
  return files;
}

void read_filter_file(const std::filesystem::path& file, ConfigErrors& errors, std::vector<Filter>& out) {
  const auto append = [&](const ConfigErrors& more) { errors.insert(errors.end(), more.begin(), more.end()); };
  const auto text = read_yaml_file(file);
  if (!text) return append(text.error());
  const auto tree = parse_yaml(*text, file.string());
  if (!tree) return append(tree.error());
  Reading reading{.file = file.string(), .folder = file.parent_path(), .errors = {}};
  MapReader root(reading, &*tree, "");
  std::vector<Filter> filters;
  root.sections("filters", filters, "name", 0);
  root.finish();
  append(reading.errors);
  for (Filter& filter : filters) {
    if (std::ranges::find(out, filter.name, &Filter::name) != out.end()) {
      errors.push_back({file.string(), 0, 0, "filters", "there is a filter " + filter.name + " already"});
    }
    out.push_back(std::move(filter));
  }
}

void read_filters_folder(MapReader& map, Config& out) {
  Reading& reading = map.reading();
  if (reading.folder.empty() || out.filters_folder.empty()) return;
  const std::filesystem::path folder = reading.folder / out.filters_folder;
  std::error_code error;
  const auto files = filter_files(folder, error);
  if (error) map.fail("filters_folder", fmt::format("{}: {}", folder.string(), error.message()));
  if (files.size() > kMostFilterFiles) {
    return map.fail("filters_folder", fmt::format("{}: more than {} files", folder.string(), kMostFilterFiles));
  }
  for (const auto& file : files) read_filter_file(file, reading.errors, out.filters);
}

}  // namespace

tl::expected<Config, ConfigErrors> load_text(std::string_view yaml, const std::string& name,
                                             const std::filesystem::path& folder) {
  auto tree = parse_yaml(yaml, name);
  if (!tree) return tl::unexpected(std::move(tree).error());
  Reading reading{.file = name, .folder = folder, .errors = {}};
  Config config;
  MapReader root(reading, &*tree, "");
  read(root, config);
  root.finish();
  if (reading.errors.empty()) return config;
  std::ranges::sort(reading.errors, {}, [&](const ConfigError& e) {
    return std::tuple(e.file != name, e.file, e.line, e.column, e.key, e.what);
  });
  return tl::unexpected(std::move(reading.errors));
}

tl::expected<Config, ConfigErrors> load_file(const std::filesystem::path& path) {
  const auto text = read_yaml_file(path);
  if (!text) return tl::unexpected(text.error());
  std::error_code error;
  const auto whole = std::filesystem::absolute(path, error);
  if (error) return cannot_read(path, error.value());
  return load_text(*text, path.string(), whole.parent_path());
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
  sealed("log.access.file", running.log.access.file == "off", loaded.log.access.file == "off");
  sealed("log.access.queue", running.log.access.queue, loaded.log.access.queue);
  sealed("admin.address", running.admin.address, loaded.admin.address);
  sealed("admin.tls", running.admin.tls.certificate.empty(), loaded.admin.tls.certificate.empty());
  sealed("admin.hosts", running.admin.hosts, loaded.admin.hosts);
  sealed("admin.control_socket", running.admin.control_socket, loaded.admin.control_socket);
  return keys;
}

YamlNode values_of(Config config) {
  Reading reading{.file = "", .folder = {}, .errors = {}};
  YamlNode root = node_of(YamlNode::Kind::map);
  MapReader writer(reading, root);
  read(writer, config);
  return root;
}

std::vector<KeyInfo> known_keys() {
  std::vector<KeyInfo> keys;
  Reading reading{.file = "", .folder = {}, .errors = {}, .keys = &keys};
  Config config;
  MapReader root(reading, nullptr, "");
  read(root, config);
  return keys;
}

}  // namespace bloomwall::conf
