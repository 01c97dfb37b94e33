// SPDX-License-Identifier: Apache-2.0
#include "proxy/query_log/request_feed.h"

#include <algorithm>

namespace bloomwall::proxy {

bool Allowance::has_any(std::chrono::steady_clock::time_point now) {
  left_ = std::min(a_second_, left_ + std::chrono::duration<double>(now - at_).count() * a_second_);
  at_ = now;
  return left_ >= 1;
}

bool Allowance::take(std::chrono::steady_clock::time_point now) {
  if (!has_any(now)) return false;
  left_ -= 1;
  return true;
}

bool RequestFeed::wants(filter::Decision decision, const LogRules& rules) {
  if (decision == filter::Decision::blocked || rules.may_keep(decision)) return true;
  if (signals_.watch.load(std::memory_order_relaxed) != Watch::all) return false;
  if (shown_others_.has_any(std::chrono::steady_clock::now())) return true;
  skipped_.add();
  return false;
}

void RequestFeed::count_names(const AccessRecord& record, const LogRules& rules) {
  if (rules.may_name_host(record)) sums_.tops.hosts.count(record.host);
  sums_.tops.filters.count(record.filter);
  sums_.tops.groups.count(record.group);
  if (rules.may_name_client(record)) sums_.tops.clients.count(record.client);
}

void RequestFeed::see(const AccessRecord& record, const LogRules& rules) {
  if (!rules.may_name_client(record)) return;
  sums_.clients.note({.client = record.client,
                      .user = record.user,
                      .group = record.group,
                      .is_blocked = record.decision == filter::Decision::blocked,
                      .at = std::chrono::duration_cast<std::chrono::seconds>(record.start.time_since_epoch()).count()});
}

void RequestFeed::note(const AccessRecord& record, const LogRules& rules) {
  const bool is_blocked = record.decision == filter::Decision::blocked;
  if (is_blocked) count_names(record, rules);
  const Watch watch = signals_.watch.load(std::memory_order_relaxed);
  const bool is_watched = watch == Watch::all || (watch == Watch::blocked && is_blocked);
  if (!is_watched && !rules.may_keep(record.decision)) return;
  RowUse use = rules.use_of(record);
  use.is_shown = use.is_shown && is_watched && may_show(is_blocked);
  if (!use.is_kept && !use.is_shown) return;
  row_.clear();
  append_row(row_, record, use);
  if (!ring_.push(row_)) {
    if (use.is_kept) dropped_.add();
    if (use.is_shown) skipped_.add();
    return;
  }
  // One that comes while the thread is about to sleep is late by its period, for which half of the queue is left.
  const bool is_half_full = ring_.pushed() - ring_.consumed() > ring_.capacity() / 2;
  if (is_half_full && !signals_.is_urgent.exchange(true)) signals_.wanted.notify_one();
}

bool RequestFeed::may_show(bool is_blocked) {
  if ((is_blocked ? shown_blocked_ : shown_others_).take(std::chrono::steady_clock::now())) return true;
  skipped_.add();
  return false;
}

std::optional<RowInRing> RequestFeed::next() {
  const auto [first, second] = ring_.readable();
  if (second.empty()) return read_row(first);
  if (auto row = read_row(first)) return row;
  constexpr std::size_t kLongest = std::size_t{16} << 10;  // above the longest row
  joined_.assign(first).append(second.substr(0, kLongest));
  return read_row(joined_);
}

}  // namespace bloomwall::proxy
