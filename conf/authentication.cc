// SPDX-License-Identifier: Apache-2.0
#include "conf/authentication.h"

#include <algorithm>
#include <chrono>
#include <string_view>

#include "conf/yaml_reader.h"

namespace bloomwall::conf {
namespace {

constexpr std::size_t kMostArguments = 64;

bool has_scheme(const Authentication& settings, std::string_view scheme) {
  return std::ranges::find(settings.schemes, scheme) != settings.schemes.end();
}

void check_schemes(MapReader& map, const Authentication& out) {
  for (auto scheme = out.schemes.begin(); scheme != out.schemes.end(); ++scheme) {
    if (std::find(out.schemes.begin(), scheme, *scheme) != scheme) map.fail("schemes", *scheme + " stands there twice");
  }
  if (out.require.empty()) return;
  const bool has_passwords = !out.users_file.empty() || !out.basic_helper.command.empty();
  const bool has_tickets = !out.negotiate_helper.command.empty();
  if (!has_passwords && !has_tickets) {
    map.fail("require",
             "nobody could log in: set users_file to a file of lines as `htpasswd -B` writes them, or basic_helper or "
             "negotiate_helper to a program");
  } else if (!(has_passwords && has_scheme(out, "basic")) && !(has_tickets && has_scheme(out, "negotiate"))) {
    map.fail("schemes", "nobody could log in: basic takes users_file and basic_helper, negotiate negotiate_helper");
  }
}

}  // namespace

void read(MapReader& map, AuthHelper& out) {
  using namespace std::chrono_literals;
  map.text_list("command", out.command, kArgument);
  map.integer("processes", out.processes, 1U, 64U);
  map.integer("concurrency", out.concurrency, 0U, 1000U);
  map.integer("queue", out.queue, 1U, 4096U);
  map.duration("timeout", out.timeout, 100ms, Milliseconds(1min));
  if (!out.command.empty() && !out.command.front().starts_with('/')) {
    map.fail("command", "the program must be an absolute path, such as /usr/lib/squid/basic_ldap_auth");
  }
  if (out.command.size() > kMostArguments) map.fail("command", "more than 64 arguments");
}

void read(MapReader& map, Authentication& out) {
  using namespace std::chrono_literals;
  map.text_list("require", out.require, kNetwork);
  map.text_list("exempt_hosts", out.exempt_hosts, kBypass);
  map.text("realm", out.realm, kRealm);
  map.text_list("schemes", out.schemes, kScheme);
  map.flag("basic_without_tls", out.basic_without_tls);
  map.optional_path("users_file", out.users_file);
  map.section("basic_helper", out.basic_helper);
  map.section("negotiate_helper", out.negotiate_helper);
  map.section("groups_helper", out.groups_helper);
  map.flag("case_sensitive", out.case_sensitive);
  map.flag("strip_realm", out.strip_realm);
  map.duration("cache", out.cache, 0ms, 24h);
  map.integer("attempts", out.attempts, 1U, 1000U);
  map.duration("lock", out.lock, Milliseconds(1s), Milliseconds(24h));
  check_schemes(map, out);
}

}  // namespace bloomwall::conf
