// Credentials out of the value of a Proxy-Authorization field: name and password of the Basic scheme (RFC 7617), the
// ticket of Negotiate (RFC 4559).
// Pure functions over text from the network; linear.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace bloomwall::proxy {

// Wiped from memory when it goes out of scope.
struct NameAndPassword {
  NameAndPassword() = default;
  NameAndPassword(NameAndPassword&&) = default;
  NameAndPassword& operator=(NameAndPassword&&) = default;
  NameAndPassword(const NameAndPassword&) = delete;
  NameAndPassword& operator=(const NameAndPassword&) = delete;
  ~NameAndPassword();
  std::string name, password;
};

inline constexpr std::size_t kMostBasicToken = 1024;  // octets of base64
inline constexpr std::size_t kMostPassword = 511;     // octets; what crypt(3) takes

// What follows the scheme's name, which is read without regard to case; empty where the scheme is another one.
std::string_view basic_token(std::string_view field_value);

// Likewise of Negotiate. Empty also where it is longer than kMostTicket, or no base64.
inline constexpr std::size_t kMostTicket = std::size_t{60} << 10;
std::string_view negotiate_token(std::string_view field_value);

// Likewise of Bearer (RFC 6750).
std::string_view bearer_token(std::string_view field_value);

// UTF-8, as the challenge asks for; what is not is read as Latin-1, which clients send that do not know that parameter
// (Java's own). Nothing where the token is too long or no base64, there is no colon, the name is empty or has blanks
// around it, or control octets are in either: crypt(3) would stop at a NUL.
std::optional<NameAndPassword> decode_basic(std::string_view token);

}  // namespace bloomwall::proxy
