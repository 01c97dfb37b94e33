// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "base/terminal.h"
#include "proxy/api/http_client.h"
#include "proxy/cli/commands.h"
#include "proxy/cli/lasting_text.h"
#include "proxy/reload/loading.h"
#include "proxy/state/exception_item.h"
#include "proxy/state/json_members.h"
#include "proxy/state/report_item.h"

namespace bloomwall::proxy {
namespace {

using nlohmann::ordered_json;

std::string state_text(const ordered_json& json, const ReportItem& report) {
  const bool insists = json.value("insists", ordered_json()) == true;
  return insists ? "accepted, the list insists" : to_string(report.state);
}

std::string people_of(const ReportItem& report) {
  std::string out = report.user.empty() ? "client " + report.client : "user " + report.user;
  if (!report.group.empty()) out += " of " + report.group;
  if (!report.name.empty()) out += fmt::format(" ({})", report.name);
  return out;
}

bool print_report(const ordered_json& json, const PeopleTime& time, const Streams& io) {
  const auto report = report_from(json);
  if (!report) {
    print_lines(io.err, {"the running proxy is of another version: " + report.error()});
    return false;
  }
  const std::string by = report->filter.empty() ? report->reason : report->filter + " " + report->expression;
  io.out << fmt::format("{}\t{}\t{}\t{}\t{}\t{}\t{}\t{}\n", report->id, state_text(json, *report), report->count,
                        time.text(report->last), printable(by), printable(report->url), printable(people_of(*report)),
                        printable(report->comment));
  // The first one's words are in the line above.
  for (std::size_t i = 1; i < report->reporters.size(); ++i) {
    const Reporter& also = report->reporters[i];
    ReportItem shown;
    shown.client = also.client;
    shown.user = also.user;
    shown.name = also.name;
    io.out << fmt::format("\t\t{}\t{}\t\t\t{}\t{}\n", also.count, time.text(also.last), printable(people_of(shown)),
                          printable(also.comment));
  }
  return true;
}

// The answer to a decision, printed.
int decide(const ReportCommand& command, const char* decision, const ordered_json& json, const Streams& io) {
  const std::string path = fmt::format("/api/v1/reports/{}/{}", command.id, decision), body = json_line(json);
  const auto answer = ask_running(command.config, {.method = "POST", .path = path, .body = body}, io);
  if (!answer) return answer.error();
  if (!print_report(answer->value("item", ordered_json()), PeopleTime(command.config), io)) return kExitError;
  if (const auto item = exception_from(answer->value("exception", ordered_json()))) {
    io.out << fmt::format("exception {}: allow {} {}\n", item->exception.id, static_cast<char>(item->exception.kind),
                          printable(item->exception.entry));
  }
  return kExitDone;
}

}  // namespace

// All pages, so that programs need not know of them.
int run_reports(const ReportsCommand& command, const Streams& io) {
  ordered_json all{{"items", ordered_json::array()}};
  const PeopleTime time(command.config);
  std::string cursor;
  do {
    const std::string path = fmt::format("/api/v1/reports?state={}&cursor={}", command.all ? "" : "open", cursor);
    const auto answer = ask_running(command.config, {.method = "GET", .path = path}, io);
    if (!answer) return answer.error();
    for (const ordered_json& item : answer->value("items", ordered_json::array())) {
      all["items"].push_back(item);
      if (!command.json && !print_report(item, time, io)) return kExitError;
    }
    cursor = text_member(*answer, "next").value_or("");
  } while (!cursor.empty());
  all["next"] = nullptr;
  if (command.json) print_json(io.out, all);
  return kExitDone;
}

int run_report_accept(const ReportCommand& command, const Streams& io) {
  ordered_json json = ordered_json::object();
  if (!command.scope.empty()) json["scope"] = command.scope;
  if (!command.group.empty()) json["group"] = command.group;
  if (!command.entry.empty()) json["entry"] = command.entry;
  if (!command.why.empty()) json["words"] = command.why;
  if (command.until_build) json["until_build"] = true;
  if (!command.lasts.empty()) {
    const auto end = end_after(command.lasts);
    if (!end) {
      print_lines(io.err, {end.error()});
      return kExitError;
    }
    json["until"] = *end;
  }
  return decide(command, "accept", json, io);
}

int run_report_reject(const ReportCommand& command, const Streams& io) {
  ordered_json json = ordered_json::object();
  if (!command.why.empty()) json["words"] = command.why;
  return decide(command, "reject", json, io);
}

}  // namespace bloomwall::proxy
