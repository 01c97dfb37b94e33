// Logins that helpers decide on: passwords (basic_helper), Kerberos tickets (negotiate_helper), and in which groups
// such a user is (groups_helper, asked group after group). The helpers outlive a reload that leaves their settings as
// they are.
// A group that cannot be asked about makes the login unknown: with fewer groups a user might be allowed more.
// What a user's groups are is remembered for authentication.cache; passwords and tickets are not remembered here.
// Threads: any; `done` is called on a thread of the helpers, once.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "proxy/auth/authentication_rules.h"
#include "proxy/auth/basic_credentials.h"
#include "proxy/auth/credential_cache.h"
#include "proxy/auth/credential_key.h"
#include "proxy/auth/helper_pool.h"
#include "proxy/auth/login.h"

namespace bloomwall::proxy {

class HelperLogins {
 public:
  // unknown: no answer, or the helper could not tell. more: of a ticket, whose next leg is to be asked about.
  enum class Verdict : std::uint8_t { right, wrong, unknown, more };
  using Done = std::function<void(Verdict, UserPtr)>;
  struct TicketAnswer {
    Verdict verdict = Verdict::unknown;
    UserPtr user = nullptr;                        // right
    std::string token = {};                        // more: for the client
    HelperConversationPtr conversation = nullptr;  // likewise: for check_ticket()
  };
  using TicketDone = std::function<void(TicketAnswer)>;
  using Figures = std::array<std::pair<const char*, HelperPool::Figures>, 3>;  // by the name of the helper

  HelperLogins(const CredentialHasher::Secret& secret, Milliseconds (*clock)());

  void use(const AuthenticationRules* rules);  // from now on; nullptr: none
  // `key`: of the credentials. `called`: the user, where the helper does not say. `room`: as in HelperPool. False: no
  // room; `done` is not called.
  bool check_password(const AuthenticationRulesPtr& rules, const ClientKey& client, const CredentialKey& key,
                      const NameAndPassword& credentials, const std::string& called, HelperPool::Room room, Done done);
  // `ticket`: negotiate_token(). Each is asked about on its own, as it may be used once. `conversation`: of the answer
  // to the leg before it; nullptr: it is the first.
  bool check_ticket(const AuthenticationRulesPtr& rules, const ClientKey& client, std::string_view ticket,
                    const HelperConversationPtr& conversation, HelperPool::Room room, TicketDone done);
  Figures figures() const;
  // What is remembered of users' groups; remember() before any other call.
  std::vector<CredentialCache::Row> remembered() const { return users_.users(); }
  void remember(std::vector<CredentialCache::Row> rows);

 private:
  // A user whose groups are asked about.
  struct Search {
    AuthenticationRulesPtr rules;
    ClientKey client;
    User user;
    CredentialKey key;     // of the user
    std::size_t next = 0;  // in rules->user_groups
    Done done;
  };
  using SearchPtr = std::shared_ptr<Search>;
  CredentialKey key_of(CredentialHasher::Kind kind, std::string_view text);
  void on_ticket(const AuthenticationRulesPtr& rules, const ClientKey& client, const HelperReply& reply,
                 const TicketDone& done);
  void find_groups(const SearchPtr& search);
  void ask_next(const SearchPtr& search);
  void on_group(const SearchPtr& search, const HelperReply& reply);

  Milliseconds (*const clock_)();
  std::mutex hasher_mutex_;
  CredentialHasher hasher_;  // guarded by hasher_mutex_
  CredentialCache users_;
  std::atomic<std::uint64_t> tickets_{0};
  // Each may ask those before it from its thread, which its destructor joins.
  HelperPool groups_{"groups_helper", HelperPool::Secrets::none};
  HelperPool basic_{"basic_helper", HelperPool::Secrets::passwords};
  HelperPool negotiate_{"negotiate_helper", HelperPool::Secrets::tickets};
};

}  // namespace bloomwall::proxy
