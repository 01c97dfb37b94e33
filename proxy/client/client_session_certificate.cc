// TLS of a client with the proxy itself, and its certificate (declared in client_session.h).
// SPDX-License-Identifier: Apache-2.0
#include <memory>
#include <utility>

#include "proxy/client/client_session.h"
#include "proxy/decision/worker_state.h"
#include "proxy/io/tls_transport.h"
#include "proxy/tls/client_certificates.h"
#include "proxy/tls/tls_session.h"

namespace bloomwall::proxy {

void ClientSession::secure(const TlsContext& context) {
  transport_ = std::make_unique<TlsTransport>(worker_.io, std::move(transport_), TlsSession::accept(context), *this);
}

// With the first request.
void ClientSession::note_certificate() {
  const TlsSession* const tls = transport_->tls();
  X509* const certificate = tls == nullptr ? nullptr : tls->peer_certificate();
  if (certificate == nullptr) return;
  auto noted = std::make_unique<ClientInfo::Certificate>();
  noted->names = client_certificate_names(certificate);
  noted->shown = share(certificate);
  if (tls->peer_chain() != nullptr)
    noted->chain.reset(X509_chain_up_ref(const_cast<STACK_OF(X509)*>(tls->peer_chain())));
  info_.certificate = std::move(noted);
}

// False: it is revoked since a reload, or no longer enough, and the connection is closed.
bool ClientSession::is_certificate_valid() {
  if (!info_.is_secure) return true;
  if (!past_.has_asked) note_certificate();
  if (worker_.decider.is_certificate_valid(info_)) return true;
  close();
  return false;
}

}  // namespace bloomwall::proxy
