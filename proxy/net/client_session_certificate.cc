// The certificate of a client that speaks TLS to the proxy itself (declared in client_session.h).
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <memory>
#include <utility>

#include "proxy/net/client_session.h"
#include "proxy/net/worker_state.h"
#include "proxy/tls/client_certificates.h"
#include "proxy/tls/tls_session.h"

namespace bloomwall::proxy {

// What it says is noted with the first request; after a reload it is verified again. False: it is revoked, or no longer
// enough, and the connection is closed.
bool ClientSession::is_certificate_valid() {
  if (!info_.is_secure || info_.inside != nullptr) return true;
  const TlsSession* const tls = transport_->tls();
  X509* const certificate = tls == nullptr ? nullptr : tls->peer_certificate();
  if (!has_asked_ && certificate != nullptr) {
    info_.certificate = std::make_unique<const std::vector<std::string>>(client_certificate_names(certificate));
  }
  const Snapshot& snapshot = *worker_.snapshot;
  if (tls == nullptr || std::exchange(verified_by_, snapshot.generation) == snapshot.generation) return true;
  const auto rules = std::ranges::find(snapshot.listeners, *info_.listener_rule, &ListenerRules::address);
  if (rules == snapshot.listeners.end() || rules->tls == nullptr) return true;
  if (rules->tls->admits(certificate, tls->peer_chain())) return true;
  close();
  return false;
}

}  // namespace bloomwall::proxy
