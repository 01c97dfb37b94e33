// Host names whose first label holds "_", and wildcards that stand for it. No such label is a host's (RFC 1123), so
// OpenSSL matches none with a wildcard; but names of buckets and services have them, and browsers and curl accept them.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace bloomwall::proxy {

// A second name to verify a certificate for, where OpenSSL must be helped: it matches the wildcard that stands for
// `host` (A-labels, lower case), and no name in full, since its first label is random. Nothing where `host`
// is matched as it is. Threads: any.
std::optional<std::string> stand_in_for_wildcard(std::string_view host);

}  // namespace bloomwall::proxy
