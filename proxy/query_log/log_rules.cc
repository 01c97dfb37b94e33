// SPDX-License-Identifier: Apache-2.0
#include "proxy/query_log/log_rules.h"

#include <utility>

namespace bloomwall::proxy {

tl::expected<LogRules, std::string> LogRules::compile(const conf::Config& settings) {
  LogRules rules;
  const bool has_place = !settings.query_log.folder.empty() || !settings.state_dir.empty();
  if (has_place) rules.record_ = settings.query_log.record;
  rules.strips_query_ = settings.query_log.strip_query;
  for (const conf::Group& group : settings.groups) {
    if (group.log != conf::Group::Log::all) rules.groups_.emplace(group.name, group.log);
  }
  auto excluded = BypassList::build(settings.query_log.exclude);
  if (!excluded) return tl::unexpected("query_log.exclude: no domain or network: " + excluded.error());
  rules.excluded_ = *std::move(excluded);
  return rules;
}

bool LogRules::may_keep(filter::Decision decision) const {
  using Record = conf::QueryLog::Record;
  return record_ == Record::all || (record_ == Record::blocked && decision == filter::Decision::blocked);
}

RowUse LogRules::use_of(const AccessRecord& record) const {
  const bool is_blocked = record.decision == filter::Decision::blocked;
  if (const auto group = groups_.find(record.group); group != groups_.end()) {
    if (group->second == conf::Group::Log::counted || !is_blocked) return {};
  }
  if (excluded_.contains(record.host)) return {};
  return {.is_kept = may_keep(record.decision), .is_shown = true, .strips_query = strips_query_};
}

}  // namespace bloomwall::proxy
