// Questions about keys that are no URLs: members of filters with raw keys, and what mail servers ask about. They are
// judged with the group of the asker, limited, counted and logged like requests; who asks stands for the client.
// A question that needs pages of a filter from the disk waits for them, and the connection with it: its protocol is
// AnswerProtocol::is_waiting() meanwhile, so that answers keep their order.
// Thread: the worker's.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "proxy/answers/answers.h"
#include "proxy/decision/client_info.h"
#include "proxy/decision/decision_wait.h"
#include "proxy/decision/request_log.h"

namespace bloomwall::proxy {

// Views need to live until the answer is there.
struct KeyQuestion {
  std::string_view key;
  // The only filter that is asked, about raw keys; empty: what the policy says of mail (Decider::mail_key).
  std::string_view filter = {};
  std::string_view method;  // a literal, for the log: "BF.EXISTS"
};

struct KeyAnswer {
  enum class Kind : std::uint8_t {
    listed,    // by policy: it is blocked; of one filter: this holds it
    unlisted,  // likewise, it is not
    unknown,   // it can't be told now: pages, a lost filter, a limit
    wrong,     // it never can: there is no such filter, it has no raw keys, or what should be a host is none
  };
  Kind kind = Kind::unknown;
  std::string_view why = {};  // unknown, wrong: a literal
  std::string filter = {};    // listed: its name, or "exceptions" or "otherwise" of what these deny
  std::string decision_id = {};
};

class KeyDesk final : DecisionWait::Handler {
 public:
  class Owner {
   public:
    virtual void on_keys_ready() = 0;  // ask again

   protected:
    ~Owner() = default;
  };
  KeyDesk(Asker& asker, Owner& owner);

  // Nothing: it waits. The same question must be asked again on on_keys_ready().
  std::optional<KeyAnswer> ask(const KeyQuestion& question);
  bool is_waiting() const { return is_waiting_; }

 private:
  std::optional<HttpError> refuse();
  std::optional<KeyAnswer> judge(const KeyQuestion& question);
  KeyAnswer conclude(const KeyQuestion& question, KeyAnswer answer, const KeptVerdict& verdict,
                     const std::optional<HttpError>& error);
  void on_decision_ready() override;
  void on_decision_late(const HttpError& error) override;

  Asker& asker_;
  Owner& owner_;
  const ClientInfo client_;
  DecisionWait wait_;
  RequestTimes times_ = RequestTimes::from_now();
  std::optional<HttpError> late_;
  bool has_begun_ = false;  // a question was asked that has no answer yet
  bool is_waiting_ = false;
};

}  // namespace bloomwall::proxy
