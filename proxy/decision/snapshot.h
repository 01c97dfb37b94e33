// Everything that a reload may replace, immutable, in two parts that are built off the event loops and published
// together. A request keeps the snapshot it began with, so a swap does not affect it. The policy is held only by
// workers and by waits for its pages, not by requests: a verdict takes a microsecond, a transfer may last for days, and
// an old policy that is still referenced pins gigabytes of filters in memory and on disk.
// What a running Server reads from here: filters and allow lists (policy), access.*, authentication, block_page,
// headers, timeouts, limits, upstream, dns.hosts, log.access.format and .strip_query, query_log, certificates and
// balancers of listeners.
// Not read again after create(): the rest of listeners and dns, workers.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <tl/expected.hpp>
#include <vector>

#include "base/time_zone.h"
#include "conf/config.h"
#include "filter/policy/policy.h"
#include "proxy/access/group_rules.h"
#include "proxy/access/safe_search.h"
#include "proxy/auth/authentication_rules.h"
#include "proxy/auth/user_table.h"
#include "proxy/decision/admin_certificate.h"
#include "proxy/decision/group_policies.h"
#include "proxy/query_log/log_rules.h"
#include "proxy/reply/block_template.h"
#include "proxy/tls/tls_context.h"
#include "proxy/upstream/dial_rules.h"
#include "proxy/upstream/parent_proxy.h"

namespace bloomwall::proxy {

// What a reload may change of a listener; where it listens, its mode, and whether it speaks TLS or PROXY, it may not.
struct ListenerRules {
  std::string address;  // as configured: what tells listeners apart
  conf::Listener::Mode mode = conf::Listener::Mode::forward;
  TlsContextPtr tls;  // nullptr: plain
  CidrSet balancers;  // not empty: only these may connect, and begin with a PROXY header
};

// What a reload may change of a place where other programs ask: whom to trust, and for what.
struct AnswerRules {
  std::string address;  // as configured
  conf::Answers::Protocol protocol = conf::Answers::Protocol::http;
  CidrSet trust;       // askers that are believed for whom they ask
  std::string found;   // conf::Answers::found
  bool users = false;  // those are believed for the user, too
};

class TlsInspection;

struct Snapshot : DialRules {
  std::uint64_t generation = 0;  // 1 for the first, one more for each reload; stands in metrics
  conf::Config settings;
  BlockTemplate page;                                // from settings.block_page, or the built-in one
  std::optional<ParentProxy> parent;                 // from settings.upstream
  std::vector<ListenerRules> listeners;              // from settings.listeners, in their order
  std::vector<AnswerRules> answers;                  // from settings.answers, in their order
  std::shared_ptr<AdminCertificate> admin_tls;       // from settings.admin.tls; nullptr: plain
  UserTable::Ptr admin_users;                        // from settings.admin.users_file; nullptr: there is none
  std::shared_ptr<const TlsInspection> inspection;   // from settings.tls_inspection; nullptr: off
  AuthenticationRulesPtr authentication;             // from settings.authentication; nullptr: nobody must log in
  AuthenticationRulesPtr names;                      // the same rules in any case: of users whom askers name
  std::shared_ptr<const GroupRules> groups;          // from settings.groups; nullptr: there are none
  std::map<std::string, BlockTemplate> group_pages;  // of groups that have their own
  std::shared_ptr<const SafeSearch> safe_search;     // from settings.groups; nullptr: no group asks for it
  TimeZone zone;                                     // settings.time_zone: of times for people
  LogRules query_log;                                // from settings.query_log and .groups
  std::string pac_file;                              // what settings.pac.file holds; empty: it is null

  // Whether block pages have a form to report mistakes with, where there is somebody to keep them.
  bool takes_reports() const { return settings.block_page.reports && settings.block_page.report_url.empty(); }
  // Of the group of that name; empty: of those in none.
  const BlockTemplate& page_of(const std::string& group) const;
};
using SnapshotPtr = std::shared_ptr<const Snapshot>;
using PolicyPtr = std::shared_ptr<const filter::Policy>;

// What one reload brings, and what a change of a schedule or of an exception replaces in part.
struct Edition {
  SnapshotPtr snapshot;
  PolicyPtr policy;              // all filters as they are outside of groups
  GroupPoliciesPtr groups = {};  // nullptr: `policy` is everybody's
  SwitchesPtr switches = {};     // overrides of what groups do
  // The same with the policies of groups as they are at this instant.
  Edition at(Instant instant) const;
};

// Compiles what the settings spell as text. Every error at once, one line each: "access.clients: not a network:
// 10.0.0.0/99". Reads the block page's template file, certificates, credentials and /etc/hosts; touches no socket.
// `before`: what a reload replaces; nullptr: nothing is served yet.
tl::expected<SnapshotPtr, std::vector<std::string>> make_snapshot(const conf::Config& settings,
                                                                  std::uint64_t generation,
                                                                  const Snapshot* before = nullptr);

}  // namespace bloomwall::proxy
