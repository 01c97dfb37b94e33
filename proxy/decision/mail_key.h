// What mail servers read in a key that they ask about: a mail address, the name of a host or of HELO, or an address.
// Pure; linear.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

namespace bloomwall::proxy {

struct MailKey {
  std::string_view key;
  // Of a mail address its domain, else the key; without the brackets of [192.0.2.1] and the tag of [IPv6:2001:db8::1].
  std::string_view host;
  // A mail address has a domain, and an old route leads to a host; where that is none, it is not known what the key
  // means. Other keys need not be hosts: "<>" (the empty sender), "unknown" (a client without a name), names of users
  // ("corp\john.doe"), fingerprints, and whatever a client has said in HELO ("localhost.(none)", "printer.1").
  bool must_name_host = false;
  // As servers compare it: in lower case, without the quotes that a local part may have, without the dot behind the
  // domain; empty: the key is written so already.
  std::string plain = {};
};
MailKey read_mail_key(std::string_view key);
// MailKey::plain, with the name of a host that is not of ASCII alone as DNS has it: `canonical`, how browsers read it.
std::string plain_under(const MailKey& read, std::string_view canonical);

// What uses ! or % for the address of a host beyond this one is read by some servers and not by others.
bool is_old_route(std::string_view host);
// Browsers take "10.5" and "192" for addresses, mail servers do not: theirs of IPv4 are four decimal numbers.
// `canonical`: how browsers read `host`.
bool is_short_address(std::string_view host, std::string_view canonical);

}  // namespace bloomwall::proxy
