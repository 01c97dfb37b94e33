// SPDX-License-Identifier: Apache-2.0
#include "proxy/answers/icap_answers.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <utility>
#include <vector>

#include "base/text.h"
#include "proxy/decision/snapshot.h"
#include "proxy/decision/worker_state.h"
#include "proxy/http/request.h"

namespace bloomwall::proxy {
namespace {

constexpr std::string_view kService = "reqmod";
constexpr std::string_view kPageLineEnd = "\r\n";
constexpr std::size_t kUsualFields = 16;  // of a request
constexpr HttpError kHostlessRequest{ErrorKind::bad_target, "a request without a host: Host is missing"};

std::string_view icap_reason(int status) {
  switch (status) {
    case 400:
      return "Bad request";
    case 404:
      return "ICAP Service not found";
    case 405:
      return "Method not allowed for service";
    case 408:
      return "Request timeout";
    case 413:
      return "Request too large";
    case 501:
      return "Method not implemented";
    case 505:
      return "ICAP version not supported by server";
    default:
      return "Server error";
  }
}

// What the request is for, as a question has it; empty: no host is named.
std::string target_of(const RequestHead& head) {
  if (head.target.form == TargetForm::absolute || head.target.form == TargetForm::authority) {
    return std::string(head.target.raw);
  }
  const Field* const host = find_field(head.fields, FieldId::host);
  if (host == nullptr || host->value.empty()) return {};
  const std::string_view path = head.target.form == TargetForm::origin ? head.target.raw : "/";
  return std::string("http://").append(host->value).append(path);
}

// The same for the host in Host where the target names another one: what forwards the request may go by either.
std::string other_target_of(const RequestHead& head) {
  const Target& target = head.target;
  const bool is_named = target.form == TargetForm::absolute || target.form == TargetForm::authority;
  if (!is_named || !head.host) return {};
  if (same_name(head.host->host, target.authority.host) && head.host->port == target.authority.port) return {};
  std::string host(find_field(head.fields, FieldId::host)->value);
  if (target.form == TargetForm::absolute) {
    return std::string(target.scheme).append("://").append(host).append(target.path_and_query);
  }
  return head.host->port == 0 ? fmt::format("{}:{}", host, target.authority.port) : host;
}

std::string_view value_of(const RequestHead& head, std::string_view name) {
  const Field* const field = find_field(head.fields, name);
  return field == nullptr ? std::string_view() : field->value;
}

// The head of a message without what concerns one connection alone.
std::string end_to_end(std::string_view head) {
  std::string out;
  while (!head.empty()) {
    const std::size_t end = head.find(kPageLineEnd) + kPageLineEnd.size();
    const std::string_view line = head.substr(0, end);
    if (!starts_ignoring_case(line, "connection:") && !starts_ignoring_case(line, "keep-alive:")) out += line;
    head.remove_prefix(end);
  }
  return out;
}

void append_chunk(std::string& out, std::string_view octets) {
  if (octets.empty()) return;  // that would be the last one
  fmt::format_to(std::back_inserter(out), "{:x}\r\n", octets.size());
  out.append(octets).append(kPageLineEnd);
}

}  // namespace

bool IcapAnswers::is_last() const { return !reader_.head().keep_alive || asker_.is_ending(); }

std::size_t IcapAnswers::on_data(std::span<const char> octets) {
  const std::size_t used = go_on(octets);
  flush();
  return state_ == State::over ? octets.size() : used;
}

// As far as the octets go, and as long as no answer is awaited.
std::size_t IcapAnswers::go_on(std::span<const char> octets) {
  std::size_t used = 0;
  while (state_ != State::over && state_ != State::asked) {
    const IcapReader::Step step = reader_.feed(octets.subspan(used));
    used += step.consumed;
    switch (step.event) {
      case IcapReader::Event::need_more:
        return used;
      case IcapReader::Event::question:
        begin_question();
        break;
      case IcapReader::Event::body:
        on_body(step.body);
        break;
      case IcapReader::Event::end:
        on_end();
        break;
      case IcapReader::Event::error:
        fail(reader_.error().status, reader_.error().detail);
        break;
    }
  }
  return used;
}

void IcapAnswers::flush() {
  if (out_.empty()) return;
  asker_.send(out_);
  out_.clear();
}

// --- a question

void IcapAnswers::begin_question() {
  const IcapHead& head = reader_.head();
  const bool is_options = head.method == IcapHead::Method::options;
  // "OPTIONS icap://host/" asks for whatever there is.
  if (head.service != kService && !(is_options && head.service.empty())) return fail(404, "the service is reqmod");
  is_options ? answer_options() : ask();
}

void IcapAnswers::answer_options() {
  append_head(held_, "200 OK", "null-body=0",
              fmt::format("Methods: REQMOD\r\nService: bloomwall {}\r\nService-ID: {}\r\nMax-Connections: {}\r\n"
                          "Options-TTL: 300\r\nAllow: 204\r\nPreview: 0\r\nTransfer-Preview: *\r\n{}",
                          BLOOMWALL_VERSION, kService, asker_.worker().snapshot->settings.limits.client_connections,
                          wanted_fields()));
  state_ = State::held;
}

// What an asker who is not believed says of its clients has no use here, and need not leave it.
std::string_view IcapAnswers::wanted_fields() const {
  if (!asker_.is_trusted()) return {};
  return asker_.rules().users ? "X-Include: X-Client-IP, X-Authenticated-User\r\n" : "X-Include: X-Client-IP\r\n";
}

void IcapAnswers::ask() {
  const IcapHead& icap = reader_.head();
  http_ = reader_.http_head();
  RequestHead head;
  head.fields.reserve(kUsualFields);
  const auto error = parse_request_head(http_, asker_.worker().snapshot->settings.limits.header_fields, head);
  const std::string target = error ? std::string() : target_of(head);
  std::vector<std::string> others;
  if (std::string other = error ? std::string() : other_target_of(head); !other.empty()) {
    others.push_back(std::move(other));
  }
  Question question{.target = target, .also = others, .user = icap.user};
  if (icap.client) question.client = Endpoint::from(*icap.client, 0).unmapped();
  if (!error) {
    question.method = head.method_name;
    question.accept = value_of(head, "accept");
    question.accept_language = value_of(head, "accept-language");
    question.user_agent = value_of(head, "user-agent");
    question.is_head = head.method == Method::head;
  }
  state_ = State::asked;
  if (error) return asker_.refuse(*error, question, 0);
  target.empty() ? asker_.refuse(kHostlessRequest, question, 0) : asker_.ask(question, 0);
}

void IcapAnswers::on_answer(std::uint64_t, const Answer& answer) {
  http_.clear();
  if (answer.kind == Answer::Kind::pass) {
    pass();
  } else if (!answer.message.empty()) {
    send_page(answer.message);
  } else {
    fail(500, "there is no verdict now");
  }
  go_on({});  // a question without a body ends here
  flush();
}

void IcapAnswers::on_body(std::span<const char> octets) {
  if (state_ == State::returning) append_chunk(out_, {octets.data(), octets.size()});
}

void IcapAnswers::on_end() {
  if (state_ == State::returning && reader_.head().has_body) out_ += "0\r\n\r\n";
  out_ += std::exchange(held_, {});
  state_ = is_last() ? State::over : State::reading;
  reader_.next();
  if (state_ == State::over) asker_.finish();
}

// --- answers

void IcapAnswers::pass() {
  const IcapHead& head = reader_.head();
  if (head.allows_204 || head.preview) {
    append_head(held_, "204 No Content", "null-body=0");
    state_ = State::held;
    return;
  }
  const std::string_view http = reader_.http_head();
  append_head(out_, "200 OK", fmt::format("req-hdr=0, {}={}", head.has_body ? "req-body" : "null-body", http.size()));
  out_ += http;
  state_ = State::returning;
}

// The message is one of the proxy's own: its head ends with the first empty line.
void IcapAnswers::send_page(std::string_view message) {
  const bool is_cut = reader_.head().has_body && !reader_.head().preview;
  state_ = is_cut ? State::over : State::held;
  std::string& out = is_cut ? out_ : held_;
  const std::size_t end = message.find("\r\n\r\n") + 2 * kPageLineEnd.size();
  const std::string http = end_to_end(message.substr(0, end));
  const std::string_view body = message.substr(end);
  append_head(out, "200 OK", fmt::format("res-hdr=0, {}={}", body.empty() ? "null-body" : "res-body", http.size()));
  out += http;
  append_chunk(out, body);
  if (!body.empty()) out += "0\r\n\r\n";
  if (is_cut) asker_.finish();
}

void IcapAnswers::fail(int status, std::string_view detail) {
  // Behind a part of a body that was sent back already the end is all that can be said.
  if (std::exchange(state_, State::over) == State::returning) return asker_.finish();
  append_head(out_, fmt::format("{} {}", status, icap_reason(status)), "null-body=0",
              fmt::format("X-Reason: {}\r\n", detail));
  asker_.finish();
}

void IcapAnswers::on_late() {
  fail(408, is_in_body() ? "the body stands still, or is slower than limits.least_rate"
                         : "the question did not come within timeouts.request_header");
  flush();
}

// What is served is named by this process and by how often that has changed.
void IcapAnswers::append_head(std::string& out, std::string_view status, std::string_view encapsulated,
                              std::string_view more_fields) const {
  const WorkerState& worker = asker_.worker();
  const bool is_end = state_ == State::over || is_last();
  const fmt::format_int edition(worker.editions);
  out.append("ICAP/1.0 ").append(status).append("\r\nISTag: \"").append(worker.instance).append("-");
  out.append(edition.data(), edition.size()).append("\"\r\nServer: bloomwall\r\n");
  if (is_end) out.append("Connection: close\r\n");
  out.append(more_fields).append("Encapsulated: ").append(encapsulated).append("\r\n\r\n");
}

}  // namespace bloomwall::proxy
