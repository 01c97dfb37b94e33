// For `explain`: the checks of a URL besides the filters' verdict on it. An https URL reaches the proxy as a CONNECT,
// which shows only a host; the access rules decide on ports, addresses and schemes; and the proxy does not connect to
// itself.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <tl/expected.hpp>
#include <utility>

#include "conf/config.h"
#include "filter/policy/policy.h"
#include "proxy/access/access_rules.h"
#include "proxy/access/target_check.h"
#include "proxy/dns/static_hosts.h"
#include "proxy/upstream/addresses.h"
#include "proxy/upstream/parent_proxy.h"

namespace bloomwall::proxy {

struct Passage {
  bool is_tunnel = false;     // https, wss and ws: a CONNECT comes instead of the URL
  bool is_encrypted = false;  // nothing but the host is seen, unless tls_inspection decrypts it
  bool is_decrypted = false;  // which the caller knows
  std::string target;         // host:port of the CONNECT; empty where there is none
  filter::Verdict verdict;    // on the CONNECT; lives as long as the policy. Of other requests the URL's own counts
  int status = 0;             // of a refusal by the rules; 0: they let it pass
  std::string error = {};     // name of that error as in the log: "port_denied"
  std::string why = {};       // the rule
  bool is_stopped() const { return status != 0 || verdict.decision == filter::Decision::blocked; }
};

// Not thread-safe. Addresses are known of literals and of names in dns.hosts and the hosts file; nothing is resolved.
class PassageJudge {
 public:
  // Error: the key and what is wrong with it.
  static tl::expected<PassageJudge, std::string> compile(const conf::Config& settings);
  // With what a snapshot of these settings has.
  static tl::expected<PassageJudge, std::string> of(const conf::Config& settings, AccessRules access,
                                                    StaticHosts hosts);
  // `url`: of `raw`, and has a canonical form. `dialled`: what safe search dials instead of its host, or empty.
  Passage judge(std::string_view raw, const filter::CanonicalUrl& url, const filter::AskedPolicy& policy,
                std::string_view dialled = {});

 private:
  PassageJudge(AccessRules access, StaticHosts hosts, OwnAddresses own, std::optional<BypassList> direct)
      : access_(std::move(access)), hosts_(std::move(hosts)), own_(std::move(own)), direct_(std::move(direct)) {}
  std::optional<HttpError> refuse_address(std::string_view host, std::uint16_t port) const;

  AccessRules access_;
  StaticHosts hosts_;
  OwnAddresses own_;                  // as far as their ports are configured
  std::optional<BypassList> direct_;  // nothing: there is no parent, all targets are dialled
  TargetCheck target_check_{TargetRules{}};
};

// "through a tunnel: CONNECT a.test:443 is allowed (unlisted); ...", or why the rules refuse it; one line with its line
// feed. Empty where only the URL's own verdict applies.
std::string passage_text(const Passage& passage);

}  // namespace bloomwall::proxy
