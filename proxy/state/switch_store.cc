// Switches of the state, and what ends by its time.
// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "proxy/state/json_members.h"
#include "proxy/state/state_store.h"

namespace bloomwall::proxy {
namespace {

const Author kByTime{.who = "bloomwall", .via = "itself"};

bool is_of(const SwitchItem& item, std::string_view group, std::string_view key) {
  return item.made.group == group && item.made.key() == key;
}

std::string subject_of(const SwitchItem& item) { return item.made.group + " " + item.made.key(); }

// Takes those for which `has_ended` is true out of `items`.
template <typename Item, typename Test>
std::vector<Item> take_if(std::vector<Item>& items, Test has_ended) {
  std::vector<Item> taken;
  std::erase_if(items, [&](const Item& item) {
    if (!has_ended(item)) return false;
    taken.push_back(item);
    return true;
  });
  return taken;
}

}  // namespace

SwitchesPtr State::switches_in_force() const {
  if (switches.empty()) return nullptr;
  std::vector<Switch> out;
  for (const SwitchItem& item : switches) out.push_back(item.made);
  return std::make_shared<const std::vector<Switch>>(std::move(out));
}

tl::expected<void, std::string> StateStore::load_switches(State& state) {
  Statement rows(*database_, "SELECT item, sum FROM switches ORDER BY group_name, key");
  while (rows.next()) {
    const std::string text = rows.text(0);
    if (rows.text(1) != sum_of(text)) return tl::unexpected(std::string("state.db: a switch is not what was written"));
    auto item = switch_from(nlohmann::ordered_json::parse(text, nullptr, false));
    if (!item) return tl::unexpected("state.db: a switch: " + item.error());
    state.switches.push_back(*std::move(item));
  }
  if (!rows.error().empty()) return tl::unexpected(rows.error());
  return {};
}

tl::expected<void, std::string> StateStore::insert(const SwitchItem& item) {
  const std::string text = json_line(to_json(item)), key = item.made.key();
  return database_->run("INSERT INTO switches (group_name, key, item, sum) VALUES (?, ?, ?, ?)",
                        {item.made.group, key, text, sum_of(text)});
}

tl::expected<void, std::string> StateStore::erase(const SwitchItem& item) {
  const std::string key = item.made.key();
  return database_->run("DELETE FROM switches WHERE group_name = ? AND key = ?", {item.made.group, key});
}

StateResult<SwitchItem> StateStore::set_switch(SwitchItem item, const Author& author) {
  item.who = author.who;
  // One that could not be read again would make all of the state unreadable.
  if (const auto again = switch_from(nlohmann::ordered_json::parse(json_line(to_json(item)), nullptr, false)); !again) {
    return tl::unexpected(StateError{StateError::Kind::failed, "the switch cannot be kept: " + again.error()});
  }
  State next = *state_;
  const std::string key = item.made.key();
  const auto replaced =
      take_if(next.switches, [&](const SwitchItem& other) { return is_of(other, item.made.group, key); });
  if (next.switches.size() >= SwitchItem::kMost) {
    return tl::unexpected(StateError{StateError::Kind::conflict,
                                     fmt::format("there are {} switches, the most there may be", SwitchItem::kMost)});
  }
  next.switches.push_back(item);
  const auto done = commit(std::move(next), [&] {
    tl::expected<void, std::string> changed;
    AuditRow row{.author = author,
                 .what = "switch.set",
                 .subject = subject_of(item),
                 .before = {},
                 .after = json_line(to_json(item)),
                 .why = item.why};
    for (const SwitchItem& other : replaced) {
      row.before = json_line(to_json(other));
      if (changed) changed = erase(other);
    }
    if (changed) changed = insert(item);
    if (changed) changed = write(row);
    return changed;
  });
  if (!done) return tl::unexpected(done.error());
  write_exports();
  return item;
}

StateResult<SwitchItem> StateStore::remove_switch(std::string_view group, std::string_view key, const Author& author) {
  State next = *state_;
  const auto removed = take_if(next.switches, [&](const SwitchItem& item) { return is_of(item, group, key); });
  if (removed.empty()) {
    return tl::unexpected(StateError{StateError::Kind::missing, fmt::format("{} has no switch {}", group, key)});
  }
  const SwitchItem& item = removed.front();
  const auto done = commit(std::move(next), [&] {
    auto erased = erase(item);
    if (!erased) return erased;
    return write({.author = author,
                  .what = "switch.removed",
                  .subject = subject_of(item),
                  .before = json_line(to_json(item)),
                  .after = {},
                  .why = {}});
  });
  if (!done) return tl::unexpected(done.error());
  write_exports();
  return item;
}

tl::expected<void, std::string> StateStore::end_exceptions(const std::vector<ExceptionItem>& ended) {
  for (const ExceptionItem& item : ended) {
    const auto id = static_cast<std::int64_t>(item.exception.id);
    if (auto removed = database_->run("DELETE FROM exceptions WHERE id = ?", {id}); !removed) return removed;
    auto written = write({.author = kByTime,
                          .what = "exception.ended",
                          .subject = std::to_string(item.exception.id),
                          .before = json_line(to_json(item)),
                          .after = {},
                          .why = {},
                          .report = item.report});
    if (!written) return written;
  }
  return {};
}

tl::expected<void, std::string> StateStore::end_switches(const std::vector<SwitchItem>& ended) {
  for (const SwitchItem& item : ended) {
    if (auto removed = erase(item); !removed) return removed;
    auto written = write({.author = kByTime,
                          .what = "switch.ended",
                          .subject = subject_of(item),
                          .before = json_line(to_json(item)),
                          .after = {},
                          .why = {}});
    if (!written) return written;
  }
  return {};
}

StateResult<std::size_t> StateStore::sweep(std::int64_t now) {
  State next = *state_;
  const auto exceptions =
      take_if(next.exceptions, [now](const ExceptionItem& item) { return item.exception.until <= now; });
  const auto switches = take_if(next.switches, [now](const SwitchItem& item) { return item.made.until <= now; });
  const std::vector<std::uint64_t> reports = drop_old_reports(next, now);
  next.exceptions_version += exceptions.empty() ? 0U : 1U;
  if (exceptions.empty() && switches.empty() && reports.empty()) return std::size_t{0};
  const auto done = commit(std::move(next), [&] {
    auto ended = end_exceptions(exceptions);
    if (ended) ended = end_switches(switches);
    return ended ? forget_reports(reports) : ended;
  });
  if (!done) return tl::unexpected(done.error());
  write_exports();
  return exceptions.size() + switches.size();
}

}  // namespace bloomwall::proxy
