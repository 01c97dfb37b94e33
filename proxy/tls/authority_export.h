// Certificates of CAs in the forms that systems install them in. Only what is public goes in and out.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "proxy/tls/certificate_authority.h"

namespace bloomwall::proxy {

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
