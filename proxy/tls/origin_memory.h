// What is remembered of connections to origins: verified chains, sessions, intermediate certificates.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <openssl/x509.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <list>
#include <mutex>
#include <optional>
#include <string>
#include <unordered_map>

#include "proxy/tls/handles.h"

namespace bloomwall::proxy {

// Memory of chains that were verified for a name, so that the next connection to the same origin spends nothing on the
// signatures of its certificates (RSA-2048 chain 1.07 -> 0.88 ms of a handshake, P-384 chain 2.1 -> 0.87 ms). The
// origin still proves that it has the key, and a stapled OCSP answer is still read.
// Key: SHA-256 over the octets of every certificate sent, and the name. It belongs to one generation of settings.
// Bounded: 10,000 chains, 1 hour each, never beyond the end of any certificate in the path; the oldest goes first.
// Memory: 200 octets a chain; issuers are shared. Threads: any (a mutex, held for a look-up).
class VerifiedChains {
 public:
  static constexpr std::size_t kLimit = 10'000;
  static constexpr std::int64_t kLifetime = 3600;  // seconds

  using Digest = std::array<std::uint8_t, 32>;
  static Digest digest_of(const STACK_OF(X509) * sent, const std::string& name);

  struct Chain {
    X509Ptr issuer;              // of the leaf: the signer of its OCSP answers; nullptr: the leaf is a root itself
    std::int64_t not_after = 0;  // the first end of a certificate in the path
  };
  std::optional<Chain> find(const Digest& digest, std::int64_t now);
  void add(const Digest& digest, const Chain& chain, std::int64_t now);
  std::size_t size() const;

 private:
  struct Hash {
    std::size_t operator()(const Digest& digest) const;
  };
  struct Entry {
    Chain chain;
    std::int64_t until = 0;
  };
  mutable std::mutex mutex_;
  std::unordered_map<Digest, Entry, Hash> chains_;
  std::deque<Digest> age_;  // oldest first; holds each key of chains_ once
};

// TLS sessions with origins, for abbreviated handshakes: up to 2 for each (host, port, name), 10,000 in all; beyond
// that the origin that was used least recently loses its own. A session is kept until 24 hours after the certificate of
// its first handshake was verified, and never beyond that certificate's end; a resumed session inherits that end.
// A session of TLS 1.3 is used once (RFC 8446 C.4), one of TLS 1.2 until its end.
// Kept as DER without the origin's certificates, which nothing asks a resumed session for: 0.3 KiB and the ticket. A
// ticket may have 64 KiB: a session over kMostOfOne is not kept, and beyond kMostOctets in all the origin that was used
// least recently loses its own, too.
// Threads: any (a mutex, held for a look-up). A session is handed to one connection at a time.
class OriginSessions {
 public:
  static constexpr std::size_t kLimit = 10'000, kPerOrigin = 2;
  static constexpr std::size_t kMostOfOne = std::size_t{8} * 1024, kMostOctets = std::size_t{16} << 20;
  static constexpr std::int64_t kLifetime = std::int64_t{24} * 3600;  // seconds

  struct Kept {
    SslSessionPtr session;   // nullptr: none
    std::int64_t until = 0;  // seconds since 1970
  };
  Kept take(const std::string& origin, std::int64_t now);
  void keep(const std::string& origin, const SSL_SESSION& session, std::int64_t until);
  std::size_t size() const;    // sessions
  std::size_t octets() const;  // of them, and of what the origins are called by

 private:
  struct Stored {
    std::string der;  // empty: none
    std::int64_t until = 0;
    bool is_used_once = false;
  };
  struct Origin {
    std::string key;
    std::array<Stored, kPerOrigin> sessions;  // newest first
  };
  void forget(Stored& stored);
  using Origins = std::list<Origin>;  // used last first
  void drop(Origins::iterator origin);

  mutable std::mutex mutex_;
  Origins origins_;
  std::unordered_map<std::string_view, Origins::iterator> by_key_;
  std::size_t count_ = 0, octets_ = 0;
};

// Intermediate certificates by subject, for origins that do not send theirs: those of a file, or those seen in chains
// that were verified. They are candidates of a path and no anchors, so what is in here makes nothing trusted.
// Bounded: beyond `limit` the oldest goes. Memory: 5-8 KiB a certificate.
// Threads: one at a time; OriginVerifier holds a mutex around the one that grows.
class IntermediatePool {
 public:
  explicit IntermediatePool(std::size_t limit) : limit_(limit) {}
  // Keeps the certificate unless it is here; returns the copy that is kept, which many chains then share.
  X509Ptr add(X509* certificate);
  // Adds references to those that may have issued `certificate` to the stack, as far as they are not in it and it holds
  // less than `limit`.
  void append_issuers(X509* certificate, STACK_OF(X509) * stack, int limit) const;
  void add_all(const IntermediatePool& other);
  std::size_t size() const { return age_.size(); }

 private:
  std::size_t limit_;
  std::unordered_multimap<unsigned long, X509Ptr> by_subject_;  // hash of the name
  std::deque<X509*> age_;                                       // oldest first
};

}  // namespace bloomwall::proxy
