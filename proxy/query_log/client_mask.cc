// SPDX-License-Identifier: Apache-2.0
#include "proxy/query_log/client_mask.h"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <openssl/rand.h>

#include <algorithm>
#include <cstddef>
#include <span>
#include <stdexcept>

#include "base/text.h"

namespace bloomwall::proxy {
namespace {

using Clients = conf::QueryLog::Clients;

constexpr std::size_t kPseudonymOctets = 8;

}  // namespace

std::string network_of_address(std::string_view address) {
  const std::string text(address);
  std::array<std::uint8_t, 16> octets{};
  std::array<char, INET6_ADDRSTRLEN> out{};
  if (::inet_pton(AF_INET, text.c_str(), octets.data()) == 1) {
    octets[3] = 0;
    return ::inet_ntop(AF_INET, octets.data(), out.data(), out.size());
  }
  if (::inet_pton(AF_INET6, text.c_str(), octets.data()) != 1) return {};
  std::fill(octets.begin() + 6, octets.end(), std::uint8_t{0});
  return ::inet_ntop(AF_INET6, octets.data(), out.data(), out.size());
}

ClientMask::Secret ClientMask::random_secret() {
  Secret secret{};
  if (RAND_bytes(secret.data(), static_cast<int>(secret.size())) != 1) throw std::runtime_error("no random octets");
  return secret;
}

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
