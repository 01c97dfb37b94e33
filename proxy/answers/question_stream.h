// One Question on its way to an Answer: to its Exchange it is the stream of a client who wants no more than to know.
// Its head is text of HTTP/1.1 that is read by the parser of every request, so that there is one set of checks. The
// answer is gathered whole.
// Owned by the session, which is told once, by on_question_over(), and deletes it later. Thread: the worker's.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "proxy/answers/answers.h"
#include "proxy/decision/asked_question.h"
#include "proxy/decision/client_info.h"
#include "proxy/decision/client_stream.h"
#include "proxy/http/request.h"
#include "proxy/io/event_loop.h"

namespace bloomwall::proxy {

class Exchange;

class QuestionStream final : public DeletedLater, public ClientStream, public AskedQuestion {
 public:
  class Owner {
   public:
    virtual void on_question_over(QuestionStream& question) = 0;

   protected:
    ~Owner() = default;
  };
  // `client`: whose request it is. `door`: for the log; outlives it. `user`: believed; nullptr: none.
  QuestionStream(WorkerState& worker, Owner& owner, std::uint64_t tag, const Endpoint& client, const std::string& door,
                 UserPtr user);
  ~QuestionStream() override;

  // One of the two, once the owner has it; it may be over before they return.
  void begin(const Question& question);
  void fail(const HttpError& error, const Question& question);
  void abandon();  // nobody waits for the answer any more

  std::uint64_t tag() const { return tag_; }
  Answer answer() const;        // once it is over; views into this
  std::size_t table_index = 0;  // the owner's

 private:
  void prepare(const Question& question);
  // `head` has views into `text`.
  std::optional<HttpError> read(const Question& question, std::string_view target, std::string& text,
                                RequestHead& head) const;
  std::optional<HttpError> read_all(const Question& question);

  UserPtr user() const override { return user_; }
  std::span<const RequestHead> other_readings() const override { return other_heads_; }
  int pass_status() const override { return pass_status_; }
  void note_outcome(const Outcome& outcome) override;

  const ClientInfo& info() const override { return info_; }
  const RequestHead* head() const override { return is_understood_ ? &head_ : nullptr; }
  bool asks_by_head() const override { return is_head_; }
  bool is_http2() const override { return false; }
  AskedQuestion* question() override { return this; }
  bool is_implicit_tunnel() const override { return false; }
  bool is_named_by_hello() const override { return false; }
  bool was_answered() const override { return false; }
  OwnUpstreams& own_upstreams() override { return *own_upstreams_; }
  BoundUpstreams* bound_upstreams() override { return nullptr; }
  bool request_ended() const override { return true; }
  std::uint64_t body_left() const override { return 0; }
  std::span<const Field> trailers() const override { return {}; }
  void pause(PauseReason) override {}  // there is nothing more to read
  void resume(PauseReasons) override {}
  void send(GatheredWrite& out, bool chunked) override;
  std::size_t backlog() const override { return 0; }
  std::size_t unconfirmed() const override { return 0; }
  std::size_t kernel_room() const override { return SIZE_MAX; }
  std::uint64_t octets_sent() const override { return message_.size(); }
  Milliseconds last_active() const override { return begun_; }
  void finish(After after) override;
  // Nothing is dialled for a question.
  void become_tunnel(UpstreamPtr upstream, TunnelStart start) override;
  void show_page(InterceptionStart start) override;
  UpstreamPtr take_inner() override;
  void keep_inner(UpstreamPtr upstream) override;
  bool has_inner() const override { return false; }

  WorkerState& worker_;
  Owner& owner_;
  const std::uint64_t tag_;
  ClientInfo info_;
  UserPtr user_;
  std::string text_;
  RequestHead head_;
  std::vector<std::string> other_texts_;         // of Question::also
  std::vector<RequestHead> other_heads_;         // likewise
  std::unique_ptr<OwnUpstreams> own_upstreams_;  // always none
  std::unique_ptr<Exchange> exchange_;
  std::string message_, filter_, reason_, decision_id_;
  Milliseconds begun_;
  int status_ = 0, pass_status_ = 204;
  Answer::Kind kind_ = Answer::Kind::unknown;
  bool is_understood_ = false;
  bool is_head_ = false;
  bool closes_ = true;
};

}  // namespace bloomwall::proxy
