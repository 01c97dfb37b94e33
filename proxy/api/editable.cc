// SPDX-License-Identifier: Apache-2.0
#include "proxy/api/editable.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <ctime>
#include <system_error>
#include <utility>
#include <vector>

#include "base/terminal.h"
#include "conf/device_file.h"
#include "conf/edited_file.h"

namespace bloomwall::proxy {
namespace {

using conf::YamlEntry;
using conf::YamlNode;
using nlohmann::ordered_json;
using Kind = StateError::Kind;

constexpr std::size_t kDeepest = 4;  // of a value: an action by schedule of a filter is three deep

tl::unexpected<StateError> cannot(Kind kind, std::string what) {
  return tl::unexpected(StateError{kind, std::move(what)});
}

std::string_view key_of(EditKind kind) {
  switch (kind) {
    case EditKind::device:
      return "devices";
    case EditKind::group:
      return "groups";
    case EditKind::schedule:
      return "schedules";
    case EditKind::list:
      return "lists";
  }
  return {};
}

conf::EditedSection section_of(EditKind kind) {
  return kind == EditKind::group ? conf::EditedSection::groups : conf::EditedSection::schedules;
}

ordered_json json_of(const YamlNode& node) {
  ordered_json list = ordered_json::array(), map = ordered_json::object();
  switch (node.kind) {
    case YamlNode::Kind::null:
      return {};
    case YamlNode::Kind::scalar:
      return printable(node.text);
    case YamlNode::Kind::sequence:
      for (const YamlNode& item : node.items) list.push_back(json_of(item));
      return list;
    case YamlNode::Kind::map:
      for (const YamlEntry& entry : node.entries) map[printable(entry.key)] = json_of(entry.value);
      return map;
  }
  return {};
}

YamlNode scalar_of(std::string_view text) {
  YamlNode node = conf::node_of(YamlNode::Kind::scalar);
  node.text = text;
  return node;
}

// Texts, lists and objects of such. Nothing: something else, which no file is to say.
std::optional<YamlNode> node_of(const ordered_json& json, std::size_t deep = 0) {
  if (deep > kDeepest) return std::nullopt;
  if (json.is_string()) return scalar_of(json.get_ref<const std::string&>());
  YamlNode node = conf::node_of(json.is_array() ? YamlNode::Kind::sequence : YamlNode::Kind::map);
  if (!json.is_array() && !json.is_object()) return std::nullopt;
  for (const auto& [key, value] : json.items()) {
    auto made = node_of(value, deep + 1);
    if (!made) return std::nullopt;
    if (json.is_array()) {
      node.items.push_back(*std::move(made));
    } else {
      node.entries.push_back({key, {}, *std::move(made)});
    }
  }
  return node;
}

// The item of the file with those members of the request, or without those that are null.
tl::expected<YamlNode, std::string> joined_item(YamlNode item, const ordered_json& asked, EditKind kind) {
  for (const char* const key : edited_members(kind)) {
    const auto value = asked.find(key);
    if (value == asked.end()) continue;
    const auto there = std::ranges::find(item.entries, key, &YamlEntry::key);
    if (value->is_null()) {
      if (there != item.entries.end()) item.entries.erase(there);
      continue;
    }
    auto node = node_of(*value);
    if (!node) return tl::unexpected(fmt::format("{}: texts, lists of texts, or an object of such are needed", key));
    if (there != item.entries.end()) {
      there->value = *std::move(node);
    } else {
      item.entries.push_back({key, {}, *std::move(node)});
    }
  }
  return item;
}

std::string place_to_change(std::string_view what, const std::string& name, const std::filesystem::path& file,
                            const char* own) {
  return fmt::format("the {} {} stands in {}: change it there, or move it to {} beside it to edit it here", what, name,
                     file.string(), own);
}

// Why no path of the API could name an item that is called so; empty: one can.
std::string fault_of_name(const std::string& name) {
  const bool is_good = name != "." && name != ".." && printable(name) == name;
  return is_good ? std::string() : fmt::format("{}: a name that no address of the API can have", printable(name));
}

}  // namespace

std::string_view to_string(EditKind kind) {
  const std::string_view key = key_of(kind);
  return key.substr(0, key.size() - 1);
}

std::initializer_list<const char*> edited_members(EditKind kind) {
  static constexpr std::initializer_list<const char*> kDevice{"addresses", "group"};
  static constexpr std::initializer_list<const char*> kGroup{"clients", "filters", "otherwise", "safe_search"};
  static constexpr std::initializer_list<const char*> kSchedule{"times", "except", "time_zone"};
  static constexpr std::initializer_list<const char*> kList{"exceptions"};
  switch (kind) {
    case EditKind::device:
      return kDevice;
    case EditKind::group:
      return kGroup;
    case EditKind::schedule:
      return kSchedule;
    case EditKind::list:
      return kList;
  }
  return {};
}

Loaded<Editable> Editable::read(const std::filesystem::path& main) {
  auto settings = load_settings(main);
  if (!settings) return tl::unexpected(std::move(settings).error());
  // Before the items: a text that changes meanwhile then makes the tag outdated.
  std::string texts;
  for (const char* const name : {conf::kDeviceFile, conf::kEditedFile}) {
    const auto file = DropInFile::read(settings->drop_in_folder / name);
    if (file) texts += fmt::format("{}\n{}\n", file->text().size(), file->text());
  }
  auto files = conf::read_config_files(main);
  if (!files) {
    LoadFailure failure{kExitConfiguration, {}};
    for (const conf::ConfigError& error : files.error()) failure.lines.push_back(error.text());
    return tl::unexpected(std::move(failure));
  }
  Editable editable;
  editable.settings_ = *std::move(settings);
  editable.texts_ = std::move(texts);
  editable.files_ = *std::move(files);
  editable.catalogue_ = conf::load_catalogue(editable.settings_.update.catalogue).value_or(conf::Catalogue{});
  return editable;
}

std::string Editable::fault() const {
  const std::filesystem::path& folder = settings_.drop_in_folder;
  if (folder.empty()) return "there is no folder for it: add `include: [conf.d/*.yaml]` to the configuration";
  if (::access(folder.c_str(), W_OK | X_OK) == 0) return {};
  const int error = errno;
  return fmt::format(
      "bloomwall may not write to {} ({}): as root `install -d -g bloomwall -m 3775 {}`, and under systemd "
      "ReadWritePaths=-{} in the unit, which the packaged one has",
      folder.string(), std::generic_category().message(error), folder.string(), folder.string());
}

const YamlNode* Editable::items(EditKind kind) const {
  const YamlEntry* const entry = files_.tree.find(key_of(kind));
  return entry == nullptr ? nullptr : &entry->value;
}

std::filesystem::path Editable::file_for(EditKind kind) const {
  return settings_.drop_in_folder / (kind == EditKind::device ? conf::kDeviceFile : conf::kEditedFile);
}

bool Editable::is_editable(EditKind kind, const YamlNode& node) const {
  std::error_code ignored;
  return std::filesystem::equivalent(files_.files[node.place.file].name, file_for(kind), ignored);
}

Editable::Found Editable::find(EditKind kind, std::string_view name) const {
  const YamlNode* const all = items(kind);
  if (all == nullptr) return {};
  for (const YamlNode& item : all->items) {
    const YamlEntry* const its_name = item.find("name");
    if (its_name == nullptr || its_name->value.text != name) continue;
    return {.node = &item, .file = files_.files[item.place.file].name};
  }
  return {};
}

ordered_json Editable::items_json(EditKind kind) const {
  ordered_json list = ordered_json::array();
  const YamlNode* const all = items(kind);
  if (all == nullptr) return list;
  for (const YamlNode& item : all->items) {
    const YamlEntry* const name = item.find("name");
    ordered_json shown{{"name", name == nullptr ? ordered_json() : json_of(name->value)}};
    for (const char* const key : edited_members(kind)) {
      const YamlEntry* const entry = item.find(key);
      shown[key] = entry == nullptr ? ordered_json() : json_of(entry->value);
    }
    shown["file"] = printable(files_.files[item.place.file].name);
    shown["editable"] = is_editable(kind, item);
    list.push_back(std::move(shown));
  }
  return list;
}

ordered_json Editable::shown() const {
  ordered_json filters = ordered_json::array();
  for (const conf::Filter& filter : settings_.filters) filters.push_back(printable(filter.name));
  return {{"folder", printable(settings_.drop_in_folder.string())},
          {"filters", std::move(filters)},
          {"devices", items_json(EditKind::device)},
          {"groups", items_json(EditKind::group)},
          {"schedules", items_json(EditKind::schedule)},
          {"lists", lists_json()}};
}

StateResult<EditPlan> Editable::plan(const EditWish& wish) const {
  if (auto why = fault(); !why.empty()) return cannot(Kind::conflict, std::move(why));
  if (wish.kind == EditKind::list) return plan_of_list(wish);
  if (auto why = wish.item ? fault_of_name(wish.name) : std::string(); !why.empty()) {
    return cannot(Kind::conflict, std::move(why));
  }
  const Found there = find(wish.kind, wish.name);
  const std::filesystem::path path = file_for(wish.kind);
  if (there.node == nullptr && !wish.item) {
    return cannot(Kind::missing, fmt::format("there is no {} {}", to_string(wish.kind), wish.name));
  }
  if (there.node != nullptr && !is_editable(wish.kind, *there.node)) {
    return cannot(Kind::conflict,
                  place_to_change(to_string(wish.kind), wish.name, there.file, path.filename().c_str()));
  }
  struct stat status{};
  if (::stat(path.c_str(), &status) == 0 && status.st_uid != ::geteuid() && ::geteuid() != 0) {
    return cannot(Kind::conflict,
                  fmt::format("{0} belongs to another user: as root `chown bloomwall {0}`", path.string()));
  }
  auto file = DropInFile::read(path);
  if (!file) return cannot(Kind::failed, file.error());
  EditPlan plan{.file = *std::move(file), .text = {}, .name = wish.name, .before = {}, .after = {}};
  if (there.node != nullptr) {
    plan.before = json_of(*there.node);
    plan.next = next_name(wish.kind, *there.node);
  }
  const std::string had = plan.file.text();
  auto text = wish.kind == EditKind::device ? text_of_device(wish, had, plan) : text_of_item(wish, had, plan);
  if (!text) return tl::unexpected(std::move(text).error());
  plan.text = *std::move(text);
  return plan;
}

StateResult<std::string> Editable::text_of_device(const EditWish& wish, const std::string& text, EditPlan& plan) const {
  const auto in_file = [&](tl::expected<std::string, std::string> made) -> StateResult<std::string> {
    if (made) return *std::move(made);
    return cannot(Kind::conflict, fmt::format("{}: {}", plan.file.path().string(), made.error()));
  };
  if (!wish.item) return in_file(conf::without_device(text, wish.name));
  const auto known = std::ranges::find(settings_.devices, wish.name, &conf::Device::name);
  conf::Device device =
      known == settings_.devices.end() ? conf::Device{.name = wish.name, .addresses = {}, .group = {}} : *known;
  for (const auto& [key, value] : wish.item->items()) {
    const bool is_text = value.is_string(), is_group = key == "group" && (is_text || value.is_null());
    const bool is_list =
        value.is_array() && std::ranges::all_of(value, [](const ordered_json& each) { return each.is_string(); });
    if (key == "name" && is_text) {
      device.name = value.get<std::string>();
    } else if (is_group) {
      device.group = is_text ? std::optional(value.get<std::string>()) : std::nullopt;
    } else if (key == "addresses" && is_list) {
      device.addresses = value.get<std::vector<std::string>>();
    } else {
      return cannot(
          Kind::conflict,
          fmt::format("{}: there are name (a text), addresses (a list of texts) and group (a text, or null)", key));
    }
  }
  if (auto why = fault_of_name(device.name); !why.empty()) return cannot(Kind::conflict, std::move(why));
  if (device.name != wish.name && find(EditKind::device, device.name).node != nullptr) {
    return cannot(Kind::conflict, fmt::format("there is a device {} already", device.name));
  }
  plan.name = device.name;
  plan.after = {{"name", device.name}, {"addresses", device.addresses}};
  if (device.group) plan.after["group"] = *device.group;
  return in_file(conf::with_device(text, device, wish.name));
}

StateResult<std::string> Editable::text_of_item(const EditWish& wish, const std::string& text, EditPlan& plan) const {
  const auto in_file = [&](tl::expected<std::string, std::string> made) -> StateResult<std::string> {
    if (made) return *std::move(made);
    return cannot(Kind::conflict, fmt::format("{}: {}", plan.file.path().string(), made.error()));
  };
  if (!wish.item) return in_file(conf::without_item(text, section_of(wish.kind), wish.name));
  const auto in_front_of = place_of_new(wish);
  if (!in_front_of) return tl::unexpected(in_front_of.error());
  for (const auto& [key, value] : wish.item->items()) {
    if (key == kBeforeOfNew) continue;
    if (key == "name") {
      if (value == wish.name) continue;
      return cannot(Kind::conflict,
                    fmt::format("a {} keeps its name, by which exceptions, switches and figures know it: "
                                "make another one, and take this one away",
                                to_string(wish.kind)));
    }
    const bool is_known = std::ranges::any_of(edited_members(wish.kind), [&](const char* each) { return key == each; });
    if (!is_known)
      return cannot(Kind::conflict, fmt::format("{}: there are {}", key, fmt::join(edited_members(wish.kind), ", ")));
  }
  const Found there = find(wish.kind, wish.name);
  const bool is_new = there.node == nullptr;
  YamlNode item = is_new ? conf::node_of(YamlNode::Kind::map) : *there.node;
  if (is_new) item.entries.push_back({"name", {}, scalar_of(wish.name)});
  const bool is_open_group = wish.kind == EditKind::group && is_new && !wish.item->contains("clients");
  if (is_open_group) item.entries.push_back({"clients", {}, scalar_of(conf::kOfDevices)});
  auto made = joined_item(std::move(item), *wish.item, wish.kind);
  if (!made) return cannot(Kind::conflict, made.error());
  if (wish.kind == EditKind::group && !conf::asks_for_anything(*made) &&
      (is_new || conf::asks_for_anything(*there.node))) {
    return cannot(Kind::conflict, "the group would take everybody: give it `clients`, which may be \"devices\"");
  }
  plan.after = json_of(*made);
  return in_file(conf::with_item(text, section_of(wish.kind), *made, *in_front_of));
}

namespace {

using NamedCount = std::pair<const char*, std::ptrdiff_t>;

std::string counts_text(std::initializer_list<NamedCount> counts) {
  std::vector<std::string> parts;
  for (const auto& [what, count] : counts) {
    if (count > 0) parts.push_back(fmt::format("{}: {}", what, count));
  }
  return fmt::format("{}", fmt::join(parts, ", "));
}

}  // namespace

std::string namers_of_group(const State& state, std::string_view group) {
  const std::int64_t now = std::time(nullptr);
  const auto is_for_it = [&](const ExceptionItem& each) { return each.exception.group == group; };
  const auto is_of_it = [&](const SwitchItem& each) { return each.made.group == group; };
  const auto reviews_it = [&](const Token& token) {
    return token.role == Role::reviewer && token.until > now &&
           std::ranges::find(token.groups, group) != token.groups.end();
  };
  return counts_text({{"exceptions", std::ranges::count_if(state.exceptions, is_for_it)},
                      {"switches", std::ranges::count_if(state.switches, is_of_it)},
                      {"tokens of reviewers", std::ranges::count_if(state.tokens->all(), reviews_it)}});
}

std::string namers_of_filter(const State& state, std::string_view filter) {
  const auto is_against_it = [&](const ExceptionItem& each) {
    return std::ranges::find(each.exception.filters, filter) != each.exception.filters.end();
  };
  const auto turns_it = [&](const SwitchItem& each) {
    return each.made.what == Switch::What::filter && each.made.filter == filter;
  };
  return counts_text({{"exceptions", std::ranges::count_if(state.exceptions, is_against_it)},
                      {"switches", std::ranges::count_if(state.switches, turns_it)}});
}

}  // namespace bloomwall::proxy
