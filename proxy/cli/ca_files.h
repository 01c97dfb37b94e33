// What `bloomwall ca` changes on disk: makes a CA, puts the next one in place of the one in use.
//   ca.crt 0644   ca.key 0600, owned by the service's user where root writes it
//   ca.next.crt, ca.next.key   the CA to come, until it is activated
//   ca.previous.crt            the certificate that was replaced last: published until its last leaf has died
//   ca.root.crt, ca.root.key   with an intermediate: the root, whose key is to be taken offline
// Each file is written whole or not at all. Errors: one line.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <string>
#include <tl/expected.hpp>
#include <vector>

#include "conf/config.h"
#include "proxy/tls/authority_maker.h"
#include "proxy/tls/certificate_authority.h"

namespace bloomwall::proxy {

AuthorityFiles authority_files(const conf::Config& settings);  // those of tls_inspection.ca

// "ca.next.crt" beside "ca.crt".
std::filesystem::path with_word(const std::filesystem::path& file, const char* word);
// The key's file that belongs to a certificate's.
std::filesystem::path key_beside(const std::filesystem::path& certificate);

struct WrittenAuthority {
  std::vector<std::string> files, warnings;
};
// Makes the folder (0750, for the service's user) where there is none. Refuses to write over a file unless `force`,
// and one file for both.
tl::expected<WrittenAuthority, std::string> write_authority(const MadeAuthority& made,
                                                            const std::filesystem::path& certificate,
                                                            const std::filesystem::path& key, bool force);

// `next` and its key take the places of files.certificate and files.key, whose certificate becomes the previous one.
// What was interrupted is finished by the next call. Refused: there is no next CA, or it cannot be loaded; or one file
// holds the certificate and the key.
tl::expected<WrittenAuthority, std::string> activate_next(const AuthorityFiles& files, const AuthorityTerms& terms);

// What those who run it should know of a CA that can be used, one line each: whether strict clients accept what it
// signs, who can get at the folder of its key, and whether this machine trusts it. Cost: a signature, and the system's
// roots are read.
struct AuthorityReview {
  std::vector<std::string> errors, warnings;
};
AuthorityReview review_authority(const AuthorityPtr& authority, const AuthorityFiles& files,
                                 const AuthorityTerms& terms);

}  // namespace bloomwall::proxy
