// SPDX-License-Identifier: Apache-2.0
#include "proxy/state/report_item.h"

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "base/names.h"
#include "filter/kind.h"
#include "filter/policy/overrides.h"
#include "proxy/state/json_members.h"

namespace bloomwall::proxy {
namespace {

using nlohmann::ordered_json;
using ReportState = ReportItem::State;

constexpr auto kReportStates = name_table<ReportState>({{ReportState::open, "open"},
                                                        {ReportState::accepted, "accepted"},
                                                        {ReportState::rejected, "rejected"},
                                                        {ReportState::cured, "cured"}});
constexpr std::size_t kMostOctets = 4;  // of a character

struct ReportText {
  const char* name;
  std::string ReportItem::* member;
  std::size_t most;
  bool is_needed;
};
constexpr std::array<ReportText, 13> kReportTexts{{
    {"url", &ReportItem::url, ReportItem::kMaxUrl, true},
    {"host", &ReportItem::host, ReportItem::kMaxHost, false},
    {"filter", &ReportItem::filter, ReportItem::kMaxLabel, false},
    {"reason", &ReportItem::reason, ReportItem::kMaxLabel, false},
    {"expression", &ReportItem::expression, ReportItem::kMaxUrl, false},
    {"group", &ReportItem::group, ReportItem::kMaxLabel, false},
    {"client", &ReportItem::client, ReportItem::kMaxClient, false},
    {"user", &ReportItem::user, ReportItem::kMaxUser, false},
    {"decision", &ReportItem::decision, ReportItem::kMaxDecision, false},
    {"comment", &ReportItem::comment, ReportItem::kMaxComment* kMostOctets, false},
    {"name", &ReportItem::name, ReportItem::kMaxName* kMostOctets, false},
    {"reviewer", &ReportItem::reviewer, ReportItem::kMaxUser, false},
    {"words", &ReportItem::words, ReportItem::kMaxWords* kMostOctets, false},
}};

struct ReporterText {
  const char* name;
  std::string Reporter::* member;
  std::size_t most;
};
constexpr std::array<ReporterText, 5> kReporterTexts{{
    {"client", &Reporter::client, ReportItem::kMaxClient},
    {"user", &Reporter::user, ReportItem::kMaxUser},
    {"decision", &Reporter::decision, ReportItem::kMaxDecision},
    {"comment", &Reporter::comment, ReportItem::kMaxComment* kMostOctets},
    {"name", &Reporter::name, ReportItem::kMaxName* kMostOctets},
}};

ordered_json text_json(const std::string& text) { return text.empty() ? ordered_json() : ordered_json(text); }

// Which texts are wrong; empty: none.
std::string read_texts(const ordered_json& json, ReportItem& report) {
  for (const ReportText& text : kReportTexts) {
    std::string value = text_member(json, text.name).value_or("");
    if (value.size() > text.most || (text.is_needed && value.empty())) return text.name;
    report.*text.member = std::move(value);
  }
  return {};
}

ordered_json reporters_json(const ReportItem& report) {
  ordered_json all = ordered_json::array();
  for (const Reporter& reporter : report.reporters) {
    ordered_json json{{"number", reporter.number}};
    for (const ReporterText& text : kReporterTexts) json[text.name] = text_json(reporter.*text.member);
    json["last"] = time_text(reporter.last);
    json["count"] = reporter.count;
    all.push_back(std::move(json));
  }
  return all;
}

// False: something is wrong.
bool read_reporters(const ordered_json& json, ReportItem& report) {
  const auto all = json.find("reporters");
  if (all == json.end()) {  // of an older program
    report.reporters = {reporter_of(report)};
    report.reporters.front().count = report.count;
    return true;
  }
  if (!all->is_array() || all->size() > ReportItem::kMostReporters) return false;
  for (const ordered_json& item : *all) {
    const auto number = number_member(item, "number"), count = number_member(item, "count");
    const auto last = time_member(item, "last");
    if (!number || *number > ReportItem::kOneOfMany || !count || *count == 0 || !last) return false;
    Reporter reporter{.number = static_cast<std::uint32_t>(*number), .last = *last, .count = *count};
    for (const ReporterText& text : kReporterTexts) {
      std::string value = text_member(item, text.name).value_or("");
      if (value.size() > text.most) return false;
      reporter.*text.member = std::move(value);
    }
    report.reporters.push_back(std::move(reporter));
  }
  return true;
}

// What the report says of its first reporter.
void show_first(ReportItem& report) {
  if (report.reporters.empty()) return;
  const Reporter& first = report.reporters.front();
  report.client = first.client;
  report.user = first.user;
  report.decision = first.decision;
  report.comment = first.comment;
  report.name = first.name;
}

}  // namespace

const Reporter* ReportItem::find(std::uint32_t number) const {
  const auto at = std::ranges::find(reporters, number, &Reporter::number);
  return at == reporters.end() ? nullptr : &*at;
}

Reporter reporter_of(const ReportItem& report) {
  return {.client = report.client,
          .user = report.user,
          .decision = report.decision,
          .comment = report.comment,
          .name = report.name,
          .last = report.last};
}

// Where neither may be written down nobody is known to be the same.
void join_report(ReportItem& report, const ReportItem& newer) {
  report.last = std::max(report.last, newer.last);
  ++report.count;
  const auto is_same = [&](const Reporter& other) {
    const bool is_known = !newer.client.empty() || !newer.user.empty();
    return is_known && other.client == newer.client && other.user == newer.user;
  };
  const auto same = std::ranges::find_if(report.reporters, is_same);
  if (same != report.reporters.end()) {
    ++same->count;
    same->last = newer.last;
    if (!newer.comment.empty()) same->comment = newer.comment;
    if (!newer.name.empty()) same->name = newer.name;
    report.asker = same->number;
  } else if (report.reporters.size() < ReportItem::kMostReporters) {
    Reporter added = reporter_of(newer);
    for (const Reporter& other : report.reporters) added.number = std::max(added.number, other.number + 1);
    report.asker = added.number;
    report.reporters.push_back(std::move(added));
  } else {
    report.asker = ReportItem::kOneOfMany;
  }
  show_first(report);
}

bool opens_for(const filter::Override& made, const ReportItem& report, const Reporter* reporter) {
  if (!made.group.empty()) return made.group == report.group;
  if (!made.user.empty()) return reporter != nullptr && made.user == reporter->user;
  if (!made.client) return true;
  const auto client = reporter == nullptr ? std::nullopt : IpAddress::parse_host(reporter->client);
  return client && made.client->contains(*client);
}

std::optional<ReportItem> split_report(ReportItem& report, const filter::Override& made) {
  const auto is_opened = [&](const Reporter& reporter) { return opens_for(made, report, &reporter); };
  std::uint64_t known = 0, opened = 0;
  for (const Reporter& reporter : report.reporters) {
    known += reporter.count;
    opened += is_opened(reporter) ? reporter.count : 0;
  }
  const std::uint64_t many = report.count - std::min(known, report.count);  // without words of their own
  if (opens_for(made, report, nullptr)) opened += many;
  if (opened == 0 || opened >= report.count) return std::nullopt;
  ReportItem rest = report;
  std::erase_if(rest.reporters, is_opened);
  rest.count = report.count - opened;
  rest.id = 0;
  std::erase_if(report.reporters, [&](const Reporter& reporter) { return !is_opened(reporter); });
  report.count = opened;
  show_first(report);
  show_first(rest);
  return rest;
}

const char* to_string(ReportState state) { return kReportStates.text(state); }

std::optional<ReportItem::State> report_state_of(std::string_view text) { return kReportStates.parse(text); }

bool is_about_the_same(const ReportItem& a, const ReportItem& b) {
  return a.url == b.url && a.filter == b.filter && a.group == b.group;
}

ordered_json to_json(const ReportItem& report) {
  ordered_json json{{"id", report.id}, {"state", to_string(report.state)}};
  for (const ReportText& text : kReportTexts) {
    const std::string& value = report.*text.member;
    json[text.name] = text.is_needed ? ordered_json(value) : text_json(value);
  }
  json["first"] = time_text(report.first);
  json["last"] = time_text(report.last);
  json["count"] = report.count;
  json["decided"] = report.decided == 0 ? ordered_json() : ordered_json(time_text(report.decided));
  json["exception"] = report.exception == 0 ? ordered_json() : ordered_json(report.exception);
  json["until"] = end_json(report.until);
  json["until_build"] = report.until_build;
  json["reporters"] = reporters_json(report);
  json["moved"] = report.moved == 0 ? ordered_json() : ordered_json(report.moved);
  return json;
}

tl::expected<ReportItem, std::string> report_from(const ordered_json& json) {
  const auto refuse = [](std::string what) { return tl::unexpected(std::move(what)); };
  if (!json.is_object()) return refuse("no object");
  ReportItem report;
  const auto id = number_member(json, "id"), count = number_member(json, "count");
  const auto state = report_state_of(text_member(json, "state").value_or(""));
  if (!id || !count || *count == 0 || !state) return refuse("id, count and state are needed");
  report.id = *id;
  report.count = *count;
  report.state = *state;
  if (const std::string wrong = read_texts(json, report); !wrong.empty())
    return refuse(wrong + ": missing or too long");
  const auto first = time_member(json, "first"), last = time_member(json, "last");
  if (!first || !last) return refuse("first and last: times such as 2026-01-31T12:00:00Z are needed");
  report.first = *first;
  report.last = *last;
  report.decided = time_member(json, "decided").value_or(0);
  report.exception = number_member(json, "exception").value_or(0);
  const auto until = end_member(json);
  if (!until) return refuse("until: a time such as 2026-01-31T12:00:00Z, or null, is needed");
  report.until = *until;
  const auto until_build = json.find("until_build");
  report.until_build = until_build != json.end() && until_build->is_boolean() && until_build->get<bool>();
  if (!read_reporters(json, report)) return refuse("reporters: missing or too long");
  report.moved = number_member(json, "moved").value_or(0);
  return report;
}

std::string entry_of(const ReportItem& report) {
  constexpr std::string_view kUrlKinds = "UQD";
  const std::string_view expression = report.expression;
  const bool is_url = expression.size() > 2 && expression[1] == ' ' && kUrlKinds.find(expression[0]) != kUrlKinds.npos;
  return is_url ? "http://" + filter::text_to_type(expression.substr(2)) : report.host;
}

std::optional<filter::AddressRange> network_of(const ReportItem& report) {
  constexpr std::string_view kNetwork = "N ";
  if (!report.expression.starts_with(kNetwork)) return std::nullopt;
  const auto read = filter::read_address_range(std::string_view(report.expression).substr(kNetwork.size()));
  if (read.outcome != filter::RangeReading::Outcome::range) return std::nullopt;
  return read.range;
}

const ReportItem* find_report(const Reports& reports, std::uint64_t id) {
  const auto at = std::ranges::lower_bound(reports, id, {}, &ReportItem::id);
  return at == reports.end() || at->id != id ? nullptr : &*at;
}

}  // namespace bloomwall::proxy
