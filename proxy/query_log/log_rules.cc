// SPDX-License-Identifier: Apache-2.0
#include "proxy/query_log/log_rules.h"

#include <string>
#include <string_view>
#include <utility>

#include "filter/url/canonical_url.h"

namespace bloomwall::proxy {
namespace {

// Of a URL, or of what CONNECT names, that may not be one. Empty: it names no host.
std::string host_in(std::string_view url) {
  if (const auto scheme = url.find("://"); scheme != std::string_view::npos) url.remove_prefix(scheme + 3);
  url = url.substr(0, url.find_first_of("/?#"));
  url.remove_prefix(url.rfind('@') + 1);
  const auto bracket = url.rfind(']');
  const auto port = url.rfind(':');
  const bool has_port = port != std::string_view::npos && (bracket == std::string_view::npos || port > bracket);
  const std::string_view host = has_port ? url.substr(0, port) : url;
  filter::Canonicaliser canonicaliser;
  const filter::CanonicalUrl& canonical = canonicaliser.url(host);
  return canonical.has_canonical ? std::string(canonical.host) : std::string();
}

}  // namespace

conf::QueryLog::Record stored_requests(const conf::Config& settings) {
  const bool has_place = !settings.query_log.folder.empty() || !settings.state_dir.empty();
  return has_place ? settings.query_log.record : conf::QueryLog::Record::off;
}

tl::expected<LogRules, std::string> LogRules::compile(const conf::Config& settings) {
  LogRules rules;
  rules.record_ = stored_requests(settings);
  rules.clients_ = settings.query_log.clients;
  rules.strips_query_ = settings.query_log.strip_query;
  rules.log_strips_query_ = settings.log.access.strip_query;
  for (const conf::Group& group : settings.groups) {
    if (group.log != conf::Group::Log::all) rules.groups_.emplace(group.name, group.log);
  }
  auto excluded = BypassList::build(settings.query_log.exclude);
  if (!excluded) return tl::unexpected("query_log.exclude: no domain or network: " + excluded.error());
  rules.has_excluded_ = !settings.query_log.exclude.empty();
  rules.excluded_ = *std::move(excluded);
  return rules;
}

bool LogRules::may_keep(filter::Decision decision) const {
  using Record = conf::QueryLog::Record;
  return record_ == Record::all || (record_ == Record::blocked && decision == filter::Decision::blocked);
}

bool LogRules::is_private(const AccessRecord& record) const {
  const auto group = groups_.find(record.group);
  if (group != groups_.end()) {
    return group->second == conf::Group::Log::counted || record.decision != filter::Decision::blocked;
  }
  const RowDecision decision = decision_of(record);
  const bool has_failed = decision == RowDecision::refused || decision == RowDecision::rejected;
  return has_failed && record.group.empty() && !groups_.empty();
}

bool LogRules::is_excluded(const AccessRecord& record) const {
  if (!has_excluded_) return false;
  if (!record.sni.empty() && excluded_.contains(host_in(record.sni))) return true;
  return excluded_.contains(record.host.empty() ? host_in(record.url) : record.host);
}

RowUse LogRules::use_of(const AccessRecord& record) const {
  if (is_private(record) || is_excluded(record)) return {};
  return {.is_kept = may_keep(record.decision), .is_shown = true, .strips_query = strips_query_};
}

}  // namespace bloomwall::proxy
