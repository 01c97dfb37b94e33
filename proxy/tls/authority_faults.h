// Why a certificate cannot be a certificate authority that clients accept. Used by certificate_authority.h.
// Source: RFC 5280 section 4.2.1 and 6.1; interception's rules for an imported CA.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "proxy/tls/certificate_authority.h"

namespace bloomwall::proxy {

// Of `certificates`, in the order of the file; the first fault found, as "certificate 2: what", without a number where
// there is only one. Nothing: leaves signed by the first one can be verified up to the last one.
std::optional<std::string> authority_fault(const std::vector<X509Ptr>& certificates, const AuthorityTerms& terms);

// Reads a PEM file of certificates: at least one, at most 16 of them.
tl::expected<std::vector<X509Ptr>, std::string> read_authority_file(const std::filesystem::path& path);

}  // namespace bloomwall::proxy
