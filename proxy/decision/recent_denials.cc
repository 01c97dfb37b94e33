// SPDX-License-Identifier: Apache-2.0
#include "proxy/decision/recent_denials.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <ctime>
#include <iterator>
#include <utility>

#include "proxy/auth/user.h"
#include "proxy/decision/client_info.h"
#include "proxy/decision/request_log.h"
#include "proxy/decision/self_request.h"
#include "proxy/decision/self_service.h"
#include "proxy/decision/worker_state.h"
#include "proxy/http/escape.h"
#include "proxy/query_log/written_form.h"

namespace bloomwall::proxy {
namespace {

std::size_t octets_of(const RecentDenial& denial) {
  const ReportFacts& facts = denial.facts;
  return sizeof(RecentDenial) + facts.url.size() + facts.expression.size() + facts.host.size() + facts.user.size() +
         denial.category.size() + denial.end.schedule.size();
}

bool is_same(const RecentDenial& a, const RecentDenial& b) {
  return a.facts.url == b.facts.url && a.facts.filter == b.facts.filter && a.is_connection == b.is_connection;
}

// "https://shop.test/" of "shop.test:443": what a person has opened.
std::string url_of_connection(std::string_view authority) {
  constexpr std::string_view kPort = ":443";
  if (!authority.ends_with(kPort)) return std::string(authority);
  return fmt::format("https://{}/", authority.substr(0, authority.size() - kPort.size()));
}

std::string category_of(const KeptVerdict& verdict) {
  return verdict.filter == nullptr ? std::string() : verdict.filter->category;
}

}  // namespace

void RecentDenials::forget(Shard& shard, Client& client, std::list<Kept>::iterator which) {
  const std::size_t octets = octets_of(which->denial);
  client.octets -= octets;
  shard.octets -= octets;
  client.denials.erase(which);
}

void RecentDenials::drop_last(Shard& shard) {
  shard.octets -= shard.clients.back().octets;
  shard.by_name.erase(shard.clients.back().whose);
  shard.clients.pop_back();
}

void RecentDenials::note(const std::string& whose, RecentDenial denial) {
  constexpr std::size_t kOfClient = 256;  // the entry itself
  Shard& shard = shards_[shard_of(whose)];
  const std::lock_guard lock(shard.mutex);
  const auto known = shard.by_name.find(whose);
  if (known == shard.by_name.end()) {
    shard.clients.push_front({.whose = whose, .denials = {}, .octets = kOfClient});
    shard.octets += kOfClient;
    shard.by_name.emplace(shard.clients.front().whose, shard.clients.begin());
  } else {
    shard.clients.splice(shard.clients.begin(), shard.clients, known->second);
  }
  Client& client = shard.clients.front();
  const auto same =
      std::ranges::find_if(client.denials, [&](const Kept& kept) { return is_same(kept.denial, denial); });
  if (same != client.denials.end()) {
    if (clock_() - same->noted < kFor) denial.count += same->denial.count;
    forget(shard, client, same);
  }
  const std::size_t octets = octets_of(denial);
  client.octets += octets;
  shard.octets += octets;
  client.denials.push_front({clock_(), std::move(denial)});
  if (client.denials.size() > kMost) forget(shard, client, std::prev(client.denials.end()));
  while (shard.octets > kMostOctets / kShards) drop_last(shard);
}

std::vector<RecentDenial> RecentDenials::of(const std::string& whose) const {
  const Shard& shard = shards_[shard_of(whose)];
  const std::lock_guard lock(shard.mutex);
  std::vector<RecentDenial> recent;
  const auto known = shard.by_name.find(whose);
  if (known == shard.by_name.end()) return recent;
  for (const Kept& kept : known->second->denials) {
    if (clock_() - kept.noted < kFor) recent.push_back(kept.denial);
  }
  return recent;
}

void RecentDenials::clear() {
  for (Shard& shard : shards_) {
    const std::lock_guard lock(shard.mutex);
    shard.by_name.clear();
    shard.clients.clear();
    shard.octets = 0;
  }
}

std::string whose_denials(const ClientInfo& client, const User* user) {
  return user != nullptr ? "user " + user->name : "address " + client.endpoint.unmapped().ip();
}

ReportFacts facts_of(const DeniedRequest& denied) {
  const KeptVerdict& verdict = denied.verdict;
  const bool is_by_filter = verdict.filter != nullptr && verdict.reason != filter::VerdictReason::denied &&
                            verdict.reason != filter::VerdictReason::default_deny;
  ReportFacts facts{.decision_id = std::string(denied.decision_id),
                    .host = std::string(denied.host),
                    .filter = is_by_filter ? verdict.filter->name : std::string(),
                    .reason = filter::to_string(verdict.reason),
                    .group = verdict.group,
                    .user = denied.user == nullptr ? std::string() : denied.user->name,
                    .client = denied.client.address};
  append_url(facts.url, denied.url.substr(0, ReportFacts::kMaxUrl));
  if (!verdict.expression.empty())
    facts.expression = fmt::format("{} {}", static_cast<char>(verdict.kind), verdict.expression);
  return facts;
}

std::string ticket_of(const WorkerState& worker, const Snapshot& snapshot, const ClientInfo& client,
                      ReportFacts facts) {
  AccessRecord record;
  record.start = std::chrono::system_clock::now();
  record.client = facts.client;
  record.user = facts.user;
  record.url = facts.url;
  record.expression = facts.expression;
  record.group = facts.group;
  record.host = facts.host;
  record.decision = filter::Decision::blocked;
  WrittenForm form = written_form(record, snapshot.query_log, worker.mask);
  facts.client = std::move(form.client);
  facts.user = std::move(form.user);
  facts.url = std::move(form.url);
  facts.expression = std::move(form.expression);
  return worker.self_service->tickets().make(facts, report_client(client.endpoint), std::time(nullptr));
}

void note_denial(WorkerState& worker, const DeniedRequest& denied, bool is_connection) {
  if (worker.recent_denials == nullptr || !worker.snapshot->settings.self_page.recent) return;
  const std::string url = is_connection ? url_of_connection(denied.url) : std::string();
  DeniedRequest shown = denied;
  if (is_connection) shown.url = url;
  worker.recent_denials->note(whose_denials(denied.client, denied.user), {.facts = facts_of(shown),
                                                                          .at = std::chrono::system_clock::now(),
                                                                          .is_connection = is_connection,
                                                                          .reason = denied.verdict.reason,
                                                                          .category = category_of(denied.verdict),
                                                                          .end = denied.end});
}

}  // namespace bloomwall::proxy
