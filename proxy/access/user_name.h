// One spelling for all that a directory takes for the same name: LDAP compares names of users without regard to case,
// to blanks around them, to how many stand between two words, and to the compatible forms of Unicode (RFC 4518). Who
// spells a name otherwise is still in the same groups.
// Pure functions over text from the network; linear; allocates a few times its length.
// Source: NFKC_Casefold of the Unicode Standard, section 3.13.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace bloomwall::conf {
struct Answers;
struct Authentication;
}  // namespace bloomwall::conf

namespace bloomwall::proxy {

inline constexpr std::size_t kMostUserName = 255;  // octets

// Of text that is not UTF-8 ASCII letters alone are folded. Nothing: nothing would be left, or too much.
std::optional<std::string> fold_user_name(std::string_view name);
// Of a name with the realm of Kerberos behind the last @, which stays as it is: alice@EXAMPLE.COM for
// Alice@EXAMPLE.COM. Of one without a realm as above.
std::optional<std::string> fold_principal_name(std::string_view name);

// Who names users beside the users file, and so by which names a user may be called whom people have written otherwise.
struct NameSources {
  bool has_passwords = false;  // authentication.basic_helper
  bool has_tickets = false;    // authentication.negotiate_helper
  bool has_askers = false;     // a door of `answers` believes what its askers say of users
  bool case_sensitive = false;

  static NameSources of(const conf::Authentication& logins, std::span<const conf::Answers> doors);
  // Each once, none of them as written.
  std::vector<std::string> other_names(std::string_view written) const;
};

}  // namespace bloomwall::proxy
