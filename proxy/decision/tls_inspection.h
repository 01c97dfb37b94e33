// Interception as the event loops need it: the rules, the contexts of both sides and the certificates, compiled from
// `tls_inspection` and part of a Snapshot, in which it is nullptr where the mode is off.
// Immutable but for what its members guard themselves; shared by all workers.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <tl/expected.hpp>
#include <utility>
#include <vector>

#include "proxy/access/tls_decision.h"
#include "proxy/access/tls_refusals.h"
#include "proxy/decision/client_info.h"
#include "proxy/http/http_error.h"
#include "proxy/io/endpoint.h"
#include "proxy/reply/authority_page.h"
#include "proxy/tls/leaf_cache.h"
#include "proxy/tls/origin_verifier.h"
#include "proxy/tls/tls_context.h"
#include "proxy/tls/tls_session.h"

namespace bloomwall::proxy {

struct WorkerState;

// What is known of a tunnel when it is opened, for the decision at its ClientHello.
struct TlsQuestion {
  std::string host;  // canonical, of the CONNECT
  std::uint16_t port = 0;
  std::string user_agent;
  std::string destination;  // transparent listeners: the address that the client was about to reach
  bool is_transparent = false;

  // By the current filters, since a reload may have come in between. Lives as long as this does.
  TlsRequest request(const ClientInfo& client, const User* user, WorkerState& worker) const;
};

class TlsInspection {
 public:
  // Errors: one line each, of files of `tls_inspection`. nullptr: the mode is off. `before`: what a reload replaces;
  // leaves of an unchanged authority are kept, and so are learnt intermediates.
  using Made = tl::expected<std::shared_ptr<const TlsInspection>, std::vector<std::string>>;
  static Made compile(const conf::Config& settings, const TlsInspection* before);

  const InspectionRules& rules() const { return rules_; }
  const TlsContext& clients() const { return *clients_; }
  const LeafMint& mint() const { return *mint_; }
  // Of the process, whichever edition.
  const std::shared_ptr<LeafCache>& leaves() const { return leaves_; }
  // What is given out at /ca (authority_page.h).
  const AuthorityPage& page() const { return page_; }
  const std::string& file(AuthorityResource resource) const;
  // When each CA that is published ends; seconds since 1970.
  using AuthorityEnds = std::vector<std::pair<PublishedAuthority::Role, std::int64_t>>;
  const AuthorityEnds& authority_ends() const { return authority_ends_; }
  // A context for one worker's connections to origins (OpenSSL 3.0 locks its stores).
  std::size_t session_octets() const { return verifier_->sessions().octets(); }
  TlsContext::Made make_origin_context() const { return TlsContext::for_origins(verifier_); }

  // The certificate that a client is shown for `host` (canonical). Nothing: `done` is called with it, on any thread.
  std::optional<LeafCache::Answer> ask_leaf(std::string_view host, const Endpoint& client, LeafCache::Done done,
                                            LeafKeyType type = LeafKeyType::ecdsa) const;
  // What a client of `host` is shown.
  TlsIdentity identity(const Leaf& leaf, std::string& session_context, std::string_view host,
                       std::string_view alpn) const;

 private:
  explicit TlsInspection(InspectionRules rules) : rules_(std::move(rules)) {}
  tl::expected<void, std::string> publish(const AuthorityFiles& files, const AuthorityTerms& terms);
  InspectionRules rules_;
  TlsContextPtr clients_;
  std::shared_ptr<OriginVerifier> verifier_;
  LeafMintPtr mint_;
  std::uint32_t leaf_days_ = 0;
  AuthorityPage page_;
  std::string pem_, der_, profile_;
  AuthorityEnds authority_ends_;
  std::shared_ptr<LeafCache> leaves_;
};

// What verifies origins by `tls_inspection`, whatever its mode, without the key of its CA. Errors: one line.
OriginVerifier::Loaded load_origin_verifier(const conf::Config& settings);
// Whom to speak TLS to: `host` canonical, dialled as `at`.
TlsTarget tls_target(std::string_view host, std::uint16_t port);
// Why a handshake with an origin has failed.
HttpError origin_tls_error(const TlsSession& tls);

}  // namespace bloomwall::proxy
