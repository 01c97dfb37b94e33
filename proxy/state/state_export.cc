// The files beside state.db that others read.
// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <sys/types.h>

#include <algorithm>
#include <ctime>
#include <nlohmann/json.hpp>
#include <optional>
#include <system_error>
#include <utility>

#include "filter/file/temp_file.h"
#include "filter/policy/entry_text.h"
#include "proxy/log/log.h"
#include "proxy/state/json_members.h"
#include "proxy/state/state_store.h"

namespace bloomwall::proxy {
namespace {

namespace fs = std::filesystem;
using nlohmann::ordered_json;

constexpr const char* kExport = "exceptions.json";
constexpr const char* kAllowExport = "exceptions.txt";
constexpr mode_t kPrivate = 0600;  // it says who made what for whom; the other one is for programs of other users, too

// What is wrong; empty: nothing.
std::string replace_export(const fs::path& file, const std::string& text, std::optional<mode_t> mode = {}) {
  if (text.size() > StateStore::kMaxExport) return file.string() + " would be over 64 MiB";
  const auto saved = filter::replace_file(file, text, {.mode = mode});
  return saved ? std::string() : saved.error().text();
}

}  // namespace

std::vector<filter::Override> ExportedState::overrides() const {
  std::vector<filter::Override> out;
  for (const ExceptionItem& item : exceptions) out.push_back(item.exception);
  return out;
}

tl::expected<ExportedState, std::string> read_export(const fs::path& folder) {
  ExportedState out;
  if (folder.empty()) return out;
  const fs::path file = folder / kExport;
  std::error_code error;
  if (fs::status(file, error).type() == fs::file_type::not_found) return out;
  if (const auto size = fs::file_size(file, error); !error && size > StateStore::kMaxExport) {
    return tl::unexpected(fmt::format("{}: over 64 MiB", file.string()));
  }
  const auto text = filter::read_entry_text(file);
  if (!text) return tl::unexpected(text.error().text());
  const auto refuse = [&](std::string_view what) {
    return tl::unexpected(
        fmt::format("{}: {}; mend it, or remove it to begin without exceptions", file.string(), what));
  };
  const auto json = ordered_json::parse(*text, nullptr, false);
  if (!json.is_object()) return refuse("not a file of exceptions");
  const auto next_id = number_member(json, "next_id");
  const auto items = json.find("items");
  if (!next_id || items == json.end() || !items->is_array()) return refuse("next_id and items are needed");
  if (items->size() > filter::Overrides::kMost) return refuse("more than 10,000 exceptions");
  out.is_there = true;
  out.next_id = *next_id;
  out.changes = number_member(json, "changes").value_or(0);  // an older program's has none
  for (std::size_t i = 0; i < items->size(); ++i) {
    auto item = exception_from((*items)[i]);
    if (!item) return refuse(fmt::format("item {}: {}", i + 1, item.error()));
    if (item->exception.id >= out.next_id) return refuse(fmt::format("item {}: its id is not below next_id", i + 1));
    out.exceptions.push_back(*std::move(item));
  }
  const auto id_of = [](const ExceptionItem& item) { return item.exception.id; };
  std::ranges::sort(out.exceptions, {}, id_of);
  if (std::ranges::adjacent_find(out.exceptions, {}, id_of) != out.exceptions.end())
    return refuse("an id is there twice");
  const auto switches = json.find("switches");
  if (switches == json.end()) return out;  // an older program's
  if (!switches->is_array() || switches->size() > SwitchItem::kMost) return refuse("switches: a list is needed");
  for (const ordered_json& each : *switches) {
    auto item = switch_from(each);
    if (!item) return refuse("switches: " + item.error());
    out.switches.push_back(*std::move(item));
  }
  return out;
}

std::string StateStore::export_text() {
  export_lines_.set(state_->exceptions);
  ordered_json switches = ordered_json::array();
  for (const SwitchItem& item : state_->switches) switches.push_back(to_json(item));
  return fmt::format("{{\"next_id\":{},\"changes\":{},\"items\":[{}],\n\"switches\":{}}}\n", next_id_, last_change_,
                     export_lines_.json(), json_line(switches));
}

void StateStore::write_exports() {
  if (!is_kept()) return;
  std::string wrong = replace_export(folder_ / kExport, export_text(), kPrivate);
  if (wrong.empty()) wrong = replace_export(folder_ / kAllowExport, export_lines_.allowed(std::time(nullptr)));
  const bool were_stale = std::exchange(are_exports_stale_, !wrong.empty());
  if (are_exports_stale_ && !were_stale) {
    log::error("{}: the exports stay as they were, and state.db is right; tried again each second", wrong);
  }
  if (were_stale && !are_exports_stale_) log::info("the exports beside state.db say again what it says");
}

// Each change is in state.db before it is exported, also by another process that changes both meanwhile.
tl::expected<void, std::string> StateStore::check_changes() {
  const auto exported = read_export(folder_);
  Statement last(*database_,
                 "SELECT id FROM audit WHERE what LIKE 'exception.%' OR what LIKE 'switch.%' OR what LIKE 'state.%' "
                 "ORDER BY id DESC LIMIT 1");
  last_change_ = last.next() ? static_cast<std::uint64_t>(last.integer(0)) : 0;
  if (!last.error().empty()) return tl::unexpected(last.error());
  if (!exported || exported->changes <= last_change_) return {};
  return tl::unexpected(std::string(
      "state.db lacks changes that exceptions.json has: it is an older one, or its -wal is lost or damaged; put back "
      "the right one, or move exceptions.json away to go by this one"));
}

// A process that was killed may have left them as they were before its last change.
void StateStore::compare_exports() {
  const bool was_never_changed = state_->exceptions.empty() && state_->switches.empty() && next_id_ == 1;
  std::error_code error;
  if (was_never_changed && !fs::exists(folder_ / kExport, error)) return;
  const auto text = filter::read_entry_text(folder_ / kExport);
  are_exports_stale_ = !text || *text != export_text();
}

void StateStore::refresh_exports() {
  if (are_exports_stale_ && fault_.empty() && claim()) write_exports();
}

}  // namespace bloomwall::proxy
