// SPDX-License-Identifier: Apache-2.0
#include "proxy/api/api_access.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <initializer_list>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/random.h"
#include "base/terminal.h"
#include "base/text.h"
#include "proxy/api/api_reply.h"
#include "proxy/api/json_body.h"
#include "proxy/http/fields.h"
#include "proxy/state/json_members.h"
#include "proxy/upstream/client_limits.h"

namespace bloomwall::proxy {
namespace {

constexpr std::string_view kSessionPath = "/api/v1/session";

tl::unexpected<HttpReply> unknown_caller(std::string_view detail) {
  HttpReply reply = problem(401, "Nobody known asks", detail);
  reply.more_fields = "WWW-Authenticate: Bearer realm=\"bloomwall\"\r\n";
  return tl::unexpected(std::move(reply));
}

tl::unexpected<HttpReply> forbidden(std::string_view detail) {
  return tl::unexpected(problem(403, "Not allowed", detail));
}

// Names of users are not looked up: that may ask the network, and this is a loop.
std::string name_of_user(std::uint32_t user) { return user == 0 ? "root" : fmt::format("uid {}", user); }

std::string_view value_of(const RequestHead& head, std::string_view name) {
  const Field* const field = find_field(head.fields, name);
  return field == nullptr ? std::string_view() : field->value;
}

std::string_view bearer_of(const RequestHead& head) {
  constexpr std::string_view kScheme = "bearer ";
  const std::string_view value = value_of(head, "authorization");
  return starts_ignoring_case(value, kScheme) ? trim(value.substr(kScheme.size())) : std::string_view();
}

// Browsers send the cookies of a host to all of its ports (RFC 6265 section 8.5): the port by which this address is
// reached stands in the name, so that two gateways behind ports of one machine have a session each.
std::string cookie_name(const RequestHead& head) {
  constexpr std::string_view kName = "bloomwall_session";
  return head.host && head.host->port != 0 ? fmt::format("{}_{}", kName, head.host->port) : std::string(kName);
}

std::string_view cookie_of(const RequestHead& head) {
  const std::string name = cookie_name(head);
  std::string_view cookies = value_of(head, "cookie");
  while (!cookies.empty()) {
    std::string_view value = next_part(cookies, ';');
    if (trim(next_part(value, '=')) == name) return trim(value);
  }
  return {};
}

// Whether all of these are there as texts, and nothing else is.
bool has_only(const nlohmann::ordered_json& json, std::initializer_list<const char*> names) {
  return json.size() == names.size() &&
         std::ranges::all_of(names, [&](const char* name) { return text_member(json, name).has_value(); });
}

// Of a page of this address: "http://127.0.0.1:9128". Another server may speak TLS for this one.
bool is_own_origin(const HttpRequest& request) {
  std::string_view host = value_of(request.head, "origin");
  const bool is_right = host.starts_with("https://") || (host.starts_with("http://") && !request.peer.is_secure);
  if (!is_right) return false;
  host.remove_prefix(host.find("//") + 2);
  return equals_ignoring_case(host, value_of(request.head, "host"));
}

}  // namespace

HttpRoute ApiAccess::guarded(ApiRoute route) {
  return {.method = route.method,
          .path = route.path,
          .handler =
              [this, handler = std::move(route.handler), least = route.role](const HttpRequest& request) {
                const auto caller = caller_of(request);
                if (!caller) return caller.error();
                if (caller->role < least) {
                  return forbidden(fmt::format("this needs the role {}; {} has the role {}", to_string(least),
                                               caller->author.who, to_string(caller->role)))
                      .value();
                }
                if (!is_query_decodable(request.head)) {
                  return problem(400, "Not understood", "% in a query comes before two hexadecimal digits");
                }
                if (const auto twice = argument_twice(request.head)) {
                  return problem(400, "Not understood", printable(*twice) + ": this argument is there twice");
                }
                if (!request.body.empty() && !value_of(request.head, "content-encoding").empty()) {
                  return problem(415, "Not understood", "a body is taken as it is, without Content-Encoding");
                }
                return handler({request, *caller});
              },
          .most_body = route.most_body};
}

HttpRoute ApiAccess::guarded(HttpRoute route, Role least) {
  return guarded(
      {.method = route.method,
       .path = route.path,
       .role = least,
       .handler = [handler = std::move(route.handler)](const ApiRequest& request) { return handler(request.http); },
       .most_body = route.most_body});
}

std::vector<HttpRoute> ApiAccess::session_routes() {
  return {{.method = "POST",
           .path = kSessionPath,
           .handler = [this](const HttpRequest& request) { return begin_session(request); },
           .most_body = 4096},
          {.method = "GET",
           .path = kSessionPath,
           .handler = [this](const HttpRequest& request) { return show_session(request); }},
          {.method = "DELETE", .path = kSessionPath, .handler = [this](const HttpRequest& request) {
             return end_session(request);
           }}};
}

tl::expected<Caller, HttpReply> ApiAccess::caller_of(const HttpRequest& request) {
  const std::string_view bearer = bearer_of(request.head);
  if (!bearer.empty()) {
    const auto proof = proof_of(bearer);
    auto caller = log_in(proof, "api");
    if (caller) {
      caller->may_still = [this, proof](Role least) {
        const auto now = caller_by(*proof, "api");
        return now && now->role >= least;
      };
    }
    return caller;
  }
  if (!request.peer.is_local) return caller_by_cookie(request);
  const bool is_admin = request.peer.user == 0 || request.peer.user == ::geteuid();
  return Caller{.author = {.who = name_of_user(request.peer.user), .via = "socket"},
                .role = is_admin ? Role::admin : Role::maintainer};
}

tl::expected<Caller, HttpReply> ApiAccess::caller_by(const Proof& proof, const char* via) const {
  const auto* const token = std::get_if<TokenDigest>(&proof);
  auto caller = token != nullptr ? caller_by_token(*token) : caller_by_password(std::get<Password>(proof));
  if (caller) caller->author.via = via;
  return caller;
}

tl::expected<Caller, HttpReply> ApiAccess::caller_by_token(const TokenDigest& digest) const {
  const TokenTablePtr tokens = tokens_.get();
  const Token* const token = tokens->find(digest);
  if (token == nullptr || token->until <= clocks_.seconds()) return unknown_caller("the token is unknown or has ended");
  if (!token->role) return forbidden(fmt::format("the token {} has no role: it is for the proxy alone", token->name));
  Caller caller{.author = {.who = "token " + token->name, .via = {}}, .role = *token->role};
  if (caller.role == Role::reviewer) caller.groups = token->groups;
  return caller;
}

tl::expected<Caller, HttpReply> ApiAccess::caller_by_password(const Password& password) const {
  const UserTable::Entry* const known = users_ == nullptr ? nullptr : users_->find(password.name);
  if (known == nullptr || known->hash != password.hash || !known->role) {
    return unknown_caller("the user is unknown by now, or has another password");
  }
  return Caller{
      .author = {.who = "user " + known->user->name, .via = {}}, .role = *known->role, .groups = known->user->groups};
}

std::optional<ApiAccess::Proof> ApiAccess::proof_of(std::string_view token) {
  if (!is_token_text(token)) return std::nullopt;
  return digest_of(token);
}

tl::expected<Caller, HttpReply> ApiAccess::log_in(const std::optional<Proof>& proof, const char* via) {
  tl::expected<Caller, HttpReply> caller = unknown_caller("that is no token");
  if (proof) caller = caller_by(*proof, via);
  if (!caller) ++login_failures_;
  return caller;
}

tl::expected<Caller, HttpReply> ApiAccess::caller_by_cookie(const HttpRequest& request) {
  const std::string_view cookie = cookie_of(request.head);
  if (cookie.empty()) return unknown_caller("a token, or a session that was begun with one, is needed");
  forget_idle();
  const auto session = sessions_.find(digest_of(cookie));
  if (session == sessions_.end()) return unknown_caller("the session has ended");
  const bool is_safe = request.head.method == Method::get || request.head.method == Method::head;
  if (!is_safe && (value_of(request.head, "x-bloomwall") != "1" || !is_own_origin(request))) {
    return forbidden("with a session X-Bloomwall: 1 and an Origin of this address are needed");
  }
  session->second.used = clocks_.monotonic();
  auto caller = caller_by(session->second.proof, "page");
  if (!caller) return caller;
  caller->may_still = [this, id = session->first](Role least) {
    forget_idle();
    const auto at = sessions_.find(id);
    if (at == sessions_.end()) return false;
    const auto now = caller_by(at->second.proof, "page");
    return now && now->role >= least;
  };
  return caller;
}

void ApiAccess::forget_idle() {
  const auto since = clocks_.monotonic() - kIdle;
  std::erase_if(sessions_, [&](const auto& each) { return each.second.used <= since; });
}

// The body names the token, {"token":"bw_..."}, or {"user":"anna","password":"..."}.
HttpReply ApiAccess::begin_session(const HttpRequest& request) {
  if (!value_of(request.head, "origin").empty() && !is_own_origin(request)) {
    return problem(403, "Not allowed", "the page is of another address");
  }
  const auto json = read_json_body(request.body).value_or(nlohmann::ordered_json());
  if (json.is_object() && has_only(json, {"user", "password"})) {
    return ask_password(request, *text_member(json, "user"), *text_member(json, "password"));
  }
  if (!json.is_object() || !has_only(json, {"token"})) {
    return problem(400, "Not understood", R"(the body is {"token":"..."}, or {"user":"...","password":"..."})");
  }
  return begin_session_of(proof_of(*text_member(json, "token")), place_of(request));
}

ApiAccess::CookiePlace ApiAccess::place_of(const HttpRequest& request) {
  return {.name = cookie_name(request.head), .is_secure = request.peer.is_secure};
}

HttpReply ApiAccess::ask_password(const HttpRequest& request, std::string name, std::string password) {
  if (logins_ == nullptr || users_ == nullptr) {
    return unknown_caller("there is no admin.users_file: sign in with a token").value();
  }
  const bool is_asked =
      logins_->ask({.users = users_,
                    .name = std::move(name),
                    .password = std::move(password),
                    .client = ClientLimits::key_of(request.peer.client)},
                   [this, asker = request.stream, place = place_of(request)](const AdminLogins::Answer& answer) {
                     asker.reply(after_password(answer, place));
                   });
  if (is_asked) return {.is_later = true};
  return problem(503, "Not now", "too many passwords wait to be checked");
}

HttpReply ApiAccess::after_password(const AdminLogins::Answer& answer, const CookiePlace& place) {
  using Result = AdminLogins::Answer::Result;
  switch (answer.result) {
    case Result::right:
      return begin_session_of(Password{answer.name, answer.hash}, place);
    case Result::wrong:
      ++login_failures_;
      return unknown_caller("the name or the password is wrong").value();
    case Result::locked: {
      ++login_failures_;
      HttpReply reply = problem(429, "Too many wrong passwords", "sign in later, or with a token");
      const auto seconds = std::chrono::ceil<std::chrono::seconds>(answer.locked_for);
      reply.more_fields = fmt::format("Retry-After: {}\r\n", seconds.count());
      return reply;
    }
    case Result::failed:
      break;
  }
  return problem(503, "Not now", "there is no memory to check a password");
}

HttpReply ApiAccess::begin_session_of(const std::optional<Proof>& proof, const CookiePlace& place) {
  const auto caller = log_in(proof, "page");
  if (!caller) return caller.error();
  forget_idle();
  if (sessions_.size() >= kMostSessions) {
    sessions_.erase(std::ranges::min_element(sessions_, {}, [](const auto& each) { return each.second.used; }));
  }
  const std::string cookie = token_text(random_value<TokenBits>());
  sessions_[digest_of(cookie)] = {.proof = *proof, .used = clocks_.monotonic()};
  HttpReply reply = json_reply({{"who", caller->author.who}, {"role", to_string(caller->role)}}, 201);
  reply.more_fields = fmt::format("Set-Cookie: {}={}; Path=/; HttpOnly; SameSite=Strict{}\r\n", place.name, cookie,
                                  place.is_secure ? "; Secure" : "");
  return reply;
}

HttpReply ApiAccess::show_session(const HttpRequest& request) {
  const auto caller = caller_of(request);
  const bool has_passwords = logins_ != nullptr && users_ != nullptr;
  if (!caller) {
    return json_reply({{"who", nullptr},
                       {"role", nullptr},
                       {"groups", nlohmann::ordered_json::array()},
                       {"passwords", has_passwords}});
  }
  return json_reply({{"who", caller->author.who},
                     {"role", to_string(caller->role)},
                     {"groups", caller->groups},
                     {"passwords", has_passwords}});
}

HttpReply ApiAccess::end_session(const HttpRequest& request) {
  if (value_of(request.head, "x-bloomwall") != "1" || !is_own_origin(request)) {
    return problem(403, "Not allowed", "X-Bloomwall: 1 and an Origin of this address are needed");
  }
  sessions_.erase(digest_of(cookie_of(request.head)));
  HttpReply reply = json_reply(nlohmann::ordered_json::object());
  reply.more_fields =
      fmt::format("Set-Cookie: {}=; Path=/; HttpOnly; SameSite=Strict; Max-Age=0\r\n", cookie_name(request.head));
  return reply;
}

}  // namespace bloomwall::proxy
