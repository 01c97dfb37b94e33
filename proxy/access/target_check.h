// The policy check of a request's target: whether it may be forwarded, and to which host and port. Joins the parsed
// head, the canonicaliser and the policy in the order ARCHITECTURE.md fixes: CONNECT authority before any name is
// resolved, SNI before a client octet is relayed, every form of an ambiguous path judged.
// No allocation where nothing matches. Not thread-safe because of the Canonicaliser (one a worker).
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <tl/expected.hpp>

#include "filter/policy/asker.h"
#include "filter/policy/verdict.h"
#include "filter/url/address.h"
#include "filter/url/canonical_url.h"
#include "proxy/access/access_rules.h"
#include "proxy/access/name_of.h"
#include "proxy/access/tunnel_target.h"
#include "proxy/http/http_error.h"
#include "proxy/http/request.h"

namespace bloomwall::proxy {

struct TargetRules {
  bool strict_path = false;         // refuse every path that has alternative forms
  bool accept_origin_form = false;  // transparent listeners: origin-form, routed by Host; no CONNECT
  bool accept_https = false;        // questions of other programs: URLs of https as well
  std::string_view via_name = {};   // own name in Via: met too often there it is a loop; empty: not looked for
};

enum class Route : std::uint8_t {
  forward,       // to host:port
  tunnel,        // CONNECT to host:port
  answer_trace,  // Max-Forwards: 0
  answer_options,
};

// Whether a call may block on the disk where a filter is larger than memory. non_blocking: pages_absent instead.
enum class Waiting : std::uint8_t { blocking, non_blocking };

struct CheckedTarget {
  Route route = Route::forward;
  filter::Verdict verdict = {};       // allowed, monitored or blocked; never rejected (that is an error)
  NameOf name = NameOf::target;       // that the verdict is of
  std::string_view host = {};         // canonical, the only thing to resolve and dial; valid until the next question
  std::uint16_t port = 0;             // to dial
  std::uint16_t host_field_port = 0;  // for RequestRewrite::port: as the target gave it
  bool pages_absent = false;  // there is no verdict before TargetCheck::absent_pages() are read; all else means nothing
};

class TargetCheck {
 public:
  // The policy is an argument of each call because a reload replaces it, and whoever asks another.
  explicit TargetCheck(TargetRules rules) : rules_(rules) {}

  // A whole request head; CONNECT included. Errors: bad_target, ambiguous_path, port_denied, not_implemented (scheme),
  // misdirected (origin-form on a forward listener), method_not_allowed (CONNECT on a transparent one), loop.
  tl::expected<CheckedTarget, HttpError> request(const RequestHead& head, const filter::AskedPolicy& asked,
                                                 const AccessRules& access, Waiting waiting = Waiting::blocking);
  // A request inside a tunnel: like one on a transparent listener, but the tunnel's host is checked as well as the host
  // in Host or in its URL; without Host it is for the tunnel's. Of the two verdicts the worse counts. Inside TLS both
  // hosts must be the same: misdirected, unless the request is blocked.
  tl::expected<CheckedTarget, HttpError> inside(const RequestHead& head, const TunnelTarget& tunnel,
                                                const filter::AskedPolicy& asked, Waiting waiting);
  // The path of a request under another name that its connection has: a canonical host, or an address without brackets.
  // Of the answer only verdict, name and pages_absent mean anything. A CONNECT has no path: the host alone is asked.
  tl::expected<CheckedTarget, HttpError> under(const RequestHead& head, const TunnelTarget& other,
                                               const filter::AskedPolicy& asked, Waiting waiting);
  // The pages that the last call lacked, valid until the next call; with Waiting::non_blocking only.
  std::span<const std::byte* const> absent_pages() const { return absent_; }
  // The name in a ClientHello: host-level expressions only. Error bad_target: a name no host can have.
  struct Sni {
    filter::Verdict verdict;
    std::string_view host;  // canonical
  };
  tl::expected<Sni, HttpError> sni(std::string_view name, const filter::AskedPolicy& asked);
  // Checks again what was checked before: a canonical host, or a URL unless that needs a page from the disk. `host`:
  // canonical, or an address without brackets, in place of that of the URL; empty: none.
  tl::expected<Sni, HttpError> host(std::string_view name, const filter::AskedPolicy& asked);
  std::optional<filter::Verdict> url_at_once(std::string_view url, std::string_view host,
                                             const filter::AskedPolicy& asked);

  // Checks the addresses (not empty) that a request or tunnel, whose target was checked before, is sent to against the
  // filters' networks: the worst verdict over them, and of a request inside a tunnel the worse of the tunnel's host and
  // its own. Allow entries for the URL or the host count. Rejected only for a rejected URL, which the earlier check
  // excludes. Needs no page from the disk; call it only if the policy has_networks().
  using Addresses = std::span<const IpAddress>;
  filter::Verdict request_to(Addresses addresses, const RequestHead& head, const filter::AskedPolicy& asked);
  filter::Verdict inside_to(Addresses addresses, const RequestHead& head, const TunnelTarget& tunnel,
                            const filter::AskedPolicy& asked);
  filter::Verdict host_to(Addresses addresses, std::string_view host, const filter::AskedPolicy& asked);
  filter::Verdict url_to(Addresses addresses, std::string_view url, const filter::AskedPolicy& asked);
  // As host_to(), for a host that is an address; IPv6 without brackets.
  filter::Verdict literal_to(Addresses addresses, std::string_view literal, const filter::AskedPolicy& asked);

 private:
  std::string_view in_brackets(std::string_view name);
  tl::expected<CheckedTarget, HttpError> absolute(const RequestHead& head, const filter::AskedPolicy& asked);
  tl::expected<CheckedTarget, HttpError> origin(const RequestHead& head, const filter::AskedPolicy& asked);
  std::string_view url_at(std::string_view host, std::uint16_t port, const RequestHead& head);
  std::string_view named_url(const RequestHead& head);
  tl::expected<CheckedTarget, HttpError> judge(std::string_view url, const RequestHead& head,
                                               const filter::AskedPolicy& asked);
  tl::expected<CheckedTarget, HttpError> connect(const RequestHead& head, const filter::AskedPolicy& asked,
                                                 const AccessRules& access);
  TargetRules rules_;
  filter::Canonicaliser canonicaliser_;
  Waiting waiting_ = Waiting::blocking;
  Scheme scheme_ = Scheme::http;  // of the request that is being checked
  std::vector<const std::byte*> absent_;
  std::string url_;  // origin-form, and inside a tunnel: scheme, host and target joined
};

// The URL a person knows the request by: for the page and the log. CONNECT: host:port. Userinfo is left out. `scheme`:
// of a target in origin-form.
void append_display_url(std::string& out, const RequestHead& head, Scheme scheme = Scheme::http);

}  // namespace bloomwall::proxy
