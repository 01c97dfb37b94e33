// SPDX-License-Identifier: Apache-2.0
#include "proxy/query_log/day_search.h"

#include <algorithm>
#include <utility>

#include "proxy/query_log/day_file.h"

namespace bloomwall::proxy {
namespace {

constexpr unsigned kRowsBetweenLooks = 256;  // at the clock
// Rows are not always in the order of time: the clock may have been set, and the end of a tunnel is its beginning by
// the clock of then and how long the machine was awake since. A search for newer ones ends after so many older ones.
constexpr unsigned kMostOlderRows = 1000;

// The columns of every statement of a source, in this order.
enum Column : int {
  kId,
  kAt,
  kDuration,
  kHost,
  kClient,
  kUser,
  kGroup,
  kMethod,
  kReason,
  kFilter,
  kExpression,
  kBefore,
  kRest,
  kStatus,
  kDecision,
  kDecisionId,
  kSent,
  kReceived,
  kTunnel
};
constexpr const char* kRows =
    "SELECT id, at, duration, host, client, user, grp, method, reason, filter, expression, before, rest, status, "
    "decision, decision_id, sent, received, tunnel FROM requests WHERE ";
constexpr const char* kBelow = " AND id < ? ORDER BY id DESC";

}  // namespace

DaySearch::DaySearch(const RequestQuery& query, const SearchLimits& limits, Clock::time_point deadline)
    : query_(query), limits_(limits), deadline_(deadline) {}

DaySearch::End DaySearch::run(const std::filesystem::path& file, std::int64_t below, std::vector<RequestRow>& found) {
  if (!open(file)) return is_late() ? End::late : End::unreadable;
  const bool may_match = find_names() && find_hosts();
  if (has_failed_) return is_late() ? End::late : End::unreadable;
  if (!may_match) return End::done;
  choose_sources(below);
  return collect(found);
}

bool DaySearch::open(const std::filesystem::path& file) {
  auto opened = Database::open(file, Database::Use::existing);
  if (!opened) return false;
  database_.emplace(*std::move(opened));
  database_->set_deadline(deadline_);
  if (!database_->run("PRAGMA query_only=1")) return false;
  Statement version(*database_, "PRAGMA user_version");
  return version.next() && version.integer(0) == DayFile::kVersion;
}

// False: one that is asked for does not occur on this day.
bool DaySearch::find_names() {
  bool are_known = true;
  const auto find = [&](const std::string& name, std::int64_t& id) {
    if (name.empty() || !are_known || has_failed_) return;
    Statement found(*database_, "SELECT id FROM names WHERE name = ?", {std::string_view(name)});
    are_known = found.next();
    if (are_known) id = found.integer(0);
    has_failed_ = !found.error().empty();
  };
  for (const std::string* const name : {&query_.client, &query_.masked_client}) {
    std::int64_t id = 0;
    find(*name, id);
    if (id != 0 && std::ranges::find(clients_, id) == clients_.end()) clients_.push_back(id);
    are_known = true;  // one of the two is enough
  }
  if (!query_.client.empty() && clients_.empty()) return false;
  find(query_.user, user_);
  find(query_.filter, filter_);
  find(query_.group, group_);
  return are_known;
}

bool DaySearch::find_hosts() {
  if (query_.host.empty()) return true;
  Statement found(*database_, "SELECT id FROM hosts WHERE instr(name, ?) > 0", {std::string_view(query_.host)});
  while (found.next()) hosts_.push_back(found.integer(0));
  has_failed_ = !found.error().empty();
  std::ranges::sort(hosts_);
  hosts_are_sources_ = hosts_.size() <= kMostMerged;
  return !hosts_.empty();
}

// By what is asked for and most telling.
void DaySearch::choose_sources(std::int64_t below) {
  if (!query_.id.empty()) {
    return add_source("decision_id <> '' AND decision_id = ?", std::string_view(query_.id), below);
  }
  if (!hosts_.empty() && hosts_are_sources_) {
    for (const std::int64_t host : hosts_) add_source("host = ?", host, below);
    return;
  }
  if (filter_ != 0) return add_source("filter <> 0 AND filter = ?", filter_, below);
  if (!clients_.empty()) {
    for (const std::int64_t client : clients_) add_source("client = ?", client, below);
    return;
  }
  if (query_.decision && *query_.decision != RowDecision::allowed) {
    return add_source("decision <> 0 AND decision = ?", std::int64_t{static_cast<std::uint8_t>(*query_.decision)},
                      below);
  }
  add_source("0 = ?", std::int64_t{0}, below);
}

void DaySearch::add_source(const char* condition, SqlValue value, std::int64_t below) {
  const std::string sql = std::string(kRows) + condition + kBelow;
  auto source = std::make_unique<Source>(Source{.rows = Statement(*database_, sql.c_str(), {value, below})});
  if (step(*source)) sources_.push_back(std::move(source));
}

bool DaySearch::step(Source& source) {
  if (source.rows.next()) {
    source.row = source.rows.integer(kId);
    return true;
  }
  has_failed_ = has_failed_ || !source.rows.error().empty();
  return false;
}

// The one whose row is the newest. Few sources as a rule, and at most kMostMerged.
DaySearch::Source* DaySearch::next_source() {
  const auto newest = std::ranges::max_element(sources_, {}, [](const auto& source) { return source->row; });
  return newest == sources_.end() ? nullptr : newest->get();
}

DaySearch::End DaySearch::collect(std::vector<RequestRow>& found) {
  for (unsigned looked = 1; Source* const source = next_source(); ++looked) {
    if (has_failed_) break;
    last_row_ = source->row;
    last_time_ = source->rows.integer(kAt);
    older_rows_ = *last_time_ < query_.since ? older_rows_ + 1 : 0;
    if (older_rows_ > kMostOlderRows) return End::done;
    if (matches(source->rows)) found.push_back(read(source->rows));
    if (found.size() >= limits_.rows) return End::full;
    if (looked % kRowsBetweenLooks == 0 && is_late()) return End::late;
    if (!step(*source)) std::erase_if(sources_, [&](const auto& each) { return each.get() == source; });
  }
  if (!has_failed_) return End::done;
  return is_late() ? End::late : End::unreadable;
}

bool DaySearch::matches(const Statement& row) const {
  const auto is = [&](std::int64_t wanted, Column column) { return wanted == 0 || row.integer(column) == wanted; };
  if (row.integer(kAt) < query_.since) return false;
  if (!clients_.empty() && std::ranges::find(clients_, row.integer(kClient)) == clients_.end()) return false;
  if (!is(user_, kUser) || !is(filter_, kFilter) || !is(group_, kGroup)) return false;
  if (query_.decision && row.integer(kDecision) != static_cast<std::uint8_t>(*query_.decision)) return false;
  if (!query_.id.empty() && row.text(kDecisionId) != query_.id) return false;
  if (!query_.host.empty() && !hosts_are_sources_ && !std::ranges::binary_search(hosts_, row.integer(kHost)))
    return false;
  return query_.path.empty() || row.text(kRest).find(query_.path) != std::string::npos;
}

RequestRow DaySearch::read(const Statement& row) {
  const auto name = [&](Column column) {
    return text_of("SELECT name FROM names WHERE id = ?", row.integer(column), names_);
  };
  const auto number = [](std::int64_t value, std::int64_t most) {  // a file may be damaged and say anything
    return value < 0 || value > most ? 0 : value;
  };
  RequestRow out;
  out.at = row.integer(kAt);
  out.microseconds = row.integer(kDuration);
  out.bytes_sent = static_cast<std::uint64_t>(row.integer(kSent));
  out.bytes_received = static_cast<std::uint64_t>(row.integer(kReceived));
  out.status = static_cast<int>(number(row.integer(kStatus), 999));
  out.decision = static_cast<RowDecision>(number(row.integer(kDecision), kRowDecisions - 1));
  out.is_tunnel = row.integer(kTunnel) != 0;
  out.id = row.text(kDecisionId);
  out.host = text_of("SELECT name FROM hosts WHERE id = ?", row.integer(kHost), host_names_);
  out.client = name(kClient);
  out.user = name(kUser);
  out.group = name(kGroup);
  out.method = name(kMethod);
  out.reason = name(kReason);
  out.filter = name(kFilter);
  out.expression = name(kExpression);
  out.url = joined_url(static_cast<UrlBefore>(number(row.integer(kBefore), 3)), out.host, row.text(kRest));
  return out;
}

std::string DaySearch::text_of(const char* sql, std::int64_t id, std::map<std::int64_t, std::string>& known) {
  if (id == 0) return {};
  const auto [at, is_new] = known.try_emplace(id);
  if (is_new) {
    Statement found(*database_, sql, {id});
    if (found.next()) at->second = found.text(0);
  }
  return at->second;
}

bool DaySearch::is_late() const { return Clock::now() >= deadline_ || (limits_.stop && limits_.stop()); }

}  // namespace bloomwall::proxy
