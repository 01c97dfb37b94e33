// Decides whether a certificate chain is an origin's. One object for each generation of settings; a reload makes
// another, so nothing that was verified under old settings stays verified.
//
//   auto verifier = OriginVerifier::load(settings);          // off the loop: reads files, 50 ms for the system's roots
//   (*verifier)->learn_from(*before);                        // reload: intermediates that were seen stay candidates
//   auto context = TlsContext::for_origins(*verifier);       // one for each worker: OpenSSL locks stores and contexts
//   auto session = TlsSession::connect(**context, target);
//
// Rules: a path to a root; names by SAN only, a wildcard is the whole first label and not directly under a registry's
// suffix; every certificate valid now; purpose, CA flag, path length, constraints, critical extensions; keys of RSA
// 2048, EC 256 or Ed25519 and SHA-2 signatures; no own CA and no distrusted key in the path; revoked by no list and no
// stapled answer. A failure is never retried with less: only an exception for (host, key) accepts the certificate, and
// it excuses neither an own CA nor a distrusted key.
// Errors of load(): one line that names the file, its line where it has one, and what to do.
// Threads: any, after load(). Cost: 0.2 ms a signature; a chain that is remembered 10 us.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <tl/expected.hpp>
#include <unordered_map>
#include <vector>

#include "proxy/tls/certificates.h"
#include "proxy/tls/handles.h"
#include "proxy/tls/origin_memory.h"
#include "proxy/tls/trust_exceptions.h"

namespace bloomwall::proxy {

// tls_inspection.verify; empty paths: not set.
struct OriginTrust {
  std::filesystem::path ca_file = {};             // PEM roots instead of the system's
  std::filesystem::path extra_ca_file = {};       // PEM roots beside them
  std::filesystem::path intermediates_file = {};  // PEM, for origins that send an incomplete chain
  std::filesystem::path kept_intermediates = {};  // likewise, kept by `bloomwall update`; it may be missing
  std::filesystem::path crl_file = {};            // PEM revocation lists; a list that is out of date still counts
  std::vector<std::string> distrust = {};         // key hashes as parse_key_hash() reads them
  std::filesystem::path trust_exceptions = {};    // see trust_exceptions.h
  std::vector<std::string> own_keys = {};  // public_key_info() of every CA certificate that this proxy has or had
};

class OriginVerifier {
 public:
  using Clock = std::function<std::int64_t()>;  // seconds since 1970
  static std::int64_t system_seconds();
  using Loaded = tl::expected<std::shared_ptr<OriginVerifier>, std::string>;
  static Loaded load(const OriginTrust& settings, Clock clock = system_seconds);
  void learn_from(const OriginVerifier& before);

  // The roots, for one SSL_CTX. The certificates are shared.
  X509StorePtr new_store() const;

  struct Verified {
    CertificateError error = CertificateError::none;
    int x509_error = X509_V_OK;  // what OpenSSL turns into the alert for the origin
    std::string why;             // in words, with nothing from the certificate; empty where it is accepted
    X509Ptr issuer;              // of the origin's certificate; nullptr: unknown, or the certificate is a root
    std::int64_t not_after = 0;  // until when the result may stand: the first end in the path, or of the exception
    bool by_exception = false;   // it fails, and an exception accepts it
    bool remembered = false;     // no signature was verified
    bool without_scts = false;   // a public root's, and no SCT is embedded; false where remembered
  };
  // `sent`: the chain as it came, the origin's certificate first. `name`: A-label in lower case, or an address without
  // brackets. `store`: of new_store(), of this worker.
  Verified verify(X509_STORE* store, const STACK_OF(X509) * sent, const std::string& name);

  // What the stapled answer (empty: none) means for a certificate that verify() accepted: revoked, no_staple or none.
  CertificateError check_staple(const Verified& verified, X509* leaf, std::span<const unsigned char> answer,
                                const std::string& name) const;

  OriginSessions& sessions() { return sessions_; }
  std::int64_t now() const { return clock_(); }
  std::size_t learnt() const;  // intermediates
  std::size_t remembered() const { return chains_.size(); }

 private:
  struct Path;  // how far OpenSSL came
  explicit OriginVerifier(Clock clock) : clock_(std::move(clock)) {}
  std::optional<std::string> read_files(const OriginTrust& settings);
  std::optional<std::string> read_roots(const OriginTrust& settings);
  Path find_path(X509_STORE* store, X509* leaf, STACK_OF(X509) * candidates, const std::string& name) const;
  bool add_issuers(STACK_OF(X509) * candidates) const;
  Path try_issuers(X509_STORE* store, X509* leaf, STACK_OF(X509) * candidates, const std::string& name) const;
  Verified judge(const Path& path, const STACK_OF(X509) * sent) const;
  CertificateError check_keys(const STACK_OF(X509) * path) const;
  bool is_revoked(X509* certificate, X509* issuer) const;
  bool is_from_own_ca(X509* top, const STACK_OF(X509) * sent) const;
  std::optional<std::int64_t> exception_for(X509* leaf, const std::string& name) const;
  void learn(const STACK_OF(X509) * path, Verified& verified);

  Clock clock_;
  std::vector<X509Ptr> roots_;
  std::set<KeyHash> public_roots_;  // keys of the system's roots; empty where ca_file replaces them
  std::set<KeyHash> distrusted_, own_;
  std::vector<EvpKeyPtr> own_keys_;
  std::unordered_multimap<unsigned long, X509CrlPtr> crls_;  // by hash of the issuer's name
  TrustExceptions exceptions_;
  static constexpr std::size_t kLearntLimit = 4096;
  IntermediatePool given_{SIZE_MAX};
  mutable std::mutex learnt_mutex_;
  IntermediatePool learnt_{kLearntLimit};
  VerifiedChains chains_;
  OriginSessions sessions_;
};

}  // namespace bloomwall::proxy
