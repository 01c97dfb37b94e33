// The policy decision point: decides on requests, on server names of ClientHellos, on addresses that are about to be
// dialled, and on open tunnels after the rules have changed. It is the only caller of the filters; all other code acts
// on its decisions. Calls keep no state (only buffers), so equal questions get equal answers until adopt().
//
// A request must pass the access rules for its client, the rules for its target and port, and the filters. Where it is
// bound to a destination, that must pass as well: on a transparent listener the original destination address, inside a
// tunnel the host of its CONNECT. All of its names are asked with its path (name_of.h), and of several verdicts the
// worst counts.
// Cost: that of Policy::judge; no allocation where nothing matches. Never waits for the disk. Thread: its worker's.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <tl/expected.hpp>
#include <vector>

#include "proxy/access/block_end.h"
#include "proxy/access/target_check.h"
#include "proxy/decision/client_info.h"
#include "proxy/decision/request_log.h"
#include "proxy/decision/snapshot.h"

namespace bloomwall::proxy {

// Everything about a request that a decision may depend on.
struct RequestContext {
  const RequestHead& head;
  const ClientInfo& client;
  bool is_implicit_tunnel = false;         // a ClientHello on a transparent listener, which stands for a CONNECT
  const User* user = nullptr;              // nullptr: nobody had to log in
  bool is_question = false;                // of another program, which does not want it forwarded (asked_question.h)
  std::span<const RequestHead> also = {};  // of a question: its other readings, of which the same is asked
};

struct Decision {
  enum class Act : std::uint8_t {
    wait_for_pages,    // ask again once Decider::absent_pages() were read; nothing else is set
    refuse,            // by the rules: `error`
    block,             // by a filter: `verdict`
    answer_trace,      // here: Max-Forwards is 0
    answer_options,    // likewise
    answer_authority,  // here: /ca and what stands beside it (authority_page.h)
    show_self,         // here: CONNECT to self_page.host, inside TLS where that may be (kSelfIsPlain else)
    answer_self,       // here: the proxy's own pages (self_pages.h), reports of mistakes (self_request.h)
    forward,           // to host:port
    tunnel,            // likewise
  };
  Act act = Act::refuse;
  HttpError error = {};
  KeptVerdict verdict = {};
  std::string_view host = {};  // canonical, the only thing to resolve and dial; valid until the Decider is asked again
  std::uint16_t port = 0;      // to dial
  std::uint16_t host_field_port = 0;  // as the target gave it: RequestRewrite::port
  // What is to be dialled instead of `host` if the group has its engine's strict filter on. Valid until
  // adopt().
  SafeSearch::Found safe_search = {};
};

// A tunnel that is open, or a connection after an upgrade.
struct TunnelContext {
  const ClientInfo& client;
  std::string_view host, server_name;  // canonical; the latter may be empty
  std::string_view dialled = {};       // TunnelStart::dialled
  std::string_view url;                // of the request that was upgraded; empty for CONNECT
  std::uint16_t port = 0;
  bool to_parent = false;
  bool is_to_be_read = false;  // its client has not spoken, and its TLS would be decrypted
  UserPtr user = nullptr;      // of the request that opened it
  const Endpoint& peer;
};
struct Review {
  enum class Act : std::uint8_t { keep, wait_for_pages, block, refuse };
  Act act = Act::keep;
  KeptVerdict verdict = {};  // block
  HttpError error = {};      // refuse
  const char* why = "";      // block
  static Review blocked(KeptVerdict verdict, const char* why);
};

// The answer to CONNECT to the self host where there is no TLS with it. Browsers that try https first come again by
// http, at once.
inline constexpr HttpError kSelfIsPlain{ErrorKind::misdirected, "self_page.host is spoken to in plain http"};

class Decider {
 public:
  void adopt(SnapshotPtr snapshot, PolicyPtr policy, GroupPoliciesPtr groups = {});

  // Whether the certificate that a client has shown to the proxy itself is valid, and enough, by the current rules. Of
  // one that was verified by them already that is remembered.
  bool is_certificate_valid(const ClientInfo& client) const;

  // Called before anything is done for a client's request, its own limits included. `own_via`: this process's element
  // of Via; empty: loops are not looked for.
  std::optional<HttpError> refuse_client(const RequestContext& request, std::string_view own_via) const;
  Decision decide(const RequestContext& request);
  // Whether it is for the proxy itself: to self_page.host, for a page of its own at a listener, or for the address that
  // the form of a block page has at an origin. Such requests need no login, and are not judged.
  bool is_for_self(const RequestHead& head, const ClientInfo& client) const;
  // Of what was decided last, where that said wait_for_pages. policy() keeps them mapped, for all groups.
  std::span<const std::byte* const> absent_pages() const { return absent_; }
  const PolicyPtr& policy() const { return policy_; }

  // Decides on the SNI of a ClientHello. `user`: of the request that opened the tunnel; nullptr: no login was required.
  // Error bad_target: not a valid host name. The returned host is valid until the
  // next call.
  tl::expected<TargetCheck::Sni, HttpError> server_name(const ClientInfo& client, const User* user,
                                                        std::string_view name) {
    return target_check_.sni(name, seen_by(client, user));
  }

  // Likewise of the address that a client of a transparent listener has connected to. `otherwise: deny` means the names
  // that are asked for there, not the address.
  tl::expected<TargetCheck::Sni, HttpError> destination(const ClientInfo& client, std::string_view address);

  // Likewise of a canonical host.
  tl::expected<TargetCheck::Sni, HttpError> host(const ClientInfo& client, const User* user, std::string_view host) {
    return target_check_.host(host, seen_by(client, user));
  }

  // Under which name this canonical host must be dialled for the client, by safe search.
  SafeSearch::Found safe_search(const ClientInfo& client, const User* user, std::string_view host) const;

  // What the networks in filters say of an address to which a request is about to go; unlisted where there are none.
  bool has_networks() const { return has_networks_; }
  KeptVerdict address(const RequestContext& request, const Endpoint& peer);

  // What the filters say of a key that a cache or a mail server asks about; nothing: ask again once absent_pages() were
  // read.
  // `filter`: the name of the one that is asked about raw keys alone, whatever its action is; empty: all of them.
  std::optional<KeptVerdict> raw_key(const ClientInfo& client, std::string_view key, std::string_view filter);
  // Of a mail address, a host or an address: all filters, about the key itself as a raw key, also as mail servers read
  // it (mail_key.h), and about the host, which of a mail address is its domain. What a white list says of the key
  // itself counts before its host. Rejected: MailKey::must_name_host, and what it names is none.
  std::optional<KeptVerdict> mail_key(const ClientInfo& client, std::string_view key);
  filter::Policy::RawKeys raw_keys_of(const ClientInfo& client, std::string_view filter) const;

  // GroupRules::group_of(): a request looks it up once. 0 where there are no groups.
  std::size_t group_of(const ClientInfo& client, const User* user) const;
  // Until when what was blocked stays blocked: the request, or the host of an open tunnel. Nothing where it is not
  // known without waiting for the disk, and where only the address that the name leads to is blocked.
  BlockEnd block_end(const RequestContext& request, const filter::Verdict& verdict);
  BlockEnd block_end(const ClientInfo& client, const User* user, std::string_view host, const filter::Verdict& verdict);

  // By the current rules and filters.
  Review review(const TunnelContext& opened);

 private:
  const GroupRules* groups() const { return snapshot_->groups.get(); }
  // The policy of that group, with who asks where overrides may depend on it.
  filter::AskedPolicy seen_by(const ClientInfo& client, const User* user, std::size_t group) const;
  filter::AskedPolicy seen_by(const ClientInfo& client, const User* user) const {
    return seen_by(client, user, group_of(client, user));
  }
  Decision decide_request(const RequestContext& request, std::size_t group);
  // The request under the names that its own check does not ask about (decision_names.cc).
  struct OtherNames {
    std::optional<KeptVerdict> connect, address, readings;
    bool pages_absent = false;  // absent_ says which
  };
  tl::expected<OtherNames, HttpError> judge_other_names(const RequestContext& request,
                                                        const filter::AskedPolicy& policy);
  Decision decide_self(const RequestContext& request) const;
  SafeSearch::Found safe_search_of(std::size_t group, std::string_view host) const;
  Review block(const TunnelContext& tunnel);
  Review block_host(const TunnelContext& tunnel, std::string_view host, const char* why);
  Review block_url(const TunnelContext& tunnel);
  filter::Verdict peer_of(const TunnelContext& tunnel);
  std::optional<HttpError> refuse(const TunnelContext& tunnel) const;
  bool has_lost_user(const TunnelContext& tunnel) const;
  bool is_unsafe(const TunnelContext& tunnel) const;
  bool is_client_allowed(const ClientInfo& client) const;
  bool asks_for_authority(const RequestContext& request) const;

  SnapshotPtr snapshot_;
  PolicyPtr policy_;
  GroupPoliciesPtr group_policies_;
  bool has_networks_ = false;       // the policy of any group
  bool overrides_ask_who_ = false;  // likewise
  TargetCheck target_check_{TargetRules{}};
  TargetCheck redirected_check_{TargetRules{}};  // of plain HTTP on transparent listeners
  TargetCheck question_check_{TargetRules{}};    // of requests that others ask about
  std::span<const std::byte* const> absent_;
  std::vector<const std::byte*> absent_of_key_;
  BlockEnds block_ends_;
  // While it is asked what would be decided at another instant, by another policy of the group.
  struct AsOf {
    const filter::Policy* policy = nullptr;  // nullptr: now
    Instant at = 0;
  };
  AsOf as_of_;
};

}  // namespace bloomwall::proxy
