// The certificate authority (CA) that signs the leaves of intercepted hosts: its certificate, what is sent behind a
// leaf, and the signer. Made by `bloomwall ca init`, or taken from a company's PKI.
//
// Refused when it is loaded, in one line that names the file and what to do:
//   no CA (basicConstraints, keyUsage, extendedKeyUsage), version 1 or 2; a path length that its place does not allow
//   the key of another certificate; a key or a passphrase that others may read (pem_files.h); a missing passphrase
//   not valid yet, expired, or fewer days left than a leaf lives
//   RSA of fewer than 2,048 bits, another kind of key than RSA and EC P-256, P-384, P-521; signed with SHA-1 or MD5
//   the certificate of a public CA: one that the system trusts and that nobody has added to this machine
// Immutable; shared by threads. Loading reads files and verifies a few signatures: milliseconds, not on an event loop.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <tl/expected.hpp>
#include <utility>
#include <vector>

#include "proxy/tls/certificates.h"
#include "proxy/tls/handles.h"

namespace bloomwall::proxy {

// Signs certificates with the key of a certificate authority: to-be-signed octets in, signature out. One call, so that
// the key may be in this process, in a token or in another process.
// Threads: any, several at a time.
class Signer {
 public:
  virtual ~Signer() = default;
  // The signature algorithm as OpenSSL numbers it (NID_ecdsa_with_SHA256, ...), as it stands in the certificate.
  virtual int algorithm() const = 0;
  // Takes less than 0.1 ms and waits for nothing: it may run on an event loop. All others run on a thread.
  virtual bool is_fast() const = 0;
  // The signature over the octets (which it digests as the algorithm says), as it stands in the certificate: of ECDSA
  // the DER of (r, s). Errors: one line.
  virtual tl::expected<std::string, std::string> sign(std::span<const unsigned char> octets) const = 0;
};
using SignerPtr = std::shared_ptr<const Signer>;

// A key of this process: RSA of 2,048 bits and more (SHA-256), EC P-256 (SHA-256, the only fast one), P-384 (SHA-384),
// P-521 (SHA-512). Errors: a key of another kind, which clients do not verify.
tl::expected<SignerPtr, std::string> make_signer(EvpKeyPtr key);

struct AuthorityFiles {
  // PEM: the certificate that signs leaves, then those above it, each the issuer of the one before it. The root may be
  // left out.
  std::filesystem::path certificate;
  std::filesystem::path key;                   // PEM, the first certificate's
  std::filesystem::path passphrase_file = {};  // its first line opens the key; empty: the key is not encrypted
  std::filesystem::path next = {};             // PEM: a CA that is published before it signs; empty: none
  friend bool operator==(const AuthorityFiles&, const AuthorityFiles&) = default;
};

// Where the system keeps the roots that it trusts.
struct SystemRoots {
  std::filesystem::path bundle = {};  // PEM; empty: OpenSSL's default file and folder
  // What lies below these was added to this machine by its owner, and is not public.
  std::vector<std::filesystem::path> added = {"/usr/local/share/ca-certificates", "/etc/pki/ca-trust/source/anchors",
                                              "/etc/ca-certificates/trust-source/anchors"};
};
enum class RootTrust : std::uint8_t { unknown, added, is_public };
// Whether the system trusts this certificate as a root, and by whom it was added.
RootTrust root_trust(X509* certificate, const SystemRoots& roots);

struct AuthorityTerms {
  std::int64_t now = 0;  // seconds since 1970
  int leaf_days = 5;     // tls_inspection.leaf.days: what must at least be left
  SystemRoots roots = {};
};

class CertificateAuthority {
 public:
  using Loaded = tl::expected<std::shared_ptr<const CertificateAuthority>, std::string>;
  static Loaded load(const AuthorityFiles& files, const AuthorityTerms& terms);
  // With a signer of the caller's (a token, another process): `certificates` as in the file, `where` for messages. That
  // the signer holds the certificate's key is found out by a signature.
  static Loaded make(std::vector<X509Ptr> certificates, SignerPtr signer, const AuthorityTerms& terms,
                     const std::string& where);

  X509* certificate() const { return certificates_.front().get(); }  // the issuer of leaves
  // What users install: the last of the file, a root where the file holds it.
  X509* anchor() const { return certificates_.back().get(); }
  // Behind a leaf: what is not self-signed, in order; empty for a root that signs leaves itself. Never null.
  STACK_OF(X509) * chain() const { return chain_.get(); }
  const Signer& signer() const { return *signer_; }
  // All of the file. Their keys are the ones that origins must not have (section "own CA" of the verification).
  const std::vector<X509Ptr>& certificates() const { return certificates_; }

  std::int64_t not_before() const { return not_before_; }  // in which all of them are valid
  std::int64_t not_after() const { return not_after_; }
  const std::string& key_identifier() const { return key_identifier_; }  // octets: the leaves' AKI
  bool has_name_constraints() const { return has_name_constraints_; }    // one of them

 private:
  CertificateAuthority(std::vector<X509Ptr> certificates, SignerPtr signer);
  std::vector<X509Ptr> certificates_;
  SignerPtr signer_;
  X509StackPtr chain_;
  std::string key_identifier_;
  std::int64_t not_before_ = 0, not_after_ = 0;
  bool has_name_constraints_ = false;
};
using AuthorityPtr = std::shared_ptr<const CertificateAuthority>;

// Where name constraints permit domains, so that clients refuse its leaves for all others: the first of them.
std::optional<std::string> permitted_domain(const CertificateAuthority& authority);

// Mints a leaf and verifies it as the strictest clients do: X509_STRICT, name, purpose, security level 2. The error
// says what they would refuse.
tl::expected<void, std::string> check_strictly(const AuthorityPtr& authority, std::int64_t now);

// "expires in 12 days: ..." where fewer than 60 are left; urgent below 14.
struct ExpiryWarning {
  std::string text;
  bool is_urgent = false;
};
std::optional<ExpiryWarning> expiry_warning(const CertificateAuthority& authority, std::int64_t now);

// Certificates that users install, beside the one in use. `previous_file`: where `bloomwall ca activate` leaves the CA
// that it replaces.
std::filesystem::path previous_file(const std::filesystem::path& certificate);
struct PublishedAuthority {
  enum class Role : std::uint8_t { in_use, next, previous };
  Role role;
  X509Ptr certificate;
};
const char* to_string(PublishedAuthority::Role role);
// The anchor in files.certificate, that of `next` where the file exists, and the previous one until its last leaf has
// died. Reads files, no key. Errors: one of the files cannot be read; `next` is no CA that could be used.
tl::expected<std::vector<PublishedAuthority>, std::string> published_authorities(const AuthorityFiles& files,
                                                                                 const AuthorityTerms& terms);

// public_key_info() of every CA of the files: the one in use with those above it, the next one, and the former one for
// as long as its file is there, since a system may still trust it. No origin may have any (OriginTrust::own_keys).
tl::expected<std::vector<std::string>, std::string> own_authority_keys(const AuthorityFiles& files,
                                                                       const AuthorityTerms& terms);

}  // namespace bloomwall::proxy
