// Holds back what a client sends through a CONNECT tunnel, or sent to open an implicit one, until it is known to be
// allowed. What it says first decides:
//   a TLS record      must be a ClientHello, whose server name is judged before one octet of it is relayed; what
//                     follows is watched until no second ClientHello can come (AfterHello)
//   HTTP/1            to be handed to those who judge requests, where access.opaque_tunnels says so
//   anything else     passes without delay, or ends the tunnel, as access.opaque_tunnels says; a record of a type that
//                     TLS does not know ends it
// A far end that speaks first speaks no HTTP/1. To port 80 nothing but HTTP/1 and TLS goes while HTTP is judged.
// Where TLS is intercepted, a tunnel of anything else is decided and counted as well, with TlsReason::opaque.
// Judges by the policy and the settings of the moment. Holds at most what ClientHelloReader and RequestLinePeek allow.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "proxy/access/tls_decision.h"
#include "proxy/auth/user.h"
#include "proxy/decision/request_log.h"
#include "proxy/decision/worker_state.h"
#include "proxy/http/http_error.h"
#include "proxy/http/request_line_peek.h"
#include "proxy/io/chain.h"
#include "proxy/tls/after_hello.h"
#include "proxy/tls/client_hello.h"

namespace bloomwall::proxy {

struct TlsQuestion;

class TunnelPeek {
 public:
  enum class Result : std::uint8_t {
    wait,       // for more
    relay,      // relay what is held, and ask again with what comes next
    pass,       // relay what is held, and everything after it
    http,       // what is held, and what comes next, is requests
    intercept,  // what is held is a ClientHello that the proxy is to answer, as tls_decision() says
    cut,        // close; error() says why
  };
  explicit TunnelPeek(WorkerState& state)
      : state_(state), held_(state.io.pool), memory_(state.io.pool, BufferKind::heads) {}

  // Of a client that knows of no proxy the ClientHello is read before there is a tunnel, because only it says where
  // that leads. wait; pass: it is whole; cut. All octets are kept.
  Result feed_before_tunnel(std::span<const char> bytes);
  bool has_peeked() const { return given_ > 0; }
  std::string_view sent_name() const;  // the server name as spelt; empty: none, or not known yet

  // Once there is a tunnel: the CONNECT's canonical host, and its port. `question` is nullptr where TLS is not
  // intercepted. All must outlive this object.
  void lead_to(std::string_view authority, std::uint16_t port, const TlsQuestion* question, const ClientInfo& client) {
    authority_ = authority;
    port_ = port;
    question_ = question;
    client_ = &client;
  }
  // Where TLS has come to be intercepted since.
  void set_question(const TlsQuestion& question) { question_ = &question; }
  // The name that was dialled, or asked of the parent, which safe search compares with the server name's; it must
  // outlive this object.
  void set_dialled(std::string_view name) { dialled_ = name; }
  // Who has logged in for the tunnel, as known by now; nullptr: nobody had to.
  void set_user(UserPtr user) { user_ = std::move(user); }
  // Nobody has logged in for the tunnel, because its host is one of authentication.exempt_hosts: nor may the server
  // name be of any other.
  void keep_to_exempt_hosts() { must_be_exempt_ = true; }
  // Its host is blocked, but for URLs that are judged where TLS, or HTTP, is read: nothing else passes, either way.
  void pass_nothing_unread() { passes_nothing_ = true; }
  Result judge_peeked();                          // like feed(), of what feed_before_tunnel() was given
  Result feed(std::span<const char> bytes);       // the client's next octets; all of them are kept
  Result on_answer(std::span<const char> bytes);  // those of the far end, which the caller relays unless they are cut
  Result on_end();                                // the client says no more: relay where nothing is held, pass or cut

  Chain& held() { return held_; }
  std::string take_held(std::size_t octets);  // the first of what is held
  bool holds_text() const { return text_.is_there; }
  // Of what feed() called http: whether it begins with the line feed of an empty line whose carriage return has passed,
  // and must follow it.
  bool ends_line() const { return text_.passed_cr && held_.front().front() == '\n'; }
  bool has_name() const { return has_name_; }
  std::string_view name() const { return host_; }  // canonical; empty: none
  KeptVerdict& verdict() { return verdict_; }      // of the name
  // Of what was cut; nothing: the server name is blocked, as verdict() says.
  const std::optional<HttpError>& error() const { return error_; }
  bool is_tls() const { return after_.has_value(); }   // of what relay or pass was said of
  bool is_inspected() const { return is_inspected_; }  // tls_decision() was made
  const TlsDecision& tls_decision() const { return tls_decision_; }

 private:
  Result no_memory();
  Result on_hello(HelloResult result, std::span<const char> bytes);
  Result counted(Result result);
  Result on_unnamed(std::span<const char> bytes);
  Result on_sslv2();
  Result on_named(std::span<const char> bytes);
  Result compare_with_authority();
  Result inspect(std::span<const char> bytes);
  Result begin_following(std::span<const char> bytes);
  Result follow(std::span<const char> bytes);
  Result begin_text(std::span<const char> bytes);
  Result on_text(std::span<const char> bytes);
  Result on_other(std::span<const char> bytes);
  Result look_for_request(std::span<const char> bytes);
  Result on_server_hello(std::span<const char> bytes);
  bool is_strict() const;
  void decide_opaque(bool is_refused);
  Result pass_opaque();
  Result refuse_opaque(const char* why);
  Result refuse(const char* why);
  Result malformed(const char* why);
  const conf::Access& access() const { return state_.snapshot->settings.access; }

  struct Text {  // what comes is no TLS
    RequestLinePeek line;
    bool is_there = false;
    bool may_pass = false;    // all of it, once it is known to be no record
    bool has_passed = false;  // a part of it
    bool passed_cr = false;   // as the last octet of that
  };

  WorkerState& state_;
  std::string_view authority_, dialled_;
  std::uint16_t port_ = 0;
  const TlsQuestion* question_ = nullptr;
  const ClientInfo* client_ = nullptr;
  UserPtr user_;
  TlsDecision tls_decision_;
  ClientHelloReader reader_;
  std::optional<AfterHello> after_;
  RetryPeek retry_;
  UnknownRecordPeek record_;
  Text text_;
  Chain held_;
  std::string behind_;  // what came behind the ClientHello, of feed_before_tunnel()
  Reservation memory_;  // what the readers hold
  KeptVerdict verdict_;
  std::string host_;
  std::optional<HttpError> error_;
  std::size_t given_ = 0;  // octets, to reader_
  bool has_name_ = false;
  bool is_inspected_ = false;
  bool must_be_exempt_ = false;
  bool passes_nothing_ = false;
  bool far_has_spoken_ = false;
};

}  // namespace bloomwall::proxy
