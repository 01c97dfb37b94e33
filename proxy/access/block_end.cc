// SPDX-License-Identifier: Apache-2.0
#include "proxy/access/block_end.h"

#include <algorithm>
#include <utility>

#include "filter/policy/overrides.h"

namespace bloomwall::proxy {

void BlockEnds::adopt(std::shared_ptr<const GroupRules> rules, PolicyPtr all, std::span<const Switch> switches,
                      Instant now) {
  rules_ = std::move(rules);
  all_ = std::move(all);
  switches_.assign(switches.begin(), switches.end());
  begin_ = now;
  views_.clear();
  timelines_.clear();
}

std::size_t BlockEnds::place_of(filter::PolicyView view) {
  const auto known = std::ranges::find(views_, view, &View::view);
  if (known != views_.end()) return static_cast<std::size_t>(known - views_.begin());
  views_.push_back({.view = std::move(view), .policy = nullptr});
  return views_.size() - 1;
}

const filter::Policy& BlockEnds::policy_of(std::size_t view) {
  if (rules_ == nullptr) return *all_;
  View& asked = views_[view];
  if (asked.policy == nullptr) asked.policy = all_->is(asked.view) ? all_ : all_->view(asked.view);
  return *asked.policy;
}

const BlockEnds::Timeline& BlockEnds::timeline_of(std::size_t group) {
  const auto [known, is_new] = timelines_.try_emplace(group);
  Timeline& line = known->second;
  if (!is_new) return line;
  if (rules_ == nullptr) {
    line.push_back({.at = begin_, .view = 0});
    return line;
  }
  const Instant horizon = begin_ + Schedule::kHorizon;
  Instant at = begin_;
  for (std::size_t i = 0; i < kMostChanges && at < horizon; ++i) {
    const std::size_t view = place_of(rules_->view_at(group, at, switches_));
    if (line.empty() || line.back().view != view) line.push_back({.at = at, .view = view});
    at = rules_->next_change(group, at, switches_);
  }
  return line;
}

std::optional<Instant> BlockEnds::end_of(std::uint64_t exception) const {
  const auto end = all_->override_end(exception);
  return end && *end != filter::Override::kForever ? end : std::nullopt;
}

std::string BlockEnds::schedule_of(std::size_t group, const filter::Verdict& verdict, Instant now) const {
  if (rules_ == nullptr || verdict.filter == nullptr || verdict.reason == filter::VerdictReason::denied) return {};
  std::optional<std::size_t> filter;
  if (verdict.reason != filter::VerdictReason::default_deny) {
    const auto named = std::ranges::find(rules_->filters(), verdict.filter->name);
    if (named == rules_->filters().end()) return {};
    filter = static_cast<std::size_t>(named - rules_->filters().begin());
  }
  const Schedule* const schedule = rules_->schedule_of(group, filter, now, switches_);
  return schedule == nullptr ? std::string() : schedule->name();
}

// A deny is decisive whatever the view, and until its end nothing else is asked. What blocks in a view blocks in it
// later as well, since of the exceptions that allow only fewer are left then.
BlockEnd BlockEnds::of(std::size_t group, const filter::Verdict& verdict, Instant now, const Judge& judge) {
  const Timeline& line = timeline_of(group);
  auto next = std::ranges::upper_bound(line, now, {}, &Change::at);
  std::size_t view = next == line.begin() ? line.front().view : std::prev(next)->view;
  std::vector<bool> is_blocked(std::max<std::size_t>(views_.size(), 1));
  bool is_denied = verdict.reason == filter::VerdictReason::denied;
  is_blocked[view] = !is_denied;
  for (std::uint64_t exception = verdict.exception;;) {
    Instant at = 0;
    if (is_denied) {
      const auto end = end_of(exception);
      if (!end) return {};
      at = *end;
      for (; next != line.end() && next->at <= at; ++next) view = next->view;
    } else {
      if (next == line.end()) return {};
      at = next->at;
      view = (next++)->view;
    }
    if (is_blocked[view]) {
      is_denied = false;
      continue;
    }
    const auto then = judge(policy_of(view), at);
    if (!then) return {};
    if (then->decision != filter::Decision::blocked) return {.at = at, .schedule = schedule_of(group, verdict, now)};
    is_denied = then->reason == filter::VerdictReason::denied;
    if (is_denied && then->exception == exception) return {};  // it holds at its own end: no progress
    exception = then->exception;
    is_blocked[view] = !is_denied;
  }
}

}  // namespace bloomwall::proxy
