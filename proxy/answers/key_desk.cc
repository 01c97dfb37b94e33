// SPDX-License-Identifier: Apache-2.0
#include "proxy/answers/key_desk.h"

#include <utility>

#include "proxy/decision/worker_state.h"
#include "proxy/telemetry/access_record.h"

namespace bloomwall::proxy {
namespace {

using RawKeys = filter::Policy::RawKeys;
constexpr HttpError kDenied{ErrorKind::client_denied, "access.clients"};
constexpr HttpError kTooMany{ErrorKind::too_many_requests, "limits.requests_per_second"};
constexpr HttpError kNoSuchFilter{ErrorKind::bad_request, "no filter has this name"};
constexpr HttpError kNoRawKeys{ErrorKind::bad_request, "the filter has no raw keys"};
constexpr HttpError kFilterOff{ErrorKind::bad_request, "the filter is off, or only says what is not decrypted"};
constexpr HttpError kNoMailHost{ErrorKind::bad_request, "the domain or host of the key is none that mail could be for"};
constexpr HttpError kFilterLost{ErrorKind::filter_late, "the filter is lost"};

// Why there is nothing to ask.
std::optional<HttpError> error_of(RawKeys keys) {
  switch (keys) {
    case RawKeys::held:
      return std::nullopt;
    case RawKeys::none:
      return kNoRawKeys;
    case RawKeys::off:
      return kFilterOff;
    case RawKeys::lost:
      return kFilterLost;
    case RawKeys::no_such_filter:
      return kNoSuchFilter;
  }
  return kNoSuchFilter;
}

bool holds(const filter::Verdict& verdict) {
  using filter::VerdictReason;
  return verdict.reason == VerdictReason::listed || verdict.reason == VerdictReason::confirmed ||
         verdict.reason == VerdictReason::delta || verdict.reason == VerdictReason::allow_filter;
}

// In the words of questions about URLs.
Answer::Kind kind_in_counts(KeyAnswer::Kind kind) {
  switch (kind) {
    case KeyAnswer::Kind::listed:
      return Answer::Kind::block;
    case KeyAnswer::Kind::unlisted:
      return Answer::Kind::pass;
    case KeyAnswer::Kind::unknown:
      return Answer::Kind::unknown;
    case KeyAnswer::Kind::wrong:
      return Answer::Kind::refuse;
  }
  return Answer::Kind::unknown;
}

// As the door for HTTP answers.
int status_of(const KeyAnswer& answer, const std::optional<HttpError>& error) {
  if (error) return facts(error->kind).status;
  return answer.kind == KeyAnswer::Kind::listed ? 403 : answer.kind == KeyAnswer::Kind::unlisted ? 200 : 503;
}

}  // namespace

KeyDesk::KeyDesk(Asker& asker, Owner& owner)
    : asker_(asker),
      owner_(owner),
      client_{asker.address(), asker.address().unmapped().ip(), &asker.door()},
      wait_(asker.worker(), *this) {}

std::optional<HttpError> KeyDesk::refuse() {
  WorkerState& worker = asker_.worker();
  const Snapshot& snapshot = *worker.snapshot;
  if (!asker_.is_trusted() && !snapshot.access.client_allowed(client_.endpoint.address())) return kDenied;
  const auto most = snapshot.settings.limits.requests_per_second;
  if (most > 0 && !worker.rate.allow(client_.endpoint, most)) return kTooMany;
  return std::nullopt;
}

std::optional<KeyAnswer> KeyDesk::ask(const KeyQuestion& question) {
  std::optional<HttpError> error = std::exchange(late_, std::nullopt);
  if (!std::exchange(has_begun_, true)) {
    times_ = RequestTimes::from_now();
    wait_.renew();
    error = refuse();
  }
  if (!error && !question.filter.empty()) {
    error = error_of(asker_.worker().decider.raw_keys_of(client_, question.filter));
  }
  if (!error) return judge(question);
  const bool is_final = error->kind == ErrorKind::bad_request;
  return conclude(question,
                  {.kind = is_final ? KeyAnswer::Kind::wrong : KeyAnswer::Kind::unknown, .why = error->detail}, {},
                  error);
}

std::optional<KeyAnswer> KeyDesk::judge(const KeyQuestion& question) {
  WorkerState& worker = asker_.worker();
  const bool is_mail = question.filter.empty();
  const std::optional<KeptVerdict> verdict = is_mail ? worker.decider.mail_key(client_, question.key)
                                                     : worker.decider.raw_key(client_, question.key, question.filter);
  if (!verdict) {
    is_waiting_ = true;
    wait_.for_pages(worker.snapshot->settings.timeouts.connect);
    return std::nullopt;
  }
  if (verdict->decision == filter::Decision::rejected) {
    return conclude(question, {.kind = KeyAnswer::Kind::wrong, .why = kNoMailHost.detail}, {}, kNoMailHost);
  }
  KeyAnswer answer;
  if (verdict->reason == filter::VerdictReason::filter_lost) {
    answer.why = kFilterLost.detail;
  } else {
    const bool is_listed = is_mail ? filter::is_blocked(*verdict) : holds(*verdict);
    answer.kind = is_listed ? KeyAnswer::Kind::listed : KeyAnswer::Kind::unlisted;
    if (is_listed && verdict->filter != nullptr) answer.filter = verdict->filter->name;
  }
  return conclude(question, std::move(answer), *verdict, std::nullopt);
}

// Counts, and writes the line of the log.
KeyAnswer KeyDesk::conclude(const KeyQuestion& question, KeyAnswer answer, const KeptVerdict& verdict,
                            const std::optional<HttpError>& error) {
  WorkerState& worker = asker_.worker();
  has_begun_ = false;
  const bool is_noted = error || verdict.decision != filter::Decision::allowed;
  const DecisionId id = is_noted ? worker.ids.next() : DecisionId();
  answer.decision_id = id.text();
  const std::chrono::microseconds lasted = times_.lasted();
  const int status = status_of(answer, error);
  worker.counters.answers.count(to_string(asker_.rules().protocol),
                                static_cast<std::size_t>(kind_in_counts(answer.kind)));
  if (error) {
    worker.counters.count_error(error->kind);
  } else {
    worker.counters.filter_lookups_total.add(verdict.questions);
    worker.counters.count_verdict(MethodClass::other, verdict, verdict.group);
  }
  worker.counters.count_response(status, static_cast<std::uint64_t>(lasted.count()));
  worker.counters.exchanges.count(lasted);
  if (!needs_record(worker, verdict.decision, *worker.snapshot)) return answer;
  AccessRecord record = begin_record(client_, times_, lasted);
  record.method = question.method;
  record.url = question.key;
  record.status = status;
  note_verdict(record, verdict, id);
  if (error) note_refusal(record, *error, id);
  write_record(worker, record, *worker.snapshot);
  return answer;
}

void KeyDesk::on_decision_ready() {
  is_waiting_ = false;
  owner_.on_keys_ready();
}

void KeyDesk::on_decision_late(const HttpError& error) {
  late_ = error;
  on_decision_ready();
}

}  // namespace bloomwall::proxy
