// As what clients and users stand in the query log and in what the API shows of them (query_log.clients):
//   full     the address, and the user's name
//   network  the address with its last 8 bits zero, of IPv6 with the last 80; no user
//   keyed    16 hexadecimal digits each: HMAC-SHA-256 under the key of the day (UTC)
//   none     nothing
// The keys of days come from 32 random octets in memory alone, so that pseudonyms are others each day and after a
// start, so that later the client behind it cannot be found out.
// Immutable, thread-safe.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include "conf/config.h"

namespace bloomwall::proxy {

// As Clients::network has it; empty: it is no address.
std::string network_of_address(std::string_view address);

class ClientMask {
 public:
  using Secret = std::array<std::uint8_t, 32>;
  explicit ClientMask(const Secret& secret) : secret_(secret) {}
  static Secret random_secret();  // throws std::runtime_error where OpenSSL has no random octets

  // `day`: days since 1970. Of what is no address, network leaves nothing.
  std::string client(std::string_view address, conf::QueryLog::Clients how, std::int64_t day) const;
  std::string user(std::string_view name, conf::QueryLog::Clients how, std::int64_t day) const;

 private:
  std::string pseudonym(std::string_view what, std::string_view text, std::int64_t day) const;
  Secret secret_;
};

}  // namespace bloomwall::proxy
