// Switches of the state, and what ends by its time.
// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "proxy/state/item_table.h"
#include "proxy/state/state_store.h"

namespace bloomwall::proxy {
namespace {

const Author kByTime{.who = "bloomwall", .via = "itself"};

bool is_of(const SwitchItem& item, std::string_view group, std::string_view key) {
  return item.made.group == group && item.made.key() == key;
}

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

StateResult<SwitchItem> StateStore::set_switch(SwitchItem item, const Author& author) {
  item.who = author.who;
  if (auto refused = refuse_unreadable(item)) return tl::unexpected(*std::move(refused));
  State next = *state_;
  const std::string key = item.made.key();
  const auto replaced =
      take_if(next.switches, [&](const SwitchItem& other) { return is_of(other, item.made.group, key); });
  if (next.switches.size() >= SwitchItem::kMost) {
    return state_error(StateError::Kind::conflict,
                       fmt::format("there are {} switches, the most there may be", SwitchItem::kMost));
  }
  next.switches.push_back(item);
  const auto done = commit(std::move(next), [&] {
    tl::expected<void, std::string> changed;
    std::string before;
    for (const SwitchItem& other : replaced) {
      before = Kept<SwitchItem>::audited(other);
      if (changed) changed = erase_item(*database_, other);
    }
    if (changed) changed = insert_item(*database_, item);
    if (changed) changed = write(row_of_made("switch.set", author, item, before, item.why));
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
    return state_error(StateError::Kind::missing, fmt::format("{} has no switch {}", group, key));
  }
  const SwitchItem& item = removed.front();
  const auto done = commit(std::move(next), [&] {
    auto erased = erase_item(*database_, item);
    return erased ? write(row_of_gone("switch.removed", author, item)) : erased;
  });
  if (!done) return tl::unexpected(done.error());
  write_exports();
  return item;
}

template <typename Item>
tl::expected<void, std::string> StateStore::end(const std::vector<Item>& ended, const char* what) {
  tl::expected<void, std::string> done;
  for (const Item& item : ended) {
    if (done) done = erase_item(*database_, item);
    if (done) done = write(row_of_gone(what, kByTime, item));
  }
  return done;
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
    auto ended = end(exceptions, "exception.ended");
    if (ended) ended = end(switches, "switch.ended");
    return ended ? forget_reports(reports) : ended;
  });
  if (!done) return tl::unexpected(done.error());
  write_exports();
  return exceptions.size() + switches.size();
}

}  // namespace bloomwall::proxy
