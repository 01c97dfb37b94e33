// SPDX-License-Identifier: Apache-2.0
#include "proxy/api/reports_api.h"

#include <fmt/format.h>

#include <algorithm>
#include <ctime>
#include <initializer_list>
#include <nlohmann/json.hpp>
#include <ranges>
#include <utility>

#include "base/terminal.h"
#include "base/units.h"
#include "proxy/api/api_reply.h"
#include "proxy/api/build_review.h"
#include "proxy/api/json_body.h"
#include "proxy/decision/snapshot.h"
#include "proxy/log/log.h"
#include "proxy/state/json_members.h"
#include "proxy/state/plain_text.h"

namespace bloomwall::proxy {
namespace {

using nlohmann::ordered_json;

constexpr std::string_view kReportsPath = "/api/v1/reports", kAcceptPath = "/api/v1/reports/{id}/accept",
                           kRejectPath = "/api/v1/reports/{id}/reject";
constexpr std::int64_t kDay = std::int64_t{24} * 3600;
constexpr std::size_t kMaxCommentInWhy = 100;  // characters

HttpReply not_accepted(std::string_view detail) { return problem(400, "The report cannot be accepted", detail); }
HttpReply no_such_report() { return problem(404, "No such report", "there is no report of this number"); }
HttpReply not_yours(std::string_view detail) { return problem(403, "Not allowed", detail); }

// An empty body stands for one without members. Error: what is wrong.
tl::expected<ordered_json, std::string> read_members(std::string_view body,
                                                     std::initializer_list<std::string_view> known) {
  if (body.empty()) return ordered_json::object();
  auto json = read_json_body(body);
  if (!json) return json;
  for (const auto& [name, value] : json->items()) {
    if (std::ranges::find(known, name) != known.end()) continue;
    return tl::unexpected(fmt::format("{}: no such member", printable(name)));
  }
  return json;
}

// Nothing is said: empty. Error: it is no text, or longer than it may be.
tl::expected<std::string, std::string> read_words(const ordered_json& json) {
  if (!json.contains("words") || json["words"].is_null()) return std::string();
  const auto words = text_member(json, "words");
  if (!words || words->size() > 4 * ReportItem::kMaxWords) {
    return tl::unexpected(fmt::format("words: a text of at most {} characters is needed", ReportItem::kMaxWords));
  }
  return plain_text(*words, ReportItem::kMaxWords);
}

// Whom it is for. Empty: fine; else what is wrong.
std::string read_scope(const ordered_json& json, const ReportItem& report, filter::Override& made) {
  if (const char* const name = member_that_is_no_text(json, {"scope", "group"}); name != nullptr) {
    return fmt::format("{}: a text, or null, is needed", name);
  }
  const std::string group = text_member(json, "group").value_or("");
  std::string scope = text_member(json, "scope").value_or("");
  if (scope.empty()) scope = group.empty() && report.group.empty() ? "all" : "group";
  if (scope == "group") {
    made.group = group.empty() ? report.group : group;
    if (made.group.empty()) return "scope: the report is of no group";
    if (made.group.size() > ExceptionItem::kMaxName) return "group: at most 64 octets";
    return {};
  }
  if (!group.empty()) return "group: goes with the scope group only";
  if (scope == "client") {
    const bool is_network = report.client.find('/') != std::string::npos;  // as the settings have clients written
    return !is_network && set_client(made, report.client) && made.client ? "" : "scope: its client is not known";
  }
  return scope == "all" ? "" : "scope: client, group or all";
}

// When it ends. Empty: fine; else what is wrong.
std::string read_end(const ordered_json& json, const ReportItem& report, std::int64_t now, ExceptionItem& item) {
  const auto until_build = json.find("until_build");
  if (until_build != json.end() && !until_build->is_boolean()) return "until_build: true or false is needed";
  const bool wants_build = until_build != json.end() && until_build->get<bool>();
  const bool has_end = json.contains("until");
  item.until_build = wants_build || (!has_end && until_build == json.end() && !item.exception.filters.empty());
  if (wants_build && report.filter.empty()) return "until_build: no filter has blocked it";
  item.exception.until = item.until_build ? filter::Override::kForever : now + kDay;
  if (!has_end) return {};
  const auto until = end_member(json);
  if (!until) return "until: a time such as 2026-01-31T12:00:00Z, or null, is needed";
  if (*until <= now) return "until: has passed already";
  item.exception.until = *until;
  return {};
}

// An exception for another host would not open the page, though its reader is told so.
bool is_of_host(const filter::Override& made, std::string_view host) {
  const std::string_view above = std::string_view(made.entry).substr(0, made.entry.find('/'));
  return host.ends_with(above) && (host.size() == above.size() || host[host.size() - above.size() - 1] == '.');
}

// One that can work. Where what is on no list is stopped it is against everything, and no build makes it needless.
tl::expected<ExceptionItem, std::string> read_exception(const ordered_json& json, const ReportItem& report,
                                                        const ExceptionReview& review, std::int64_t now) {
  ExceptionItem item;
  filter::Override& made = item.exception;
  made.action = filter::Override::Action::allow;
  if (std::string wrong = read_scope(json, report, made); !wrong.empty()) return tl::unexpected(std::move(wrong));
  if (member_that_is_no_text(json, {"entry"}) != nullptr) {
    return tl::unexpected(std::string("entry: a text, or null, is needed"));
  }
  const std::string entry = text_member(json, "entry").value_or(entry_of(report));
  if (entry.empty() || entry.size() > ExceptionItem::kMaxEntry + 7) {
    return tl::unexpected(fmt::format("entry: a text of 1 to {} octets is needed", ExceptionItem::kMaxEntry));
  }
  if (const auto read = filter::read_override(entry, made); !read) return tl::unexpected("entry: " + read.error().what);
  if (!is_of_host(made, report.host)) {
    return tl::unexpected(fmt::format("entry: {} does not open a page of {}", made.entry, report.host));
  }
  if (!report.filter.empty()) {
    made.filters = {report.filter};
    if (!review.widen(made, made.group.empty() ? report.group : made.group, network_of(report))) made.filters.clear();
  }
  if (std::string wrong = read_end(json, report, now, item); !wrong.empty()) return tl::unexpected(std::move(wrong));
  item.created = now;
  const std::string comment = plain_text(report.comment, kMaxCommentInWhy);
  item.why = fmt::format("report {}{}{}", report.id, comment.empty() ? "" : ": ", comment);
  return item;
}

// What a reviewer of some groups alone may not do; empty: it may.
std::string forbidden_to(const Caller& caller, const ReportItem& report, const filter::Override& made) {
  if (caller.may_change(made.group)) return {};
  if (made.client && caller.may_change(report.group)) return {};  // who was in that group when it was blocked
  return made.group.empty() ? "only what is for your groups can be accepted: give the scope group or client"
                            : fmt::format("{} is none of your groups", printable(made.group));
}

ordered_json shown(const ReportItem& report, const State& state) {
  ordered_json json = to_json(report);
  json["opens"] = entry_of(report);
  const ExceptionItem* const exception = report.exception == 0 ? nullptr : state.find(report.exception);
  json["insists"] = report.state == ReportItem::State::accepted && exception != nullptr && exception->until_build &&
                    exception->builds >= ExceptionItem::kInsists;
  return json;
}

}  // namespace

std::vector<ApiRoute> ReportsApi::routes() {
  return {{.method = "GET",
           .path = kReportsPath,
           .role = Role::reviewer,
           .handler = [this](const ApiRequest& request) { return list(request); }},
          {.method = "POST",
           .path = kAcceptPath,
           .role = Role::reviewer,
           .handler = [this](const ApiRequest& request) { return accept(request); },
           .most_body = kMostApiBody},
          {.method = "POST",
           .path = kRejectPath,
           .role = Role::reviewer,
           .handler = [this](const ApiRequest& request) { return reject(request); },
           .most_body = kMostApiBody}};
}

HttpReply ReportsApi::list(const ApiRequest& request) const {
  const std::string wanted = query_argument(request.http.head, "state");
  const std::string cursor_text = query_argument(request.http.head, "cursor");
  const auto cursor =
      cursor_text.empty() ? std::optional<std::uint64_t>(~std::uint64_t{0}) : parse_integer(cursor_text);
  if (!cursor) return problem(400, "Not understood", "cursor: what the page before said is next");
  if (!wanted.empty() && !report_state_of(wanted)) {
    return problem(400, "Not understood", "state: open, accepted, rejected or cured");
  }
  ordered_json items = ordered_json::array();
  std::uint64_t last = 0;
  for (const ReportItem& report : *state_.state().reports | std::views::reverse) {
    const bool is_wanted = wanted.empty() || wanted == to_string(report.state);
    if (report.id >= *cursor || !is_wanted || !request.caller.may_change(report.group)) continue;
    if (items.size() == kPage) return list_reply(std::move(items), std::to_string(last));
    items.push_back(shown(report, state_.state()));
    last = report.id;
  }
  return list_reply(std::move(items));
}

HttpReply ReportsApi::accept(const ApiRequest& request) {
  if (!served_.takes_changes()) return ending_problem();
  const auto id = parse_integer(request.http.arguments.front());
  const ReportItem* const report = id ? find_report(*state_.state().reports, *id) : nullptr;
  if (report == nullptr) return no_such_report();
  if (!request.caller.may_change(report->group)) return not_yours("the report is of none of your groups");
  const auto json = read_members(request.http.body, {"scope", "group", "until", "until_build", "entry", "words"});
  if (!json) return not_accepted(json.error());
  const auto words = read_words(*json);
  if (!words) return not_accepted(words.error());
  auto item = read_exception(*json, *report, review(), std::time(nullptr));
  if (!item) return not_accepted(item.error());
  if (const std::string why = forbidden_to(request.caller, *report, item->exception); !why.empty())
    return not_yours(why);
  if (const std::string refusal = review().refusal(item->exception); !refusal.empty()) {
    return problem(409, "The exception would have no effect", refusal);
  }
  if (item->until_build) item->seen = builds_of(item->exception, served_.edition().policy.get());
  const bool is_asked = state_.ask([id = *id, item = *std::move(item), words = *words, author = request.caller.author](
                                       StateStore& store) { return store.accept_report(id, item, words, author); },
                                   [this, asker = request.http.stream](const StateResult<StateStore::Accepted>& done) {
                                     if (!done) return asker.reply(problem_of(done.error()));
                                     publish(*done, asker);
                                   });
  return is_asked ? HttpReply{.is_later = true} : crowded_problem();
}

// Answered once every worker asks the exception.
void ReportsApi::publish(const StateStore::Accepted& done, const HttpStream& asker) {
  ++counts_.accepted;
  log::info("report {}: accepted by {}, exception {}", done.report.id, printable(done.report.reviewer),
            done.report.exception);
  served_.publish([this, done, asker] {
    ordered_json warnings = ordered_json::array();
    for (const std::string& warning : review().warnings(done.exception.exception)) warnings.push_back(warning);
    asker.reply(json_reply({{"item", shown(done.report, state_.state())},
                            {"exception", to_json(done.exception)},
                            {"warnings", std::move(warnings)}}));
    accepted_(done.report);
  });
}

HttpReply ReportsApi::reject(const ApiRequest& request) {
  if (!served_.takes_changes()) return ending_problem();
  const auto id = parse_integer(request.http.arguments.front());
  const ReportItem* const report = id ? find_report(*state_.state().reports, *id) : nullptr;
  if (report == nullptr) return no_such_report();
  if (!request.caller.may_change(report->group)) return not_yours("the report is of none of your groups");
  const auto json = read_members(request.http.body, {"words"});
  const auto words = json ? read_words(*json) : tl::expected<std::string, std::string>(tl::unexpected(json.error()));
  if (!words) return problem(400, "The report cannot be rejected", words.error());
  const bool is_asked = state_.ask([id = *id, words = *words, author = request.caller.author](
                                       StateStore& store) { return store.reject_report(id, words, author); },
                                   [this, asker = request.http.stream](const StateResult<ReportItem>& done) {
                                     if (!done) return asker.reply(problem_of(done.error()));
                                     ++counts_.rejected;
                                     log::info("report {}: rejected by {}", done->id, printable(done->reviewer));
                                     asker.reply(json_reply({{"item", shown(*done, state_.state())}}));
                                   });
  return is_asked ? HttpReply{.is_later = true} : crowded_problem();
}

ReportFigures report_figures(const Reports& reports, std::int64_t now) {
  ReportFigures figures;
  for (const ReportItem& report : reports) {
    if (report.state != ReportItem::State::open) continue;
    ++figures.open;
    figures.oldest_seconds = std::max(figures.oldest_seconds, now - report.first);
  }
  return figures;
}

}  // namespace bloomwall::proxy
