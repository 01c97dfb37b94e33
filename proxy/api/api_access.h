// Who may do what with the API: finds out who asks, and lets a handler be called only where that one's role suffices.
//   the unix socket       root and the daemon's own user are admins; others who can connect are operators
//   the admin address     a token with a role: "Authorization: Bearer bw_...", or a session
//   a session             POST /api/v1/session with a token, or with a name and a password of
//                         admin.users_file: a cookie, HttpOnly and SameSite=Strict, that stands for either for kIdle
//                         after it was used last, and for as long as there is that token, or that name with that
//                         password. Its name has the port of the address, bloomwall_session_9128: browsers send
//                         cookies to every port of a host
//   GET /api/v1/session   who asks, to anybody: {"who":"token anna","role":"reviewer","groups":["7b"],
//                         "passwords":false}; nobody known is null, null and []; passwords: there are people who sign
//                         in by one. So a page need not provoke a 401 to learn that it must ask for a token
// A browser sends cookies on behalf of any page. So a request that comes with one and is no GET must have the field
// "X-Bloomwall: 1" and an Origin that is this address.
// A token or a user with the role reviewer and groups reviews for these alone: what it changes must be for one of them.
// A reply that goes on asks Caller::may_still: rights end with a token, a session, or another entry in the users file.
// Errors: 401 nobody known, with WWW-Authenticate; 403 the role does not suffice, or the page is foreign; 429 too many
// wrong passwords (admin_logins.h), with Retry-After; 503 too many passwords wait to be checked.
// Sessions live in memory: a restart ends them. Tokens are of 160 random bits, so guesses of them are not counted.
// Thread: the loop's.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <tl/expected.hpp>
#include <utility>
#include <variant>
#include <vector>

#include "proxy/api/admin_logins.h"
#include "proxy/api/http_routes.h"
#include "proxy/auth/user_table.h"
#include "proxy/state/audit.h"
#include "proxy/state/tokens.h"

namespace bloomwall::proxy {

struct Caller {
  Author author;
  Role role = Role::viewer;
  // Of a reviewer: the groups whose exceptions, switches and reports alone it may change; empty: all.
  std::vector<std::string> groups = {};
  // Whether who has asked could ask for the same again, of a route for `least`. Empty: for ever. On the loop.
  std::function<bool(Role least)> may_still = {};
  // Whether it may change what is for that group; empty: for everybody, for a client or for a user.
  bool may_change(std::string_view group) const {
    return groups.empty() || std::ranges::find(groups, group) != groups.end();
  }
};

struct ApiRequest {
  const HttpRequest& http;
  const Caller& caller;
};

struct ApiRoute {
  std::string_view method, path;  // literals
  Role role = Role::admin;        // the least that suffices
  std::function<HttpReply(const ApiRequest&)> handler;
  std::size_t most_body = 0;
};

class ApiAccess {
 public:
  static constexpr std::chrono::hours kIdle{12};
  static constexpr std::size_t kMostSessions = 1000;
  struct Clocks {
    std::chrono::steady_clock::time_point (*monotonic)() = &std::chrono::steady_clock::now;
    std::int64_t (*seconds)() = nullptr;  // since 1970
  };
  // `logins`: nullptr: nobody signs in by a password.
  ApiAccess(const CurrentTokens& tokens, Clocks clocks, AdminLogins* logins = nullptr)
      : tokens_(tokens), clocks_(clocks), logins_(logins) {}
  void use(UserTable::Ptr users) { users_ = std::move(users); }  // of Form::people; nullptr: there are none

  HttpRoute guarded(ApiRoute route);               // of this object, which must outlive it
  HttpRoute guarded(HttpRoute route, Role least);  // one that need not know who asks
  std::vector<HttpRoute> session_routes();
  // Requests that showed a token which is none, has ended or gives no role; not those of sessions whose token is gone.
  std::uint64_t login_failures() const { return login_failures_; }

 private:
  using Digest = TokenDigest;  // of the cookie's value
  struct Password {            // that somebody has known
    std::string name, hash;
  };
  using Proof = std::variant<TokenDigest, Password>;
  struct Session {
    Proof proof;
    std::chrono::steady_clock::time_point used;
  };
  tl::expected<Caller, HttpReply> caller_of(const HttpRequest& request);
  tl::expected<Caller, HttpReply> caller_by(const Proof& proof, const char* via) const;
  tl::expected<Caller, HttpReply> caller_by_token(const TokenDigest& digest) const;
  tl::expected<Caller, HttpReply> caller_by_password(const Password& password) const;
  static std::optional<Proof> proof_of(std::string_view token);  // nothing: it is spelt as none is
  tl::expected<Caller, HttpReply> log_in(const std::optional<Proof>& proof, const char* via);  // counts failures
  tl::expected<Caller, HttpReply> caller_by_cookie(const HttpRequest& request);
  HttpReply begin_session(const HttpRequest& request);
  // As whom a browser keeps the session of an address.
  struct CookiePlace {
    std::string name;
    bool is_secure = false;
  };
  static CookiePlace place_of(const HttpRequest& request);
  HttpReply begin_session_of(const std::optional<Proof>& proof, const CookiePlace& place);
  HttpReply ask_password(const HttpRequest& request, std::string name, std::string password);
  HttpReply after_password(const AdminLogins::Answer& answer, const CookiePlace& place);
  HttpReply show_session(const HttpRequest& request);
  HttpReply end_session(const HttpRequest& request);
  void forget_idle();

  const CurrentTokens& tokens_;
  Clocks clocks_;
  AdminLogins* const logins_;
  UserTable::Ptr users_;
  std::map<Digest, Session> sessions_;
  std::uint64_t login_failures_ = 0;
};

}  // namespace bloomwall::proxy
