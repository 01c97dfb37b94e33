// Certificates and revocation lists of PEM files. Blocks of other kinds and text between blocks are skipped.
// Errors: one line: the file, the line of the block that does not parse, what to do. A file without a block is
// wrong, and so is one that is too large.
// Cost: reads the whole file; 0.2-0.35 ms a certificate. Not for an event loop.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <tl/expected.hpp>
#include <vector>

#include "proxy/tls/handles.h"

namespace bloomwall::proxy {

inline constexpr std::size_t kMostPemFile = std::size_t{256} << 20;  // bytes; lists of revoked certificates are large
tl::expected<std::string, std::string> read_text(const std::filesystem::path& file, std::size_t most = kMostPemFile);
tl::expected<std::vector<X509Ptr>, std::string> read_certificates(const std::filesystem::path& file,
                                                                  std::size_t most = kMostPemFile);
// Every certificate of a PEM text, in its order. Nothing: a block does not parse.
std::optional<std::vector<X509Ptr>> certificates_of(std::string_view pem);
tl::expected<std::vector<X509CrlPtr>, std::string> read_crls(const std::filesystem::path& file);
// The roots that the system trusts: $SSL_CERT_FILE, OpenSSL's own file, or the bundle of Debian or Fedora; the first
// that exists.
tl::expected<std::vector<X509Ptr>, std::string> read_system_roots();

}  // namespace bloomwall::proxy
