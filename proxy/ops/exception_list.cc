// SPDX-License-Identifier: Apache-2.0
#include "proxy/ops/exception_list.h"

#include <fmt/format.h>

#include <algorithm>
#include <ctime>
#include <nlohmann/json.hpp>
#include <optional>
#include <system_error>
#include <utility>

#include "base/units.h"
#include "filter/file/temp_file.h"
#include "filter/policy/entry_text.h"

namespace bloomwall::proxy {
namespace {

namespace fs = std::filesystem;
using filter::Override;
using nlohmann::ordered_json;

constexpr const char* kListFile = "exceptions.json";
constexpr std::size_t kTimeLength = 20;

std::string action_text(Override::Action action) { return action == Override::Action::allow ? "allow" : "deny"; }

// The member as text; nothing where it is missing or no text.
std::optional<std::string> text_at(const ordered_json& json, const char* name) {
  const auto at = json.find(name);
  if (at == json.end() || !at->is_string()) return std::nullopt;
  return at->get<std::string>();
}

std::optional<std::int64_t> time_at(const ordered_json& json, const char* name) {
  const auto text = text_at(json, name);
  return text ? parse_time(*text) : std::nullopt;
}

std::optional<std::vector<std::string>> names_at(const ordered_json& json) {
  std::vector<std::string> names;
  const auto at = json.find("filters");
  if (at == json.end() || at->is_null()) return names;
  if (!at->is_array() || at->size() > ExceptionList::kMaxFilters) return std::nullopt;
  for (const ordered_json& name : *at) {
    if (!name.is_string()) return std::nullopt;
    names.push_back(name.get<std::string>());
    if (names.back().empty() || names.back().size() > ExceptionList::kMaxName) return std::nullopt;
  }
  return names;
}

bool says_the_same(const Override& a, const Override& b) {
  return a.action == b.action && a.kind == b.kind && a.entry == b.entry && a.filters == b.filters;
}

}  // namespace

std::optional<std::int64_t> parse_time(std::string_view text) {
  std::tm parts{};
  const std::string ended(text);
  const char* const end = ::strptime(ended.c_str(), "%Y-%m-%dT%H:%M:%SZ", &parts);
  if (end == nullptr || *end != '\0' || text.size() != kTimeLength) return std::nullopt;
  const std::int64_t seconds = ::timegm(&parts);
  // What the calendar does not have (February 30) reads as another day.
  if (seconds <= 0 || format_time(static_cast<std::uint64_t>(seconds)) != text) return std::nullopt;
  return seconds;
}

ordered_json to_json(const ExceptionList::Item& item) {
  const Override& exception = item.exception;
  const bool stays = exception.until == Override::kForever;
  return {{"id", exception.id},
          {"action", action_text(exception.action)},
          {"kind", std::string(1, static_cast<char>(exception.kind))},
          {"entry", exception.entry},
          {"filters", exception.filters},
          {"why", item.why},
          {"created", format_time(static_cast<std::uint64_t>(item.created))},
          {"until", stays ? ordered_json() : ordered_json(format_time(static_cast<std::uint64_t>(exception.until)))}};
}

tl::expected<ExceptionList::Item, std::string> item_from(const ordered_json& json) {
  const auto refuse = [](const char* what) { return tl::unexpected(std::string(what)); };
  if (!json.is_object()) return refuse("no object");
  ExceptionList::Item item;
  Override& exception = item.exception;
  const auto id = json.find("id");
  if (id == json.end() || !id->is_number_unsigned()) return refuse("id: a number is needed");
  exception.id = id->get<std::uint64_t>();
  const auto action = text_at(json, "action");
  if (action != "allow" && action != "deny") return refuse("action: allow or deny is needed");
  exception.action = action == "allow" ? Override::Action::allow : Override::Action::deny;
  const auto kind = text_at(json, "kind");
  const auto entry = text_at(json, "entry");
  if (!kind || kind->size() != 1 || !entry) return refuse("kind and entry are needed");
  exception.kind = static_cast<filter::Kind>(kind->front());
  exception.entry = *entry;
  if (!filter::EntryParser().canonical(exception.kind, exception.entry)) return refuse("entry: not a canonical entry");
  auto names = names_at(json);
  if (!names) return refuse("filters: a list of names is needed");
  exception.filters = *std::move(names);
  if (exception.action == Override::Action::deny && !exception.filters.empty()) {
    return refuse("filters: only an allow can be for some of them");
  }
  const auto until = json.find("until");
  if (until == json.end()) return refuse("until: a time or null is needed");
  if (!until->is_null()) {
    const auto seconds = time_at(json, "until");
    if (!seconds) return refuse("until: a time such as 2026-01-31T12:00:00Z is needed");
    exception.until = *seconds;
  }
  const auto created = time_at(json, "created");
  const auto why = text_at(json, "why");
  if (!created || !why) return refuse("created and why are needed");
  item.created = *created;
  item.why = *why;
  return item;
}

tl::expected<ExceptionList, std::string> ExceptionList::load(const fs::path& folder) {
  ExceptionList list;
  if (folder.empty()) return list;
  list.file_ = folder / kListFile;
  std::error_code error;
  if (fs::status(list.file_, error).type() == fs::file_type::not_found) return list;
  if (const auto size = fs::file_size(list.file_, error); !error && size > kMaxBytes) {
    return tl::unexpected(fmt::format("{}: over 64 MiB", list.file_.string()));
  }
  const auto text = filter::read_entry_text(list.file_);
  if (!text) return tl::unexpected(text.error().text());
  const auto refuse = [&](std::string_view what) {
    return tl::unexpected(
        fmt::format("{}: {}; mend it, or remove it to begin without exceptions", list.file_.string(), what));
  };
  const auto json = ordered_json::parse(*text, nullptr, false);
  if (!json.is_object()) return refuse("not a file of exceptions");
  const auto next_id = json.find("next_id");
  const auto items = json.find("items");
  if (next_id == json.end() || !next_id->is_number_unsigned() || items == json.end() || !items->is_array()) {
    return refuse("next_id and items are needed");
  }
  if (items->size() > filter::Overrides::kMost) return refuse("more than 10,000 exceptions");
  list.next_id_ = next_id->get<std::uint64_t>();
  for (std::size_t i = 0; i < items->size(); ++i) {
    auto item = item_from((*items)[i]);
    if (!item) return refuse(fmt::format("item {}: {}", i + 1, item.error()));
    if (item->exception.id >= list.next_id_) return refuse(fmt::format("item {}: its id is not below next_id", i + 1));
    list.items_.push_back(*std::move(item));
  }
  return list;
}

std::vector<Override> ExceptionList::exceptions() const {
  std::vector<Override> out;
  out.reserve(items_.size());
  for (const Item& item : items_) out.push_back(item.exception);
  return out;
}

const ExceptionList::Item* ExceptionList::find(std::uint64_t id) const {
  const auto at = std::ranges::find(items_, id, [](const Item& item) { return item.exception.id; });
  return at == items_.end() ? nullptr : &*at;
}

tl::expected<std::uint64_t, std::string> ExceptionList::add(Item item) {
  std::vector<Item> items = items_;
  std::erase_if(items, [&](const Item& other) { return says_the_same(other.exception, item.exception); });
  if (items.size() == filter::Overrides::kMost) {
    return tl::unexpected(
        fmt::format("there are {} exceptions, the most there may be; remove some, or put lasting ones "
                    "into an allow list",
                    filter::Overrides::kMost));
  }
  const std::uint64_t id = next_id_;
  item.exception.id = id;
  items.push_back(std::move(item));
  return replace(std::move(items), id + 1).map([id] { return id; });
}

tl::expected<void, std::string> ExceptionList::remove(std::uint64_t id) {
  std::vector<Item> items = items_;
  std::erase_if(items, [&](const Item& item) { return item.exception.id == id; });
  return replace(std::move(items), next_id_);
}

tl::expected<bool, std::string> ExceptionList::sweep(std::int64_t now) {
  if (std::erase_if(items_, [&](const Item& item) { return item.exception.until <= now; }) == 0) return false;
  return replace(items_, next_id_).map([] { return true; });
}

tl::expected<void, std::string> ExceptionList::replace(std::vector<Item> items, std::uint64_t next_id) {
  std::error_code error;
  const fs::path folder = file_.parent_path();
  if (!file_.empty()) fs::create_directories(folder, error);
  is_kept_ = !file_.empty() && fs::is_directory(folder, error);
  if (is_kept_) {
    ordered_json json{{"next_id", next_id}, {"items", ordered_json::array()}};
    for (const Item& item : items) json["items"].push_back(to_json(item));
    // Texts from the network may hold octets that are no UTF-8.
    const std::string text = json.dump(1, ' ', false, ordered_json::error_handler_t::replace) + '\n';
    if (text.size() > kMaxBytes) return tl::unexpected(fmt::format("{} would be over 64 MiB", file_.string()));
    if (const auto saved = filter::replace_file(file_, text); !saved) return tl::unexpected(saved.error().text());
  }
  items_ = std::move(items);
  next_id_ = next_id;
  return {};
}

}  // namespace bloomwall::proxy
