// `authentication:` which clients must say who they are, and how that is checked. A reload takes all of it over.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "base/units.h"

namespace bloomwall::conf {

class MapReader;

struct Authentication {
  // Networks of clients that need credentials; empty: nobody does. Clients of transparent listeners never do.
  std::vector<std::string> require;
  std::vector<std::string> exempt_hosts;  // hosts, with what is below them, and networks that need no credentials
  std::string realm = "bloomwall";        // what browsers show; 1 to 64 letters, digits, blanks or .-_
  bool basic_without_tls = true;          // take passwords on listeners without `tls`, too
  std::filesystem::path users_file;       // name:hash[:group,group[:until]], one user a line; empty: none
  Milliseconds cache{300'000};            // how long credentials that were right need no check, 0 .. 1d
  std::uint32_t attempts = 10;            // refusals in a minute, by address and by user, 1 .. 1000
  Milliseconds lock{900'000};             // how long either is answered 429 after that, 1s .. 1d
  friend bool operator==(const Authentication&, const Authentication&) = default;
};

void read(MapReader& map, Authentication& out);

}  // namespace bloomwall::conf
