// Whether a TLS connection of a client is decrypted: the one place that knows the modes and exemptions of
// `tls_inspection`. A pure function of what is known of the connection and of the rules; no clock, no sockets.
//
// The mode is that of the client's group (groups[].tls_inspection), else the common one; a group's `never` is asked
// before the common one.
// The order, first that applies:
//   1 mode off                     tunnel
//   2 octets that are no TLS       tunnel or refuse, as access.opaque_tunnels says
//   3 exempt (never, no_decrypt, client, port)  tunnel
//   4 host blocked                 page; refuse for those who cannot or shall not see it. In the modes urls and all,
//                                  where URLs on it are allowed, as 6 and 7: only inside is known which are asked for
//   5 mode blocked                 tunnel
//   6 ECH that hides the name      intercept or refuse, as `ech` says
//   7 marks on authority or SNI    intercept (refuse where the client speaks no HTTP version that is served inside)
//   8 mode all                     intercept, unless the client or the origin makes that impossible
//   9                              tunnel
// In 1 to 3 a blocked host is refused. Thus a blocked host is never tunnelled, and nothing that a peer sends tunnels a
// marked host.
// A host is exempt only if every name of the connection is: a client chooses authority and SNI freely, and either could
// name an exempt host. What a redirected client was about to reach must at least have no marks.
// Asked twice: at CONNECT, before anything is dialled (only a blocked host matters then), and with the ClientHello.
// Cost: a few comparisons, two CIDR questions, one hash probe for each host suffix; no allocation. Thread-safe.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <tl/expected.hpp>
#include <vector>

#include "conf/config.h"
#include "filter/policy/verdict.h"
#include "proxy/access/access_rules.h"
#include "proxy/access/host_lists.h"

namespace bloomwall::proxy {

// A name of the connection, and what the filters say of it as a host (Policy::judge_host).
struct TlsName {
  std::string_view host = {};  // canonical
  bool is_blocked = false;
  bool has_allowed_urls = false;                       // although it is blocked
  bool has_marks = false, has_blocking_marks = false;  // of filters that block or monitor; of those that block
  bool no_decrypt = false;
  static TlsName of(std::string_view host, const filter::Verdict& verdict) {
    return {.host = host,
            .is_blocked = verdict.decision >= filter::Decision::blocked,
            .has_allowed_urls = verdict.allowed_urls != filter::VerdictReason::unlisted,
            .has_marks = verdict.host_has_marks,
            .has_blocking_marks = verdict.host_has_blocking_marks,
            .no_decrypt = verdict.no_decrypt};
  }
};

// Of the ClientHello.
struct TlsHello {
  bool has_alpn = false;      // without it HTTP/1.1 is assumed
  bool offers_http1 = false;  // ALPN http/1.1
  bool offers_http2 = false;  // ALPN h2
  bool has_ech = false;       // the extension, real or GREASE
  // What an origin would be offered for it (origin_alpn()).
  std::string_view alpn_to_origin = {};
};

struct TlsRequest {
  // The CONNECT's host; on a transparent listener the SNI, or without one the destination address.
  TlsName authority;
  std::optional<TlsName> sni = {};       // nothing: none sent, or no ClientHello yet
  std::optional<TlsHello> hello = {};    // nothing: at CONNECT
  std::uint16_t port = 443;              // of the CONNECT or the destination
  std::optional<IpAddress> client = {};  // nothing: not asked
  std::size_t group = 0;                 // GroupRules::group_of(); asked only if has_groups()
  std::string_view user_agent = {};      // of the CONNECT
  bool is_transparent = false;
  TlsName destination = {};               // is_transparent: the address that the client was about to reach
  bool is_opaque = false;                 // the client's octets are neither TLS nor HTTP
  bool is_self = false;                   // the host is self_page.host: its pages, by whatever program
  bool page_refused = false;              // the client refused our certificate for this host lately (TlsRefusals)
  bool may_auto_pass = false;             // likewise, and auto_pass applies
  bool origin_wants_certificate = false;  // the origin asked for a client certificate lately
  bool origin_lacks_http = false;         // it agreed to no HTTP version that the client offers
};

enum class TlsAction : std::uint8_t {
  tunnel,     // octets pass unread
  intercept,  // decrypt, judge each request
  page,       // decrypt without an origin, answer with the block page
  refuse,     // at CONNECT 403, else close; where reason is alpn alert 120
};
// Also labels of bloomwall_tls_decisions_total.
enum class TlsReason : std::uint8_t {
  mark,         // URL entries exist on a name of the connection, or allow URLs on one that is blocked
  all,          // mode all
  blocked,      // a filter blocks the host
  never,        // tls_inspection.never
  no_decrypt,   // a filter with that action
  client,       // tls_inspection.clients, never_clients
  port,         // tls_inspection.ports
  auto_pass,    // the client refuses our certificates
  client_cert,  // the origin wants a client certificate
  handshake,    // no handshake with the origin by our rules, and on_failed_handshake says pass
  alpn,         // no HTTP version that is served inside
  ech,          // Encrypted Client Hello
  opaque,       // no TLS
  mode,         // the mode decrypts nothing of this kind
  self,         // the host is the proxy's own
};
const char* to_string(TlsAction action);  // "tunnelled", "intercepted", "page", "refused", as in metrics
const char* to_string(TlsReason reason);

struct TlsDecision {
  TlsAction action = TlsAction::refuse;
  TlsReason reason = TlsReason::mode;
  // never: the entry. Lives as long as the rules.
  const NeverList::Entry* entry = nullptr;
  // intercept: a tunnel is still possible where the origin turns out to want a client certificate, to speak no HTTP
  // version of ours, or (on_bad_certificate, on_failed_handshake: pass) to have a bad certificate or no TLS by our
  // rules. Never of a host with marks.
  bool may_step_back = false;
  // intercept, page: the ClientHello does not show the name that it means, and its client is expected to end the
  // handshake and come again with it (RFC 9849 section 6.1.6).
  bool hides_name = false;
  conf::TlsInspection::Mode mode = conf::TlsInspection::Mode::off;  // that held for this client
  bool is_mode_of_group = false;
  // "mode urls", "mode all of the group", "never-decrypt.txt:14 example.com", "tls_inspection.never_clients": the
  // setting that decided.
  std::string source() const;
};

// `tls_inspection` compiled.
class InspectionRules {
 public:
  using Mode = conf::TlsInspection::Mode;
  // Reads the files of hosts, unless the mode is off. Every error, one line each.
  static tl::expected<InspectionRules, std::vector<std::string>> compile(const conf::Config& settings);

  // For anybody.
  bool is_on() const { return greatest_ != Mode::off; }
  Mode greatest_mode() const { return greatest_; }
  // Whether TlsRequest::group matters: the settings of a group differ from the common ones.
  bool has_groups() const { return !groups_.empty(); }
  // The place of a configured group; one behind the last for any other name.
  std::size_t group_named(std::string_view name) const;
  const conf::TlsInspection& settings() const { return settings_; }
  const NeverList& never() const { return never_; }
  // The origin is offered what the client offers of HTTP/2 and HTTP/1.1, and the client gets what the origin chose.
  // As in a ClientHello: each protocol behind its length.
  std::string_view origin_alpn(bool offers_http1, bool offers_http2) const;

  TlsDecision decide(const TlsRequest& request) const;

 private:
  struct GroupRule {
    std::string name;
    Mode mode = Mode::off;
    bool has_mode = false;  // of its own
    NeverList never;
  };
  const GroupRule* group_of(const TlsRequest& request) const;
  Mode mode_of(const TlsRequest& request) const;
  TlsDecision choose(const TlsRequest& request) const;
  bool is_client_exempt(const IpAddress& client) const;
  std::optional<TlsDecision> exempt(const TlsRequest& request) const;
  const NeverList::Entry* never_entry(const TlsRequest& request, const TlsName& name) const;
  TlsDecision show_page(const TlsRequest& request) const;
  bool hides_name(const TlsRequest& request) const;
  bool can_serve(const TlsRequest& request) const;
  bool has_marks(const TlsRequest& request) const;
  bool leaves_urls(const TlsRequest& request) const;
  bool is_marked(const TlsName& name) const;
  TlsDecision decide_unmarked(const TlsRequest& request) const;

  conf::TlsInspection settings_;
  Mode greatest_ = Mode::off;
  std::vector<GroupRule> groups_;  // all that are configured, in their order; empty: none differs
  bool refuses_opaque_ = false;
  CidrSet clients_, never_clients_;
  std::vector<std::uint16_t> ports_;  // sorted; empty: any
  NeverList never_;
  NeverList ech_names_;  // beside those of is_ech_public_name()
};

// The names that ClientHellos with real ECH show in clear: of the services that terminate it for others.
bool is_ech_public_name(std::string_view host);

}  // namespace bloomwall::proxy
