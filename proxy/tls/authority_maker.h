// Makes certificate authorities: P-256, a root that signs leaves, or a root that signs nothing but an issuing CA below
// it, so that the root's key can be kept offline.
//   subject   O = the organisation, CN = "bloomwall HOST 8 hex digits of the key": two installations never share a name
//   validity  from 7 days ago, because clocks of clients are late, to `days` ahead
//   fields    basicConstraints CA:TRUE critical (pathlen 0 of what signs leaves), keyUsage keyCertSign and cRLSign
//             critical, subject key identifier, authority key identifier below a root, name constraints where wanted;
//             no addresses of issuers or revocation lists, since there are none
// Threads: any. Errors: one line.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <tl/expected.hpp>
#include <vector>

#include "proxy/tls/certificate_authority.h"
#include "proxy/tls/pem_files.h"

namespace bloomwall::proxy {

// What the CA may sign for (RFC 5280 section 4.2.1.10): domains with all below them, and networks (10.0.0.0/8,
// 2001:db8::/32). Some clients (Java up to 17) do not look at those of a root that they trust.
struct NameLimits {
  std::vector<std::string> permitted;  // empty: all; domains without networks permit no address at all
  std::vector<std::string> excluded;
};
// One a line: "permitted example.test", "excluded 10.0.0.0/8"; "#" begins a comment. Errors name the line.
tl::expected<NameLimits, std::string> parse_name_limits(std::string_view text);

struct AuthorityRequest {
  std::string organisation = "bloomwall";  // 1 to 64 characters
  std::string host;                        // this machine's name; cut to what fits
  int days = 3650;                         // 8 to 36,500
  NameLimits names = {};
  bool with_intermediate = false;
  std::int64_t now = 0;              // seconds since 1970
  std::string_view passphrase = {};  // the keys are encrypted with it (PKCS#8, AES-256); empty: they are not
};
struct MadeAuthority {      // PEM
  std::string certificate;  // of what signs leaves, followed by its root where that is another
  Secret key;
  std::string root_certificate;  // with_intermediate: of the root, and its key, to be taken offline
  Secret root_key;
};
tl::expected<MadeAuthority, std::string> make_authority(const AuthorityRequest& request);

// Certificates of CAs in the forms that systems install them in. Only what is public goes in and out.

// Each under a comment of its role, subject and fingerprint.
std::string published_pem(const std::vector<PublishedAuthority>& published);
// A configuration profile of Apple's systems (.mobileconfig) that installs them as roots. Its UUIDs are made from the
// fingerprints: the same CAs give the same profile, which replaces itself.
std::string mobile_profile(const std::vector<PublishedAuthority>& published);
// published_pem() behind the roots that the system trusts, for programs that take one file for all (REQUESTS_CA_BUNDLE,
// SSL_CERT_FILE). Errors: the system's roots cannot be read.
tl::expected<std::string, std::string> bundle_with_system_roots(const std::vector<PublishedAuthority>& published,
                                                                const SystemRoots& roots);

}  // namespace bloomwall::proxy
