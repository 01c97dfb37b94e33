// The page at /ca that gives users the certificate of the proxy's CA and says what installing it means, with a line for
// each system; and the files beside it. No certificate is read here: the caller brings text (proxy/tls/
// authority_maker.h). HTML, JSON or text as Accept prefers; nothing of it comes from the network.
// The page is not proof of itself, since plain HTTP can be forged: it says to compare the fingerprint with the one that
// `bloomwall ca show` prints.
// Threads: any. Cost: some microseconds of formatting, 12 KB.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "proxy/reply/replies.h"

namespace bloomwall::proxy {

enum class AuthorityResource : std::uint8_t { page, pem, der, profile };
// Of /ca, /ca.crt, /ca.der and /ca.mobileconfig; nothing for other paths. A query does not matter.
std::optional<AuthorityResource> authority_resource(std::string_view path);

struct AuthorityPage {
  struct Authority {
    std::string role;  // "in use", "next", "previous"
    std::string subject;
    std::string fingerprint;  // SHA-256, "AB:CD:..."
    std::string ends;         // 2036-01-31T12:00:00Z
  };
  enum class Reads : std::uint8_t { nothing, blocked_hosts, listed_hosts, all_hosts };  // tls_inspection.mode
  std::vector<Authority> authorities;                                                   // the one in use first
  Reads reads = Reads::nothing;
  bool logs_all_urls = false;  // tls_inspection.log_urls: all
  std::string kept_for = {};   // how long requests are stored (query_log.keep), in words; empty: they are not
  std::string contact = {};    // whom to ask (block_page.contact); empty: not said
};
std::string authority_page_text(const AuthorityPage& page, MediaType type);
// Content-Type and more fields, each with its CRLF, of a file; literals.
struct AuthorityFileKind {
  std::string_view content_type, more_fields;
};
AuthorityFileKind authority_file_kind(AuthorityResource file);
// 200 with the page. The body of a file is given by the caller: PEM, DER or a configuration profile.
void write_authority_page(std::string& out, const AuthorityPage& page, const ReplyContext& context);
void write_authority_file(std::string& out, AuthorityResource resource, std::string_view body,
                          const ReplyContext& context);

// How to install ca.crt, a line for each kind of system.
struct InstallLine {
  std::string_view system, how;
};
const std::vector<InstallLine>& install_lines();

}  // namespace bloomwall::proxy
