// The TLS settings of one kind of connections: certificate and key of a listener, the authorities that a parent's
// certificate is verified with, the rules for origins, or clients whose TLS is intercepted. Only TLS 1.2 and 1.3, with
// forward secrecy, without renegotiation and compression; ALPN is http/1.1 unless a session says otherwise.
// Immutable once made, shared by all workers; sessions keep their own reference, so a reload does not affect them.
// Errors: one line that names the file and what OpenSSL objects to.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <openssl/ssl.h>

#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <tl/expected.hpp>

#include "proxy/tls/client_certificates.h"
#include "proxy/tls/handles.h"

namespace bloomwall::proxy {

class Leaf;
class OriginVerifier;

class TlsContext {
 public:
  using Made = tl::expected<std::shared_ptr<const TlsContext>, std::string>;
  // PEM both; the certificate is followed by its chain. The key must be the certificate's.
  static Made for_listener(const std::filesystem::path& certificate, const std::filesystem::path& key,
                           const ClientCertificates& clients = {});
  // A listener's likewise, with a certificate that the proxy's own authority has signed.
  static Made for_leaf(const Leaf& leaf);
  // Peers are verified against the authorities in the file; empty: against the system's.
  static Made for_peers(const std::filesystem::path& authorities);

  // Origins are verified by the rules of origin_verifier.h. One for each worker: OpenSSL 3.0 locks its stores. Cost:
  // 0.1 ms and 30 KiB; the roots are shared.
  static Made for_origins(std::shared_ptr<OriginVerifier> verifier);
  // Clients whose TLS is ended here: each session brings its certificate. Tickets are of the process, with keys that
  // change every hour. 0-RTT is never accepted.
  static Made for_intercepted();

  const std::shared_ptr<OriginVerifier>& verifier() const { return verifier_; }  // of for_origins(), else nullptr
  SSL_CTX* get() const { return context_.get(); }
  struct Validity {  // seconds since 1970
    std::int64_t not_before = 0, not_after = 0;
  };
  const Validity& validity() const { return validity_; }  // of a listener's certificate
  // Whether a listener's certificate is for this host: a name, or an address, one of IPv6 in brackets.
  bool is_for(std::string_view host) const;
  // When the first list of revoked clients is out of date, seconds since 1970; 0: there is none.
  std::int64_t revocations_end() const { return revocations_end_; }
  // Whether a listener would accept a client with this certificate by now; nullptr: with none.
  bool admits(X509* certificate, const STACK_OF(X509) * chain) const;

 private:
  explicit TlsContext(SslContextPtr context) : context_(std::move(context)) {}
  std::shared_ptr<OriginVerifier> verifier_;
  SslContextPtr context_;
  Validity validity_;
  ClientCertificates clients_;
  std::int64_t revocations_end_ = 0;
};
using TlsContextPtr = std::shared_ptr<const TlsContext>;

// The newest reason on OpenSSL's queue, which is emptied; `otherwise` where there is none.
std::string tls_error(const char* otherwise);

// Keys of TLS session tickets, one set per process, for abbreviated handshakes of returning clients. Kept over reloads,
// so that a reload does not cost a full handshake per client; rotated every day, so that a stolen key opens one day's
// sessions. Tickets of the previous keys are still accepted and replaced. Clients whose TLS is intercepted have keys of
// their own, which are rotated every hour.
// Threads: any; reading the current keys is lock-free.
class TicketKeys {
 public:
  using Clock = std::chrono::steady_clock;
  static constexpr std::chrono::hours kLifetime{24};
  struct Key {
    std::array<unsigned char, 16> name{};
    std::array<unsigned char, 32> cipher{}, mac{};
    Clock::time_point made;
  };
  struct Pair {
    Key current, before;
  };

  explicit TicketKeys(Clock::time_point now, Clock::duration lifetime = kLifetime);
  // Those that count at this time; makes new ones where the last have had their day.
  std::shared_ptr<const Pair> at(Clock::time_point now);

  enum class Use : std::uint8_t { listeners, intercepted };
  static constexpr std::chrono::hours kInterceptedLifetime{1};
  // Makes sessions of this context use the process's keys for this.
  static void install(SSL_CTX* context, Use use = Use::listeners);

 private:
  Clock::duration lifetime_;
  std::atomic<std::shared_ptr<const Pair>> pair_;
};

}  // namespace bloomwall::proxy
