// One connection on which another program asks: its socket, its questions and its time. What is spoken on it is the
// AnswerProtocol's.
//
//   open --nothing asked, limits, drain, finish()--> lingering --> closed
//
// A connection may idle for timeouts.idle, and a message that has begun must be complete within
// timeouts.request_header; its body has timeouts.body for each of its pieces, and must keep to limits.least_rate. While
// answers wait for a slow asker, or as many questions as its protocol may have open, it is not read.
// Owned by the doors' table; destroyed by the DeferredDeletion alone. Thread: the worker's.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "proxy/answers/answers.h"
#include "proxy/answers/question_stream.h"
#include "proxy/exchange/exchange_progress.h"
#include "proxy/io/intrusive_list.h"
#include "proxy/io/timer_wheel.h"
#include "proxy/io/transport.h"

namespace bloomwall::proxy {

class LingeringClose;

class AnswerSession final : public DeletedLater,
                            public ListLink<AnswerSession>,  // of those that are idle; the owner's
                            public Asker,
                            public QuestionStream::Owner,
                            public Transport::Handler {
 public:
  class Owner {
   public:
    virtual void on_asker_idle(AnswerSession& asker, bool is_idle) = 0;
    virtual void on_asker_closed(AnswerSession& asker) = 0;  // once

   protected:
    ~Owner() = default;
  };
  // `door`, as configured, and `rules`, which a reload changes in place, outlive it.
  AnswerSession(WorkerState& worker, Owner& owner, UniqueFd fd, const Endpoint& asker, const std::string& door,
                const AnswerRules& rules);
  ~AnswerSession() override;

  void drain();  // no new questions are expected, but one that is on the way is answered
  void close();  // idempotent; safe from any callback
  bool has_unseen() const { return transport_->has_unseen(); }
  std::size_t open() const { return questions_.size() + (protocol_->is_waiting() ? 1 : 0); }

  std::size_t table_index = 0;  // these two are for the owner
  bool counted_by_address = false;

  // Of Asker.
  void ask(const Question& question, std::uint64_t tag) override;
  void refuse(const HttpError& error, const Question& question, std::uint64_t tag) override;
  bool is_full() const override { return protocol_->is_waiting() || questions_.size() >= protocol_->most_open(); }
  void send(std::string_view octets) override;
  void finish() override;
  bool is_trusted() const override { return is_trusted(asker_); }
  bool is_trusted(const Endpoint& other) const override;
  const Endpoint& address() const override { return asker_; }
  bool is_ending() const override;
  const std::string& door() const override { return door_; }
  const AnswerRules& rules() const override { return rules_; }
  void on_waited() override { settle(); }
  WorkerState& worker() override { return worker_; }

 private:
  enum class State : std::uint8_t { open, lingering, closed };

  std::size_t on_data(std::span<const char> bytes) override;
  void on_end() override;
  void on_drained() override;
  void on_write_failed(int) override { close(); }
  void on_failed(int) override { close(); }
  void on_question_over(QuestionStream& question) override;

  QuestionStream& add(const Question& question, std::uint64_t tag);
  bool believes_users() const;
  UserPtr user_of(std::string_view name) const;
  bool has_open() const { return !questions_.empty() || protocol_->is_waiting(); }
  void settle();
  bool is_too_slow();
  void be_late();
  void linger();
  void set_idle(bool is_idle);
  void on_timer();

  WorkerState& worker_;
  Owner& owner_;
  const Endpoint asker_;
  const std::string& door_;
  const AnswerRules& rules_;
  TransportPtr transport_;
  std::unique_ptr<AnswerProtocol> protocol_;
  std::vector<std::unique_ptr<QuestionStream>> questions_;  // open ones; each knows its place
  std::unique_ptr<LingeringClose> ending_;
  Timer timer_;
  State state_ = State::open;
  bool is_idle_ = false;     // as the owner was told
  bool is_reading_ = false;  // timer_ is that of a message that has begun
  bool is_in_body_ = false;  // and a body is what is read
  std::uint64_t received_ = 0;
  RateCheck rate_;          // of the body that is read
  bool wants_end_ = false;  // finish() was called, or the asker has ended its side
};

}  // namespace bloomwall::proxy
