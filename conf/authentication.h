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

// A program that answers questions on stdin and stdout in Squid's helper protocol.
struct AuthHelper {
  std::vector<std::string> command;  // an absolute path and its arguments; empty: there is no helper
  std::uint32_t processes = 4;       // at most, 1 .. 64; started when they are needed
  std::uint32_t concurrency = 0;     // questions that one takes at a time, by channel ids, 0 .. 1000; 0: one, without
  std::uint32_t queue = 256;         // questions that wait, 1 .. 4096; further ones are not asked
  Milliseconds timeout{5'000};       // from question to answer, with the wait, 100ms .. 1m
  friend bool operator==(const AuthHelper&, const AuthHelper&) = default;
};

struct Authentication {
  // Networks of clients that need credentials; empty: no client. Clients of transparent listeners never do.
  std::vector<std::string> require;
  std::vector<std::string> exempt_hosts;  // hosts, with what is below them, and networks that need no credentials
  std::string realm = "bloomwall";        // what browsers show; 1 to 64 letters, digits, blanks or .-_
  std::vector<std::string> schemes{"negotiate", "basic"};  // offered in this order, each where it has a source
  bool basic_without_tls = true;                           // take passwords on listeners without `tls`, too
  std::filesystem::path users_file;  // name:hash[:group,group[:until]], one user a line; empty: none
  AuthHelper basic_helper;           // passwords of names that users_file does not have
  AuthHelper negotiate_helper;       // Kerberos tickets
  AuthHelper groups_helper;          // whether a user is in a group that groups[].user_groups names
  bool case_sensitive = false;       // of names that a helper, a ticket or an asker has: Anna, anna are two users
  bool strip_realm = false;          // alice for alice@EXAMPLE.COM, of negotiate_helper
  Milliseconds cache{300'000};       // how long credentials that were right need no check, 0 .. 1d
  std::uint32_t attempts = 10;       // refusals in a minute, by address and by user, 1 .. 1000
  Milliseconds lock{900'000};        // how long either is answered 429 after that, 1s .. 1d
  friend bool operator==(const Authentication&, const Authentication&) = default;
};

void read(MapReader& map, AuthHelper& out);
void read(MapReader& map, Authentication& out);

}  // namespace bloomwall::conf
