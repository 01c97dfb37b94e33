// Verdicts for other programs: what an entry of `answers:` in the configuration speaks is an AnswerProtocol, of which
// each connection has one of its own. It turns octets into Questions, and Answers into octets; everything else is the
// Asker's (answer_session.h): the socket, timeouts, limits, draining, and the question itself, which is judged,
// limited, counted and logged as a request of the proxy is.
//
//   socket -> Asker -- on_data() --> AnswerProtocol -- ask() --> Asker -> Exchange (204, or the page)
//   socket <- Asker <--- send() ---- AnswerProtocol <- on_answer() --'
//
// A new protocol: a word in conf::Answers::Protocol and in conf/sections.cc, a class that derives from AnswerProtocol,
// a line in make_answer_protocol() (answer_protocols.cc).
// Thread: the worker's.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "conf/sections.h"
#include "proxy/io/endpoint.h"

namespace bloomwall::proxy {

struct AnswerRules;  // proxy/decision/snapshot.h
struct HttpError;
struct WorkerState;

// What one program asks about one request of its client. Views are read before ask() returns.
struct Question {
  std::string_view target = {};  // an absolute URL of http or https; of a CONNECT host:port
  // Other readings of it, for each of which the same holds, kMostReadings at most. They are asked about as well, and
  // the strictest verdict counts.
  static constexpr std::size_t kMostReadings = 16;
  std::span<const std::string> also = {};
  std::string_view method = "GET";
  // Whose request it is, which counts where Asker::is_trusted(), else the asker is judged itself; and who that is,
  // which counts where AnswerRules::users says so, too.
  std::optional<Endpoint> client = {};
  std::string_view user = {};
  // Fields of that request, for the page and the log; empty: none.
  std::string_view accept = {}, accept_language = {}, user_agent = {};
  // Of the answer as a message of HTTP, for those who send it as it is.
  int pass_status = 204;  // to what may pass: 204 or 200
  bool is_head = false;   // without a body
  bool is_http10 = false;
  bool keep_alive = true;
};

// The Asker's answer. Views are valid during on_answer().
struct Answer {
  enum class Kind : std::uint8_t {
    pass,     // it may be forwarded
    block,    // by a filter, or a denial that somebody made
    refuse,   // by a rule of the proxy, or it is no URL that could be judged
    unknown,  // there is no verdict: pages did not come in time, no memory, the end of the process
  };
  Kind kind = Kind::unknown;
  int status = 0;                     // of the message: pass_status, 403, 451, 400, 429, 503 and so on
  std::string_view message = {};      // a whole response of HTTP/1.1: head and, unless is_head, body. Never empty but
                                      // for `unknown`
  bool closes = false;                // it says Connection: close
  std::string_view filter = {};       // block: the filter's name; empty: a denial, or otherwise: deny
  std::string_view reason = {};       // one word: "listed", "bad_target"
  std::string_view decision_id = {};  // as in the log; empty: none
};

class Asker {
 public:
  // The answer comes by on_answer() with the same tag: at once, before ask() returns, or later, each once, in any
  // order. Only while !is_full().
  virtual void ask(const Question& question, std::uint64_t tag) = 0;
  // Likewise a question that could not be read, for whose message the proxy has an error.
  virtual void refuse(const HttpError& error, const Question& question, std::uint64_t tag) = 0;
  // The protocol's most_open() questions wait for their answers: on_data() is not called again before one has come.
  virtual bool is_full() const = 0;
  virtual void send(std::string_view octets) = 0;  // one write; what the kernel does not take waits
  virtual void finish() = 0;                       // after everything that was sent; on_data() is not called any more
  // Whether what the asker says of clients is believed: it is in `trust`. To be asked anew for each question, since a
  // reload may change it.
  virtual bool is_trusted() const = 0;
  virtual bool is_trusted(const Endpoint& other) const = 0;  // of those that the asker has it from
  virtual const Endpoint& address() const = 0;               // of the asker; on a unix socket 127.0.0.1
  virtual bool is_ending() const = 0;            // the process drains: answers should say that they are the last
  virtual const std::string& door() const = 0;   // where the asker has connected, for the log
  virtual const AnswerRules& rules() const = 0;  // of that place, as a reload may have changed them
  // What AnswerProtocol::is_waiting() waited for is there, and was answered.
  virtual void on_waited() = 0;
  virtual WorkerState& worker() = 0;  // snapshot, policy, counters

 protected:
  ~Asker() = default;
};

class AnswerProtocol {
 public:
  AnswerProtocol() = default;
  virtual ~AnswerProtocol() = default;
  AnswerProtocol(const AnswerProtocol&) = delete;
  AnswerProtocol& operator=(const AnswerProtocol&) = delete;

  // Octets have come; returns how many were used, one at least. What is left comes again at once, or, where the asker
  // is full, after the next answer. What belongs to an incomplete message is used, and kept here, within a bound.
  virtual std::size_t on_data(std::span<const char> octets) = 0;
  virtual void on_answer(std::uint64_t tag, const Answer& answer) = 0;
  virtual bool is_idle() const = 0;  // nothing of a message has come that was not asked yet
  // An answer that is none of the Asker's questions is awaited: on_data() is not called meanwhile.
  virtual bool is_waiting() const { return false; }
  // A message has been understood, and what comes now is its body: it has timeouts.body to move on.
  virtual bool is_in_body() const { return false; }
  // What has begun was not complete within its time: the last occasion to send something before the connection ends.
  virtual void on_late() {}
  virtual std::size_t most_open() const { return 1; }  // 1: the next message waits for the answer to this one
};

// One for each connection; `asker` outlives it.
std::unique_ptr<AnswerProtocol> make_answer_protocol(conf::Answers::Protocol protocol, Asker& asker);

}  // namespace bloomwall::proxy
