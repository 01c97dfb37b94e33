// SPDX-License-Identifier: Apache-2.0
#include "proxy/decision/user_check.h"

#include <algorithm>
#include <chrono>
#include <memory>
#include <utility>

#include "proxy/auth/authenticator.h"
#include "proxy/auth/login.h"
#include "proxy/decision/asked_question.h"
#include "proxy/decision/client_info.h"
#include "proxy/decision/client_stream.h"
#include "proxy/decision/self_pages.h"
#include "proxy/decision/worker_state.h"
#include "proxy/telemetry/login_counts.h"
#include "proxy/upstream/addresses.h"
#include "proxy/upstream/client_limits.h"

namespace bloomwall::proxy {
namespace {

constexpr HttpError kNoCredentials{ErrorKind::login_required, "authentication.require"};
constexpr HttpError kWrongCredentials{ErrorKind::login_required, "the name or the password is wrong"};
constexpr HttpError kWrongTicket{ErrorKind::login_required, "the ticket is not valid, or was used before"};
constexpr HttpError kAnotherLeg{ErrorKind::login_required, "the ticket needs another leg"};
constexpr HttpError kUserIsGone{ErrorKind::tunnel_denied, "the user of this tunnel has been removed, or has ended"};
constexpr HttpError kNotExemptInside{ErrorKind::tunnel_denied, "authentication.exempt_hosts: of another host"};

}  // namespace

bool must_log_in(const Snapshot& snapshot, const ClientInfo& client) {
  if (snapshot.authentication == nullptr || client.destination != nullptr) return false;
  return snapshot.authentication->required.contains(client.endpoint.address());
}

UserCheck::Step UserCheck::step() {
  if (is_done_ && done_by_ == context_.snapshot->generation) return Step::go_on;
  is_exempt_ = false;
  context_.user = nullptr;
  if (const AskedQuestion* const question = context_.client.question()) {
    context_.user = question->user();
    return done();
  }
  const ClientInfo& client = context_.client.info();
  if (!must_log_in(*context_.snapshot, client)) return done();
  if (const auto& login = wait_.login()) return take(*login);
  const RequestHead& head = *context_.client.head();
  if (context_.worker.decider.is_for_self(head, client)) return check_for_self(head);
  if (client.inside != nullptr) return check_inside();
  if (head.target.form == TargetForm::origin) return done();  // answered here
  if (is_for_exempt_host(head)) {
    is_exempt_ = true;
    return done();
  }
  const AuthenticationRules& rules = *context_.snapshot->authentication;
  if (!rules.has_negotiate && !rules.takes_secrets(client.is_secure)) {
    return refuse({ErrorKind::client_denied, "authentication.basic_without_tls"});
  }
  return check_credentials(head);
}

UserCheck::Step UserCheck::done() {
  is_done_ = true;
  done_by_ = context_.snapshot->generation;
  return Step::go_on;
}

UserCheck::Step UserCheck::refuse(const HttpError& error) {
  error_ = error;
  return Step::refuse;
}

UserCheck::Step UserCheck::refuse(const HttpError& error, LoginResult result) {
  count(result);
  return refuse(error);
}

void UserCheck::count(LoginResult result) {
  LoginCounts& logins = context_.worker.counters.logins;
  logins.count(scheme_, result);
  if (!asked_) return;
  const auto took = std::chrono::steady_clock::now() - *std::exchange(asked_, std::nullopt);
  logins.count_check(std::chrono::duration_cast<std::chrono::microseconds>(took));
}

void UserCheck::note_late() {
  if (asked_) count(LoginResult::unchecked);
}

UserCheck::Step UserCheck::take(const Login& login) {
  switch (login.result) {
    case Login::Result::accepted: {  // by rules that a reload may have replaced
      const AuthenticationRules& rules = *context_.snapshot->authentication;
      context_.user = rules.current(login.user, context_.worker.authenticator.seconds());
      if (context_.user == nullptr) return refuse(kNoCredentials, LoginResult::refused);
      if (ticket_) {
        context_.client.info().login->negotiated = ClientLogin::Negotiated{*ticket_, context_.user};
      }
      count(LoginResult::accepted);
      return done();
    }
    case Login::Result::refused:
      context_.worker.counters.logins_refused_total.add();
      return refuse(ticket_ ? kWrongTicket : kWrongCredentials, LoginResult::refused);
    case Login::Result::more:
      return ask_for_leg(login);
    case Login::Result::locked:
      context_.locked_for = static_cast<std::uint32_t>(login.locked_for.count() / 1000 + 1);
      return refuse({ErrorKind::login_locked, "authentication.attempts"}, LoginResult::locked);
    case Login::Result::unchecked:
      break;
  }
  return refuse({ErrorKind::login_unchecked, "the credentials could not be checked"}, LoginResult::unchecked);
}

// On this connection, with the next request.
UserCheck::Step UserCheck::ask_for_leg(const Login& login) {
  if (legs_ >= kMostLegs) {
    context_.worker.counters.logins_refused_total.add();
    return refuse(kWrongTicket, LoginResult::refused);
  }
  context_.client.info().login->negotiating = ClientLogin::Negotiating{login.conversation, legs_};
  context_.negotiate_token = login.token;
  return refuse(kAnotherLeg, LoginResult::more);
}

// Nobody is asked for credentials inside a tunnel: an origin's answer is expected there.
UserCheck::Step UserCheck::check_inside() {
  const ClientInfo::Inside& inside = *context_.client.info().inside;
  const AuthenticationRules& rules = *context_.snapshot->authentication;
  if (inside.user != nullptr) {
    context_.user = rules.current(inside.user, context_.worker.authenticator.seconds());
    return context_.user == nullptr ? refuse(kUserIsGone) : done();
  }
  const bool is_exempt =
      rules.is_exempt(inside.host) && (inside.authority.empty() || rules.is_exempt(inside.authority));
  if (!is_exempt) return refuse(kNotExemptInside);
  is_exempt_ = true;
  return done();
}

// The home page is that of the logged-in user; a login is not required unless asked for.
UserCheck::Step UserCheck::check_for_self(const RequestHead& head) {
  const ClientInfo& client = context_.client.info();
  const AuthenticationRules& rules = *context_.snapshot->authentication;
  if (client.inside != nullptr) {
    if (client.inside->user != nullptr) {
      context_.user = rules.current(client.inside->user, context_.worker.authenticator.seconds());
    }
    return done();
  }
  const std::string_view target = self_target(head);
  const bool is_of_users = head.method == Method::connect || self_path(target) == SelfPath::home;
  const bool can_say_who = rules.has_negotiate || rules.takes_secrets(client.is_secure);
  const bool has_said = client.login->negotiated || find_field(head.fields, FieldId::proxy_authorization) != nullptr;
  return is_of_users && can_say_who && (has_said || target == kHomeWithLogin) ? check_credentials(head) : done();
}

// By the host as the client spells it; the decision has the last word (may_go_to()).
bool UserCheck::is_for_exempt_host(const RequestHead& head) {
  const AuthenticationRules& rules = *context_.snapshot->authentication;
  if (!rules.has_exempt || head.target.authority.host.empty()) return false;
  const auto host = context_.worker.decider.server_name(context_.client.info(), nullptr, head.target.authority.host);
  return host && rules.is_exempt(host->host);
}

bool UserCheck::may_go_to(std::string_view host) {
  const auto& rules = context_.snapshot->authentication;
  if (!is_exempt_ || host.empty() || rules == nullptr || rules->is_exempt(host)) return true;
  error_ = context_.client.info().inside != nullptr ? kNotExemptInside : kNoCredentials;
  return false;
}

UserCheck::Step UserCheck::check_credentials(const RequestHead& head) {
  const AuthenticationRules& rules = *context_.snapshot->authentication;
  // Whatever comes next on the connection is the next leg, or there is none.
  const auto leg =
      std::exchange(context_.client.info().login->negotiating, std::nullopt).value_or(ClientLogin::Negotiating{});
  const auto is_credentials = [](const Field& field) { return field.id == FieldId::proxy_authorization; };
  const auto field = std::ranges::find_if(head.fields, is_credentials);
  scheme_ = LoginScheme::none;
  if (field == head.fields.end()) return check_without();
  if (std::any_of(field + 1, head.fields.end(), is_credentials)) {
    const ClientKey client = ClientLimits::key_of(context_.client.info().endpoint);
    return take(context_.worker.authenticator.refuse_malformed(rules, client));
  }
  const bool takes_secrets = rules.takes_secrets(context_.client.info().is_secure);
  const std::string_view token = basic_token(field->value), bearer = bearer_token(field->value);
  if (!token.empty() && takes_secrets) return check_basic(token);
  if (!bearer.empty() && takes_secrets) {
    scheme_ = LoginScheme::bearer;
    const ClientKey client = ClientLimits::key_of(context_.client.info().endpoint);
    return take(context_.worker.authenticator.take_token(rules, client, bearer));
  }
  const std::string_view ticket = rules.has_negotiate ? negotiate_token(field->value) : std::string_view();
  return ticket.empty() ? refuse(kNoCredentials, LoginResult::missing) : check_ticket(ticket, leg);
}

UserCheck::Step UserCheck::check_basic(std::string_view token) {
  scheme_ = LoginScheme::basic;
  const ClientKey client = ClientLimits::key_of(context_.client.info().endpoint);
  WorkerState& worker = context_.worker;
  const AuthenticationRulesPtr& rules = context_.snapshot->authentication;
  const CredentialKey key = worker.credential_hasher.key_of(CredentialHasher::Kind::basic, token);
  if (UserPtr user = worker.authenticator.recall(*rules, key)) {
    worker.counters.logins_remembered_total.add();
    count(LoginResult::remembered);
    context_.user = std::move(user);
    return done();
  }
  return wait_for(worker.authenticator.log_in(rules, client, token, key, worker.credential_hasher,
                                              wait_.for_login(context_.snapshot->settings.timeouts.connect)));
}

// The same ticket on its own connection is the same user; anywhere else it is a copy.
UserCheck::Step UserCheck::check_ticket(std::string_view ticket, const ClientLogin::Negotiating& leg) {
  scheme_ = LoginScheme::negotiate;
  const ClientKey client = ClientLimits::key_of(context_.client.info().endpoint);
  WorkerState& worker = context_.worker;
  const AuthenticationRulesPtr& rules = context_.snapshot->authentication;
  const CredentialKey key = worker.credential_hasher.key_of(CredentialHasher::Kind::negotiate, ticket);
  const auto& before = context_.client.info().login->negotiated;
  if (before && before->key == key) return check_without();
  context_.client.info().login->negotiated.reset();
  ticket_ = key;
  legs_ = leg.legs + 1;
  return wait_for(worker.authenticator.negotiate(rules, client, ticket, leg.conversation,
                                                 wait_.for_login(context_.snapshot->settings.timeouts.connect)));
}

UserCheck::Step UserCheck::check_without() {
  const auto& before = context_.client.info().login->negotiated;
  if (!before) return refuse(kNoCredentials, LoginResult::missing);
  scheme_ = LoginScheme::negotiate;
  const AuthenticationRules& rules = *context_.snapshot->authentication;
  UserPtr user = rules.has_negotiate ? rules.current(before->user, context_.worker.authenticator.seconds()) : nullptr;
  if (user == nullptr) return refuse(kNoCredentials, LoginResult::refused);
  context_.worker.counters.logins_remembered_total.add();
  count(LoginResult::remembered);
  context_.user = std::move(user);
  return done();
}

// `login`: the answer, if there is one already.
UserCheck::Step UserCheck::wait_for(const std::optional<Login>& login) {
  if (login) {
    wait_.cancel();
    return take(*login);
  }
  asked_ = std::chrono::steady_clock::now();
  context_.worker.counters.logins_checked_total.add();
  if (!context_.client.request_ended()) context_.client.pause(PauseReason::not_ready);
  return Step::wait;
}

}  // namespace bloomwall::proxy
