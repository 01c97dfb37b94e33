// ICAP (RFC 3507) over the verdicts: the service "reqmod" judges the HTTP requests that another proxy encapsulates.
//
//   OPTIONS                               methods, Preview: 0, Allow: 204, and an ISTag that names what is served
//   REQMOD of what may pass               204; for who allows none, and sends no preview, the request as it came
//   REQMOD of what is stopped             200 with the page, error or denial as the HTTP response to give
//   REQMOD without a verdict              the same with 503; 500 where there is no room even for that
//
// A body is dropped as it comes, or sent back as it comes; none of it is kept. With a preview the answer follows it,
// and the rest of the body stays at the asker: there is no 100 Continue. Without one, what may pass is answered when
// the whole body has come; what is stopped is answered at once, and the connection ends, as its body would have to be
// read.
// A request whose target and Host name two hosts is judged for both, and the stricter verdict counts.
// Questions of one connection are answered in order, one at a time. What breaks the protocol ends it, after an answer.
// Thread: the worker's.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "proxy/answers/answers.h"
#include "proxy/answers/icap_reader.h"

namespace bloomwall::proxy {

class IcapAnswers final : public AnswerProtocol {
 public:
  explicit IcapAnswers(Asker& asker) : asker_(asker) {}

  std::size_t on_data(std::span<const char> octets) override;
  void on_answer(std::uint64_t tag, const Answer& answer) override;
  bool is_idle() const override { return reader_.at_start() && state_ == State::reading; }
  bool is_in_body() const override { return state_ != State::reading; }
  void on_late() override;

 private:
  enum class State : std::uint8_t {
    reading,    // no question, or its head
    asked,      // its answer is awaited
    held,       // held_ is the answer, once the body or its preview has come
    returning,  // the body is sent back
    over,       // the connection ends
  };
  std::size_t go_on(std::span<const char> octets);
  void begin_question();
  void answer_options();
  std::string_view wanted_fields() const;  // of OPTIONS
  void ask();
  void on_body(std::span<const char> octets);
  void on_end();
  void pass();
  void send_page(std::string_view message);
  void fail(int status, std::string_view detail);
  void append_head(std::string& out, std::string_view status, std::string_view encapsulated,
                   std::string_view more_fields = {}) const;
  void flush();
  bool is_last() const;  // the connection ends behind this answer

  Asker& asker_;
  IcapReader reader_;
  State state_ = State::reading;
  std::string http_;  // of the question: the head in it, while it is asked
  std::string held_;
  std::string out_;  // of answers, not sent yet
};

}  // namespace bloomwall::proxy
