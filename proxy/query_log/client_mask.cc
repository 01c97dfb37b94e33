// SPDX-License-Identifier: Apache-2.0
#include "proxy/query_log/client_mask.h"

#include <fmt/format.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>

#include <cstddef>
#include <span>

#include "base/encoding.h"
#include "base/ip.h"
#include "base/random.h"

namespace bloomwall::proxy {
namespace {

using Clients = conf::QueryLog::Clients;

constexpr std::size_t kPseudonymOctets = 8;

}  // namespace

std::string network_of_address(std::string_view address) {
  constexpr unsigned kIpv4Bits = 24, kIpv6Bits = 48;
  const auto ip = IpAddress::parse(address);
  return ip ? ip->masked(ip->is_v4() ? kIpv4Prefix + kIpv4Bits : kIpv6Bits).text() : std::string();
}

ClientMask::Secret ClientMask::random_secret() { return random_value<Secret>(); }

std::string ClientMask::client(std::string_view address, Clients how, std::int64_t day) const {
  if (address.empty()) return {};
  switch (how) {
    case Clients::full:
      return std::string(address);
    case Clients::network:
      return network_of_address(address);
    case Clients::keyed:
      return pseudonym("client", address, day);
    case Clients::none:
      return {};
  }
  return {};
}

std::string ClientMask::user(std::string_view name, Clients how, std::int64_t day) const {
  if (name.empty() || how == Clients::network || how == Clients::none) return {};
  return how == Clients::keyed ? pseudonym("user", name, day) : std::string(name);
}

std::string ClientMask::pseudonym(std::string_view what, std::string_view text, std::int64_t day) const {
  const std::string message = fmt::format("{} {} {}", day, what, text);
  std::array<std::uint8_t, EVP_MAX_MD_SIZE> sum{};
  HMAC(EVP_sha256(), secret_.data(), static_cast<int>(secret_.size()),
       reinterpret_cast<const unsigned char*>(message.data()), message.size(), sum.data(), nullptr);
  return to_hex(std::span(sum).first(kPseudonymOctets));
}

}  // namespace bloomwall::proxy
