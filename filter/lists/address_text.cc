// SPDX-License-Identifier: Apache-2.0
#include "filter/lists/address_text.h"

#include <arpa/inet.h>

#include <algorithm>
#include <array>
#include <cstddef>

#include "filter/text.h"

namespace bloomwall::filter {
namespace {

bool is_ipv6(std::string_view word) {
  if (word.starts_with('[') && word.ends_with(']')) word = word.substr(1, word.size() - 2);
  word = word.substr(0, word.find('%'));  // a zone, as in fe80::1%lo0
  std::array<char, INET6_ADDRSTRLEN> text;
  if (word.size() >= text.size() || word.find(':') == std::string_view::npos) return false;
  *std::copy(word.begin(), word.end(), text.begin()) = '\0';
  in6_addr address{};
  return inet_pton(AF_INET6, text.data(), &address) == 1;
}

}  // namespace

bool is_ipv4(std::string_view word) {
  for (int part = 0; part < 4; ++part) {
    unsigned value = 0;
    std::size_t digits = 0;
    for (; digits < word.size() && digits < 3 && is_digit(word[digits]); ++digits) {
      value = value * 10 + static_cast<unsigned>(word[digits] - '0');
    }
    if (digits == 0 || value > 255) return false;
    word.remove_prefix(digits);
    if (part == 3) return word.empty();
    if (!word.starts_with('.')) return false;
    word.remove_prefix(1);
  }
  return false;
}

bool is_address(std::string_view word) { return is_ipv4(word) || is_ipv6(word); }

}  // namespace bloomwall::filter
