// SPDX-License-Identifier: Apache-2.0
#include "proxy/answers/answer_session.h"

#include <algorithm>
#include <utility>

#include "proxy/auth/authentication_rules.h"
#include "proxy/auth/authenticator.h"
#include "proxy/client/lingering_close.h"
#include "proxy/decision/snapshot.h"
#include "proxy/decision/worker_state.h"
#include "proxy/io/tcp_transport.h"

namespace bloomwall::proxy {
namespace {

constexpr Milliseconds kSoon{50};  // until octets that have arrived are read
constexpr HttpError kBadUser{ErrorKind::bad_request,
                             "the user of a question has a control octet, or more than 255 octets"};

bool is_name_of_user(std::string_view name) {
  return name.size() <= UserTable::kMostName &&
         std::ranges::none_of(name, [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; });
}

}  // namespace

AnswerSession::AnswerSession(WorkerState& worker, Owner& owner, UniqueFd fd, const Endpoint& asker,
                             const std::string& door, const AnswerRules& rules)
    : worker_(worker),
      owner_(owner),
      asker_(asker),
      door_(door),
      rules_(rules),
      transport_(std::make_unique<TcpTransport>(worker.io, std::move(fd), *this)),
      protocol_(make_answer_protocol(rules.protocol, *this)),
      ending_(std::make_unique<LingeringClose>()),
      timer_(worker.io.loop.timers(), [](void* self) { static_cast<AnswerSession*>(self)->on_timer(); }, this) {
  worker_.counters.client_connections_total.add();
  worker_.counters.client_connections_active.add();
  worker_.counters.answers.open(to_string(rules_.protocol));
  settle();
}

AnswerSession::~AnswerSession() {
  worker_.counters.client_connections_active.subtract();
  worker_.counters.answers.close(to_string(rules_.protocol));
}

// --- questions

bool AnswerSession::is_trusted(const Endpoint& other) const { return rules_.trust.contains(other.address()); }

bool AnswerSession::is_ending() const { return worker_.draining; }

bool AnswerSession::believes_users() const { return rules_.users && is_trusted(); }

UserPtr AnswerSession::user_of(std::string_view name) const {
  if (name.empty()) return nullptr;
  return worker_.snapshot->names->named(name, worker_.authenticator.seconds());
}

QuestionStream& AnswerSession::add(const Question& question, std::uint64_t tag) {
  const bool is_believed = is_trusted();
  const Endpoint& client = is_believed && question.client ? *question.client : asker_;
  UserPtr user = believes_users() && is_name_of_user(question.user) ? user_of(question.user) : nullptr;
  auto made = std::make_unique<QuestionStream>(worker_, *this, tag, client, door_, std::move(user));
  made->table_index = questions_.size();
  questions_.push_back(std::move(made));
  return *questions_.back();
}

void AnswerSession::ask(const Question& question, std::uint64_t tag) {
  QuestionStream& added = add(question, tag);
  believes_users() && !is_name_of_user(question.user) ? added.fail(kBadUser, question) : added.begin(question);
}

void AnswerSession::refuse(const HttpError& error, const Question& question, std::uint64_t tag) {
  add(question, tag).fail(error, question);
}

void AnswerSession::on_question_over(QuestionStream& question) {
  const std::size_t place = question.table_index;
  std::unique_ptr<QuestionStream> over = std::move(questions_[place]);
  if (place + 1 != questions_.size()) {
    questions_[place] = std::move(questions_.back());
    questions_[place]->table_index = place;
  }
  questions_.pop_back();
  if (state_ == State::open) {
    const Answer answer = over->answer();
    worker_.counters.answers.count(to_string(rules_.protocol), static_cast<std::size_t>(answer.kind));
    protocol_->on_answer(over->tag(), answer);
    settle();
  }
  worker_.io.loop.deferred().delete_later(std::move(over));
}

// --- the connection

std::size_t AnswerSession::on_data(std::span<const char> bytes) {
  if (state_ == State::lingering && !ending_->drop(bytes.size())) close();
  if (state_ != State::open || wants_end_) return bytes.size();
  std::size_t used = 0;
  while (used < bytes.size() && state_ == State::open && !wants_end_ && !is_full() && transport_->backlog() == 0) {
    const std::size_t taken = protocol_->on_data(bytes.subspan(used));
    if (taken == 0) break;  // a fault of the protocol, which ends the connection
    used += taken;
    received_ += taken;
  }
  if (state_ != State::open || wants_end_) used = bytes.size();
  settle();
  return used;
}

// After each change: whether more is read, how long that may take, and whether this is the end.
void AnswerSession::settle() {
  if (state_ != State::open) return;
  if (wants_end_ && !has_open()) return linger();
  is_full() ? transport_->pause(PauseReason::busy) : transport_->resume(PauseReason::busy);
  if (state_ != State::open) return;
  const bool is_slow = transport_->backlog() > 0;
  is_slow ? transport_->pause(PauseReason::peer_full) : transport_->resume(PauseReason::peer_full);
  if (state_ != State::open) return;
  const bool is_idle = !has_open() && !is_slow && protocol_->is_idle();
  set_idle(is_idle);
  const conf::Timeouts& timeouts = worker_.snapshot->settings.timeouts;
  const bool was_reading = std::exchange(is_reading_, !has_open() && !is_slow && !is_idle);
  if (is_too_slow()) return be_late();
  if (is_reading_) {
    if (protocol_->is_in_body()) {
      timer_.set(timeouts.body);
    } else if (!was_reading) {
      timer_.set(timeouts.request_header);
    }
  } else if (is_idle) {
    timer_.set(worker_.idle_time(timeouts.idle));
  } else if (is_slow) {
    timer_.set(timeouts.idle);
  } else {
    timer_.clear();  // an exchange has its own time
  }
}

// Every octet restarts timeouts.body. What waits for an answer, or for an asker that does not read, is not counted.
bool AnswerSession::is_too_slow() {
  const conf::Config& settings = worker_.snapshot->settings;
  if (std::exchange(is_in_body_, is_reading_ && protocol_->is_in_body()) && is_in_body_) {
    return rate_.fell_short(received_, settings.limits.least_rate, settings.timeouts.body);
  }
  rate_.begin(received_);
  return false;
}

void AnswerSession::be_late() {
  protocol_->on_late();
  linger();
}

void AnswerSession::send(std::string_view octets) {
  if (state_ != State::open) return;
  is_reading_ = false;  // a message is over: the next one has a time of its own
  transport_->send(octets);
}

void AnswerSession::finish() { wants_end_ = true; }

void AnswerSession::linger() {
  state_ = State::lingering;
  set_idle(false);
  if (!ending_->begin(*transport_, false)) return close();
  transport_->resume(PauseReason::busy);
  timer_.set(LingeringClose::kWait);
}

// What it has asked it still wants to know.
void AnswerSession::on_end() {
  if (state_ == State::lingering) {
    if (transport_->backlog() == 0) close();
    return;
  }
  wants_end_ = true;
  settle();
}

void AnswerSession::on_drained() {
  if (state_ != State::lingering) return settle();
  if (ending_->may_close(*transport_)) return close();
  timer_.set(LingeringClose::kWait);
}

void AnswerSession::set_idle(bool is_idle) {
  if (std::exchange(is_idle_, is_idle) != is_idle) owner_.on_asker_idle(*this, is_idle);
}

void AnswerSession::on_timer() {
  if (state_ == State::closed) return;
  const conf::Config& settings = worker_.snapshot->settings;
  if (is_idle_ && transport_->has_unseen()) return timer_.set(kSoon);
  if (state_ == State::lingering) {
    if (const auto more = ending_->wait_for(*transport_, true, settings)) return timer_.set(*more);
    return close();
  }
  if (is_idle_) worker_.counters.client_idle_timeouts_total.add();
  if (is_reading_) return be_late();
  is_idle_ ? linger() : close();
}

void AnswerSession::drain() {
  if (state_ == State::open && is_idle_) timer_.hasten(worker_.idle_time(worker_.snapshot->settings.timeouts.idle));
}

void AnswerSession::close() {
  if (std::exchange(state_, State::closed) == State::closed) return;
  set_idle(false);
  timer_.clear();
  while (!questions_.empty()) questions_.back()->abandon();
  transport_->close();
  owner_.on_asker_closed(*this);  // last line: the owner schedules the deletion
}

}  // namespace bloomwall::proxy
