// SPDX-License-Identifier: Apache-2.0
#include "proxy/state/report_item.h"

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "filter/kind.h"
#include "filter/policy/overrides.h"
#include "proxy/state/json_members.h"

namespace bloomwall::proxy {
namespace {

using nlohmann::ordered_json;
using ReportState = ReportItem::State;

constexpr std::array<std::pair<ReportState, const char*>, 4> kReportStates{{{ReportState::open, "open"},
                                                                            {ReportState::accepted, "accepted"},
                                                                            {ReportState::rejected, "rejected"},
                                                                            {ReportState::cured, "cured"}}};
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

}  // namespace

const char* to_string(ReportState state) {
  for (const auto& [known, name] : kReportStates) {
    if (known == state) return name;
  }
  return "unknown";
}

std::optional<ReportItem::State> report_state_of(std::string_view text) {
  const auto at =
      std::ranges::find(kReportStates, text, [](const auto& each) { return std::string_view(each.second); });
  if (at == kReportStates.end()) return std::nullopt;
  return at->first;
}

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
