// What mail servers read in a key that they ask about: a mail address, the name of a host or of HELO, or an address.
// Pure; linear.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

namespace bloomwall::proxy {

struct MailKey {
  // Of a mail address its domain, else the key; without the brackets of [192.0.2.1] and the tag of [IPv6:2001:db8::1].
  std::string_view host;
  // A key with a domain, or with a dot, means a host. "<>" (the empty sender), "unknown" (a client without a name),
  // names of users and fingerprints need not.
  bool names_host = false;
  // As servers compare it: in lower case, without the quotes that a local part may have, without the dot behind the
  // domain; empty: the key is written so already.
  std::string plain;
};
MailKey read_mail_key(std::string_view key);

}  // namespace bloomwall::proxy
