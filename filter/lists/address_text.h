// Whether a word is an IP address as list files write it: IPv4 dotted, IPv6 bare or in brackets, with or without a zone.
// For telling formats apart; entries themselves go through the canonicaliser.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

namespace bloomwall::filter {

bool is_ipv4(std::string_view word);
bool is_address(std::string_view word);

}  // namespace bloomwall::filter
