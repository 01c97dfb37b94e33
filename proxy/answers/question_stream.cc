// SPDX-License-Identifier: Apache-2.0
#include "proxy/answers/question_stream.h"

#include <algorithm>
#include <utility>

#include "proxy/decision/request_log.h"
#include "proxy/decision/snapshot.h"
#include "proxy/decision/worker_state.h"
#include "proxy/exchange/exchange.h"
#include "proxy/http/octets.h"
#include "proxy/tunnel/interception.h"
#include "proxy/tunnel/tunnel.h"
#include "proxy/upstream/gathered_write.h"
#include "proxy/upstream/upstream.h"

namespace bloomwall::proxy {
namespace {

// Of the head that is read: how many fields it may have, and the octets of their names, of line ends and of Connection.
constexpr std::size_t kMostFields = 5, kFrameOctets = 120;
constexpr HttpError kNoTarget{ErrorKind::bad_target, "a question without a URL"};
constexpr HttpError kBadTarget{ErrorKind::bad_target, "octets that no URL has"};
constexpr HttpError kTooManyReadings{ErrorKind::bad_target, "a URL that can be read in too many ways"};
constexpr HttpError kNoToken{ErrorKind::bad_request, "a method that is no token"};
constexpr HttpError kBadField{ErrorKind::bad_request, "a control octet in a field of the question"};

// What ends a request line would begin another line of the head.
bool is_one_word(std::string_view target) {
  return std::ranges::none_of(target, [](char c) { return static_cast<unsigned char>(c) <= 0x20 || c == 0x7f; });
}

// The authority of an absolute URL, as a Host field has it.
std::string_view host_of(std::string_view target) {
  const std::size_t scheme = target.find("://");
  if (scheme == std::string_view::npos) return target;
  target = target.substr(scheme + 3);
  target = target.substr(0, target.find_first_of("/?#"));
  const std::size_t user = target.rfind('@');
  return user == std::string_view::npos ? target : target.substr(user + 1);
}

void append_line(std::string& text, std::string_view name, std::string_view value) {
  if (!value.empty()) text.append(name).append(": ").append(value).append("\r\n");
}

Answer::Kind kind_of(const HttpError& error) {
  const bool has_no_verdict = facts(error.kind).status >= 500 || error.kind == ErrorKind::client_gone;
  return has_no_verdict ? Answer::Kind::unknown : Answer::Kind::refuse;
}

}  // namespace

QuestionStream::QuestionStream(WorkerState& worker, Owner& owner, std::uint64_t tag, const Endpoint& client,
                               const std::string& door, UserPtr user)
    : worker_(worker),
      owner_(owner),
      tag_(tag),
      info_{client, client.unmapped().ip(), &door},
      user_(std::move(user)),
      own_upstreams_(std::make_unique<OwnUpstreams>()),
      begun_(monotonic_now()) {}

QuestionStream::~QuestionStream() = default;

void QuestionStream::prepare(const Question& question) {
  pass_status_ = question.pass_status;
  is_head_ = question.is_head;
  worker_.requests_in_flight.add();
  exchange_ = std::make_unique<Exchange>(worker_, *this);
}

void QuestionStream::begin(const Question& question) {
  prepare(question);
  if (const auto error = read_all(question)) return exchange_->fail_request(*error);
  is_understood_ = true;
  GatheredWrite out(worker_.gather);  // for the origin, to which nothing goes
  exchange_->begin(out);
}

void QuestionStream::fail(const HttpError& error, const Question& question) {
  prepare(question);
  exchange_->fail_request(error);
}

std::optional<HttpError> QuestionStream::read_all(const Question& question) {
  if (const auto error = read(question, question.target, text_, head_)) return error;
  const std::size_t count = question.also.size();
  if (count > Question::kMostReadings) return kTooManyReadings;
  other_texts_.resize(count);
  other_heads_.resize(count);
  for (std::size_t i = 0; i < count; ++i) {
    if (const auto error = read(question, question.also[i], other_texts_[i], other_heads_[i])) return error;
  }
  return std::nullopt;
}

std::optional<HttpError> QuestionStream::read(const Question& question, std::string_view target, std::string& text,
                                              RequestHead& head) const {
  if (target.empty()) return kNoTarget;
  if (!is_one_word(target)) return kBadTarget;
  if (question.method.empty() || !all(octets::token, question.method)) return kNoToken;
  for (const std::string_view value : {question.accept, question.accept_language, question.user_agent}) {
    if (!is_field_text(value)) return kBadField;
  }
  const std::string_view host = host_of(target);
  text.reserve(kFrameOctets + question.method.size() + target.size() + host.size() + question.accept.size() +
               question.accept_language.size() + question.user_agent.size());
  text.append(question.method).append(" ").append(target);
  text.append(question.is_http10 ? " HTTP/1.0\r\n" : " HTTP/1.1\r\n");
  text.append("Host: ").append(host).append("\r\n");
  text.append(question.keep_alive ? "Connection: keep-alive\r\n" : "Connection: close\r\n");
  append_line(text, "Accept", question.accept);
  append_line(text, "Accept-Language", question.accept_language);
  append_line(text, "User-Agent", question.user_agent);
  text.append("\r\n");
  head.fields.reserve(kMostFields);
  return parse_request_head(text, worker_.snapshot->settings.limits.header_fields, head);
}

void QuestionStream::abandon() {
  if (exchange_ != nullptr) exchange_->abandon();
}

void QuestionStream::send(GatheredWrite& out, bool chunked) {
  for (const iovec& piece : out.assemble(chunked)) {
    message_.append(static_cast<const char*>(piece.iov_base), piece.iov_len);
  }
  out.clear();
}

// Nothing of an outcome is kept by reference: its verdict is the exchange's, which ends before the answer is read.
void QuestionStream::note_outcome(const Outcome& outcome) {
  status_ = outcome.status;
  decision_id_ = outcome.decision_id;
  if (outcome.error != nullptr) {
    kind_ = kind_of(*outcome.error);
    reason_ = to_string(outcome.error->kind);
    return;
  }
  const bool is_block = outcome.verdict.decision == filter::Decision::blocked;
  kind_ = is_block ? Answer::Kind::block : Answer::Kind::pass;
  reason_ = filter::to_string(outcome.verdict.reason);
  if (is_block && outcome.verdict.filter != nullptr) filter_ = outcome.verdict.filter->name;
}

void QuestionStream::finish(After after) {
  worker_.requests_in_flight.subtract();
  closes_ = after != After::keep;
  if (message_.empty()) kind_ = Answer::Kind::unknown;
  worker_.io.loop.deferred().delete_later(std::move(exchange_));
  owner_.on_question_over(*this);  // last: it has us deleted later
}

void QuestionStream::become_tunnel(UpstreamPtr, TunnelStart) { finish(After::cut); }

void QuestionStream::show_page(InterceptionStart) { finish(After::cut); }

UpstreamPtr QuestionStream::take_inner() { return nullptr; }

void QuestionStream::keep_inner(UpstreamPtr) {}

Answer QuestionStream::answer() const {
  return {.kind = kind_,
          .status = status_,
          .message = message_,
          .closes = closes_,
          .filter = filter_,
          .reason = reason_,
          .decision_id = decision_id_};
}

}  // namespace bloomwall::proxy
