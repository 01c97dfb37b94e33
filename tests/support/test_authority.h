// Certificates for one test, good and bad in every way that a verifier must notice: kinds of keys, dates, names,
// extensions, versions, digests. Keys are made once a process for each (kind, use). A failure throws.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "proxy/tls/handles.h"

namespace bloomwall::test {

// `kind`: "P-256", "P-384", "P-521", "P-224", "Ed25519", or the name of a key in tests/data/tls, which take long to
// make: "RSA-1024" to "RSA-8192", "DSA-2048"; these are the same for each use. Of the process: not to be freed.
EVP_PKEY* test_key(const std::string& kind, const std::string& use = "");

struct CertificateSpec {
  std::string common_name = {};             // empty: the subject is empty
  std::vector<std::string> dns = {};        // subjectAltName; octets as they are, NUL included
  std::vector<std::string> addresses = {};  // subjectAltName, iPAddress
  bool critical_names = false;
  std::string key = "P-256", key_use = {};  // of test_key(); without a use it is the common name
  std::string digest = "SHA256";            // of the signature; ignored for Ed25519
  std::int64_t from = -24 * 3600;           // seconds from now
  std::int64_t to = 30 * 24 * 3600;
  int version = 3;                 // 1: no extensions at all
  bool is_ca = false;              // basicConstraints and keyUsage of a CA, else of a server
  bool default_extensions = true;  // false: only what `extensions` says
  std::vector<std::pair<std::string, std::string>> extensions =
      {};  // in OpenSSL's text form; a name given here replaces
};

struct Issued {
  proxy::X509Ptr certificate;
  EVP_PKEY* key = nullptr;
  X509* get() const { return certificate.get(); }
};
// Signed by the issuer, or by itself where there is none.
Issued issue(const CertificateSpec& spec, const Issued* issuer = nullptr);
Issued copy_of(const Issued& issued);

std::string pem_of(const std::vector<const X509*>& certificates);
std::string revocation_list(const Issued& issuer, const std::vector<const X509*>& revoked,
                            bool expired = false);  // PEM
// DER of an OCSP response.
struct StapleSpec {
  bool revoked = false;
  std::int64_t from = -3600, to = 3600;  // seconds from now
  const Issued* responder = nullptr;     // nullptr: the issuer signs
};
std::string ocsp_answer(const X509* certificate, const Issued& issuer, const StapleSpec& spec);

std::string hex_key_hash(const X509* certificate);

}  // namespace bloomwall::test
