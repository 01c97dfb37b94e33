// SPDX-License-Identifier: Apache-2.0
#include "conf/authentication.h"

#include <chrono>

#include "conf/yaml_reader.h"

namespace bloomwall::conf {

void read(MapReader& map, Authentication& out) {
  using namespace std::chrono_literals;
  map.text_list("require", out.require, kNetwork);
  map.text_list("exempt_hosts", out.exempt_hosts, kBypass);
  map.text("realm", out.realm, kRealm);
  map.flag("basic_without_tls", out.basic_without_tls);
  map.optional_path("users_file", out.users_file);
  map.duration("cache", out.cache, 0ms, 24h);
  map.integer("attempts", out.attempts, 1U, 1000U);
  map.duration("lock", out.lock, Milliseconds(1s), Milliseconds(24h));
  if (!out.require.empty() && out.users_file.empty()) {
    map.fail("require", "nobody could log in: set users_file to a file of lines as `htpasswd -B` writes them");
  }
}

}  // namespace bloomwall::conf
