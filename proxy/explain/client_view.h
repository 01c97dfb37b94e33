// What the policy is for one client: its group, what that does with the filters at an instant, and when that changes
// next. For `explain` and `check`; the running proxy uses the same GroupRules.
// Exceptions count as at that instant, too. Not thread-safe.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <tl/expected.hpp>
#include <utility>
#include <vector>

#include "filter/policy/overrides.h"
#include "proxy/access/group_rules.h"
#include "proxy/auth/authentication_rules.h"
#include "proxy/decision/snapshot.h"
#include "proxy/explain/client_question.h"
#include "proxy/state/state_store.h"

namespace bloomwall::proxy {

class ClientView {
 public:
  // `all`: every filter as it is outside of groups. `made_by_people`: exceptions and switches, with their ends. The
  // error names what of the question is wrong, as that names it: "client 10.2.3: an address is needed".
  static tl::expected<ClientView, std::string> make(const conf::Config& settings, PolicyPtr all,
                                                    const ExportedState& made_by_people,
                                                    const ClientQuestion& question);
  // Of what the running proxy serves. A user who is not in authentication.users_file may be the holder of a token, and
  // has its groups; one of whom nothing is known counts as one without groups.
  static tl::expected<ClientView, std::string> of(const Edition& served, const State& made_by_people,
                                                  const ClientQuestion& question);

  // Of a request for this host (canonical), at the instant. Hosts that need no credentials are asked without a user.
  // What follows is about the host that was asked for last.
  const PolicyPtr& policy_for(std::string_view host);
  filter::Asker asker() const;  // of that request; borrows from this
  const std::optional<IpAddress>& client() const { return client_; }
  bool is_client_denied() const { return is_client_denied_; }  // one is given, and access.clients has it not
  Instant at() const { return at_; }
  bool has_groups() const { return rules_ != nullptr; }
  // What is dialled instead of the host that was asked for last.
  SafeSearch::Found safe_search(std::string_view host) const {
    return safe_search_ == nullptr ? SafeSearch::Found{} : safe_search_->find(group_, host);
  }
  // Until when `says` gives the same text of the policy, and what it gives then. It is asked at each change of a
  // schedule and each end of these exceptions, kMostChanges times at most: up to Schedule::kHorizon from now, and from
  // each end of an exception that is later.
  static constexpr int kMostChanges = 400;
  struct End {
    Instant at = 0;
    std::string then;  // empty: no change is known
  };
  End holds_until(const std::function<std::string(const filter::Policy&)>& says,
                  const std::vector<std::uint64_t>& exceptions);

  // Lines "client", "user", "group", "time" and "actions"; the first only where the client may not use the proxy, the
  // second only where it must log in, and the others only where there are groups.
  std::string text() const;
  std::string time_text(Instant instant) const { return local_text(instant, zone_); }
  // name, index (from 0), schedules, switches, actions, otherwise; null where there are no groups.
  nlohmann::ordered_json json() const;
  // To `json`: group_index, at, schedules, actions; null or empty where there are no groups.
  void add_group(nlohmann::ordered_json& json) const;
  nlohmann::ordered_json user_json() const;  // name and groups; null: none counts

 private:
  std::string again_text() const;
  ClientView() = default;
  enum class Unknown : std::uint8_t { refused, taken };  // users of whom nothing is known
  std::string take(const conf::Config& settings, const ClientQuestion& question, Unknown unknown);
  std::string take_user(const ClientQuestion& question, const IpAddress& client, bool is_transparent, Unknown unknown);
  std::string client_text() const;
  std::string user_text() const;
  PolicyPtr policy_at(Instant instant);
  PolicyPtr with_exceptions_at(Instant instant);
  Instant next_change(Instant instant, const std::vector<std::uint64_t>& exceptions) const;
  // Of these exceptions, behind the instant.
  std::optional<Instant> next_end(Instant instant, const std::vector<std::uint64_t>& exceptions) const;

  PolicyPtr all_, policy_;
  std::map<std::size_t, PolicyPtr> with_exceptions_;               // by how many there are
  std::map<std::pair<std::size_t, Instant>, PolicyPtr> policies_;  // by group, as they were asked for
  std::vector<filter::Override> exceptions_;
  std::vector<Switch> switches_;
  std::shared_ptr<const GroupRules> rules_;  // null: there are no groups
  std::shared_ptr<const SafeSearch> safe_search_;
  std::size_t group_ = 0, with_user_ = 0, without_user_ = 0;
  AuthenticationRulesPtr logins_;  // null: nobody has to log in
  AuthenticationRulesPtr names_;   // the same in any case
  bool must_log_in_ = false, is_exempt_ = false, is_user_ignored_ = false;
  UserPtr user_;          // null: none is given, or it does not count
  UserPtr token_holder_;  // who logs in under that name by a token; null: nobody
  TimeZone zone_;
  Instant at_ = 0;
  std::optional<Instant> again_;     // the clock is set back: when it shows the time that was asked about again
  std::optional<IpAddress> client_;  // nothing: not given
  bool is_client_denied_ = false;    // by access.clients
};

// "malware block, games block, ads off; otherwise deny".
std::string actions_text(const GroupRules& rules, std::size_t group, Instant at, std::span<const Switch> switches = {});
// "2026-11-23T20:15:00Z".
std::string utc_text(Instant instant);

}  // namespace bloomwall::proxy
