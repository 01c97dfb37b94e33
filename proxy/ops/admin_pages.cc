// SPDX-License-Identifier: Apache-2.0
#include "proxy/ops/admin_pages.h"

#include <fmt/format.h>

#include <algorithm>

#include "proxy/io/endpoint.h"

namespace bloomwall::proxy {
namespace {

struct Answer {
  int status = 200;
  std::string_view type = "text/plain; charset=utf-8";
  std::string body;
  std::string_view more_fields = {};  // each with its CRLF
};

void write(std::string& out, const Answer& answer, bool with_body, TimePoint now) {
  fmt::format_to(std::back_inserter(out),
                 "HTTP/1.1 {} {}\r\nDate: {}\r\nServer: bloomwall\r\nContent-Type: {}\r\nContent-Length: {}\r\n"
                 "Cache-Control: no-store\r\nX-Content-Type-Options: nosniff\r\n{}Connection: close\r\n\r\n",
                 answer.status, reason_phrase(answer.status), HttpDate(now).text(), answer.type, answer.body.size(),
                 answer.more_fields);
  if (with_body) out += answer.body;
}

Answer ready_answer(Phase phase, const std::string& lost) {
  if (phase == Phase::serving && !lost.empty()) return {.status = 503, .body = fmt::format("lost: {}\n", lost)};
  const int status = phase == Phase::serving ? 200 : 503;
  return {.status = status, .body = fmt::format("{}\n", to_string(phase))};
}

std::string_view path_of(const Target& target) {
  const std::string_view text = target.form == TargetForm::absolute ? target.path_and_query : target.raw;
  return text.substr(0, text.find('?'));
}

// An absolute target overrules Host (RFC 9112 section 3.2.2), so that is whom the client believes to speak to.
std::string_view host_of(const RequestHead& head) {
  if (head.target.form == TargetForm::absolute) return head.target.authority.host;
  return head.host ? head.host->host : std::string_view();
}

Answer answer_for(const RequestHead& head, const AdminAnswers& answers) {
  const std::string_view path = path_of(head.target);
  const bool is_check = path == "/healthz" || path == "/readyz";  // balancers ask these without a Host
  const std::string_view host = host_of(head);
  if (!(is_check && host.empty()) && !is_admin_host(host, answers.hosts)) {
    return {.status = 421, .body = "This host name is not known here: ask by address, or add it to admin.hosts.\n"};
  }
  if (head.method != Method::get && head.method != Method::head) {
    return {.status = 405, .body = "GET and HEAD only.\n", .more_fields = "Allow: GET, HEAD\r\n"};
  }
  if (path == "/healthz") return {.body = "alive\n"};
  if (path == "/readyz") return ready_answer(answers.phase, answers.lost);
  if (path == "/metrics") return {.type = "text/plain; version=0.0.4; charset=utf-8", .body = answers.metrics()};
  return {.status = 404, .body = "/healthz /readyz /metrics\n"};
}

std::string lower(std::string_view text) {
  std::string out(text);
  for (char& c : out) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c + ('a' - 'A')) : c;
  return out;
}

}  // namespace

std::string_view to_string(Phase phase) {
  switch (phase) {
    case Phase::starting:
      return "starting";
    case Phase::serving:
      return "serving";
    case Phase::draining:
      return "draining";
  }
  return "unknown";
}

bool is_admin_host(std::string_view host, const std::vector<std::string>& hosts) {
  if (host.starts_with('[') && host.ends_with(']')) host = host.substr(1, host.size() - 2);
  if (Endpoint::parse_ip(host)) return true;
  const std::string name = lower(host);
  return name == "localhost" || std::ranges::find(hosts, name) != hosts.end();
}

void answer_admin(std::string& out, const RequestHead& head, const AdminAnswers& answers, TimePoint now) {
  write(out, answer_for(head, answers), head.method != Method::head, now);
}

void refuse_admin(std::string& out, const HttpError& error, TimePoint now) {
  const ErrorFacts& known = facts(error.kind);
  write(out, {.status = known.status, .body = fmt::format("{}\n", error.detail)}, true, now);
}

}  // namespace bloomwall::proxy
