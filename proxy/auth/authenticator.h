// Finds out whose credentials are. One for the process: what it remembers outlives reloads.
//   recall()     what a check has said already: on every request, from any loop; no allocation
//   log_in()     passwords: refuses at once what is malformed, locked, or was refused seconds ago, and asks the
//                CheckQueue about names of the users file, and helpers about all others
//   take_token() tokens that programs log in with, by the current tokens
//   negotiate()  Kerberos tickets, by a helper; none is remembered here, since each may be used once
// A yes is remembered for `authentication.cache`, a no for kNoHolds. A no does not outlive a change of the users file
// or of the helpers; a yes does as long as the hash in the user's own line, or the helpers that know it, are the same
// (AuthenticationRules::still()), and has the groups and the end that the line has by now. No user outlives its own
// end, or the end of Basic. memory() is what the next process of an upgrade begins with. Credentials that are
// remembered are taken even where their client or user is locked. Of an address no more is asked of helpers at a time
// than it has attempts left, so that none of them is shown more guesses; an answer that comes when its client or user
// is locked counts for nothing. Passwords are wiped after the check; nothing here logs. Threads: any; a
// CredentialHasher belongs to its caller.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>
#include <optional>
#include <string_view>

#include "proxy/auth/attempt_limits.h"
#include "proxy/auth/authentication_rules.h"
#include "proxy/auth/check_queue.h"
#include "proxy/auth/credential_cache.h"
#include "proxy/auth/credential_key.h"
#include "proxy/auth/helper_logins.h"
#include "proxy/auth/login.h"
#include "proxy/auth/login_memory.h"
#include "proxy/auth/password_hash.h"

namespace bloomwall::proxy {

class Authenticator final : CheckQueue::Checker {
 public:
  static constexpr Milliseconds kNoHolds{10'000};
  // Both of the system's clocks; a test has its own.
  struct Clocks {
    Milliseconds (*monotonic)() = nullptr;
    std::int64_t (*seconds)() = nullptr;  // since 1970
  };

  // `tokens`: nullptr: there are none. They outlive this and all that is accepted here.
  Authenticator(const CredentialHasher::Secret& secret, Clocks clocks, const CurrentTokens* tokens = nullptr);
  Authenticator(Clocks clocks, LoginMemory memory, const CurrentTokens* tokens = nullptr);
  LoginMemory memory() const;  // tokens are not in it: they need no check
  // Grows whenever a question about credentials has had its turn: whoever waits while it grows waits for its own.
  std::uint64_t progress() const { return progress_.load(std::memory_order_relaxed); }
  // Passwords wait for their check, or are being checked: on a machine that is busy one may take long.
  bool is_checking() const { return queue_.is_busy(); }
  const CredentialHasher::Secret& secret() const { return secret_; }  // for the hasher of a thread

  // nullptr: not known.
  UserPtr recall(const AuthenticationRules& rules, const CredentialKey& key);

  // `token`: basic_token(); `key`: its key. Nothing: `done` will be called with the result, on another thread.
  std::optional<Login> log_in(const AuthenticationRulesPtr& rules, const ClientKey& client, std::string_view token,
                              const CredentialKey& key, CredentialHasher& hasher, CheckQueue::Done done);
  // A token by itself (Bearer), or in place of a password, whatever the name beside it. One that is right is taken even
  // where its client is locked: 160 bits cannot be guessed. What is not a token is refused.
  Login take_token(const AuthenticationRules& rules, const ClientKey& client, std::string_view token);
  // `ticket`: negotiate_token(). `conversation`: Login::conversation of the leg before it; nullptr: it is the first. As
  // log_in().
  std::optional<Login> negotiate(const AuthenticationRulesPtr& rules, const ClientKey& client, std::string_view ticket,
                                 const HelperConversationPtr& conversation, CheckQueue::Done done);
  // The rules whose helpers are asked from now on; nullptr: none.
  void use(const AuthenticationRules* rules) { helpers_.use(rules); }
  struct Figures {
    std::size_t remembered = 0;                        // checks whose outcome is kept
    std::size_t locked_clients = 0, locked_users = 0;  // now
    HelperLogins::Figures helpers = {};
  };
  Figures figures() const;
  // Credentials in which there is nothing to check: counted as a refusal.
  Login refuse_malformed(const AuthenticationRules& rules, const ClientKey& client);
  std::int64_t seconds() const { return clocks_.seconds(); }

 private:
  Login check(const CredentialQuestion& question, PasswordHasher& hasher) override;
  std::size_t room(const CredentialQuestion& question) override;
  std::optional<UserPtr> find(const AuthenticationRules& rules, const CredentialKey& key);
  void remember(const CredentialQuestion& question, UserPtr user);
  bool ask_helper(CredentialQuestion question, CheckQueue::Done done);
  Login conclude(const CredentialQuestion& question, HelperLogins::Verdict verdict, UserPtr user);
  Login conclude_ticket(const AuthenticationRules& rules, const ClientKey& client, HelperLogins::TicketAnswer answer);
  Milliseconds locked_for(const ClientKey& client, const AttemptLimits::Key& user) const;
  std::size_t attempts_left(const AuthenticationRules& rules, const ClientKey& client, const AttemptLimits::Key* user);
  Login refuse(const AuthenticationRules& rules, const ClientKey& client, const AttemptLimits::Key& user);

  CredentialHasher::Secret secret_;
  Clocks clocks_;
  const CurrentTokens* tokens_;
  CredentialCache cache_;
  AttemptLimits clients_, users_;
  std::atomic<std::uint64_t> progress_{0};
  HelperLogins helpers_;  // these two last: their threads use the others
  CheckQueue queue_{*this};
};

}  // namespace bloomwall::proxy
