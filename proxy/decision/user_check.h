// Which user a request is of: the step of an exchange before its decision, which may depend on the user.
//   nobody has to log in       the rules are off, or do not name the client; transparent listeners; requests for the
//                              proxy itself (Decider::is_for_self()), where credentials are looked at all the same;
//                              hosts of authentication.exempt_hosts
//   inside a tunnel            the user of its CONNECT, as long as the users file has it
//   else                       by Proxy-Authorization: out of memory, or once a check has an answer; Negotiate counts
//                              for the connection's next requests, too. Where a
//                              helper asks for another leg, the 407 holds its token, and the next request of the
//                              connection may bring it
// A reload while the request waits, for this or for pages, makes it start again; a login accepted meanwhile
// counts as far as the current rules still know its user.
// Cost where nobody has to: one comparison; where the credentials are remembered: one keyed hash and two look-ups, no
// allocation. Thread: the worker's.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <optional>
#include <string_view>

#include "proxy/decision/client_login.h"
#include "proxy/decision/decision_wait.h"
#include "proxy/http/http_error.h"

namespace bloomwall::proxy {

struct ClientInfo;
struct ExchangeContext;
struct Login;
enum class LoginResult : std::uint8_t;
enum class LoginScheme : std::uint8_t;
struct RequestHead;
struct Snapshot;

// Whether the rules ask this client to log in, wherever it goes.
bool must_log_in(const Snapshot& snapshot, const ClientInfo& client);

class UserCheck {
 public:
  static constexpr unsigned kMostLegs = 8;  // of a login by Negotiate
  enum class Step : std::uint8_t {
    go_on,   // ExchangeContext::user is known
    wait,    // until the handler of the DecisionWait is called; then ask again
    refuse,  // error() says why
  };
  UserCheck(ExchangeContext& context, DecisionWait& wait) : context_(context), wait_(wait) {}
  Step step();
  void note_late();  // the answer that step() waits for did not come in time
  // A request that needed no user because of its host goes to an exempt host indeed, and to no other. False: error()
  // says why. Call it with the canonical host that was decided on, or an empty one.
  bool may_go_to(std::string_view host);
  const HttpError& error() const { return error_; }

 private:
  Step done();
  Step refuse(const HttpError& error);
  Step refuse(const HttpError& error, LoginResult result);
  void count(LoginResult result);
  Step take(const Login& login);
  Step check_inside();
  Step check_for_self(const RequestHead& head);
  Step check_credentials(const RequestHead& head);
  Step check_basic(std::string_view token);
  Step check_ticket(std::string_view ticket, const ClientLogin::Negotiating& leg);
  Step ask_for_leg(const Login& login);
  Step check_without();
  Step wait_for(const std::optional<Login>& login);
  bool is_for_exempt_host(const RequestHead& head);

  ExchangeContext& context_;
  DecisionWait& wait_;
  HttpError error_;
  std::optional<std::array<std::uint8_t, 32>> ticket_;          // key of the one whose check goes on
  LoginScheme scheme_{};                                        // of the credentials
  std::optional<std::chrono::steady_clock::time_point> asked_;  // while their check goes on
  unsigned legs_ = 0;                                           // of its login, with this one
  std::uint64_t done_by_ = 0;                                   // generation of the snapshot that is_done_ is of
  bool is_done_ = false;
  bool is_exempt_ = false;
};

}  // namespace bloomwall::proxy
