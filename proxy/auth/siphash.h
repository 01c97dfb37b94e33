// SipHash-2-4 with 128 bits: a keyed hash of short texts, at a tenth of what HMAC-SHA-256 costs. Without the key nobody
// can tell its values from random ones, or find two texts of one value.
// Pure; linear: about 250 instructions for 32 octets. Little-endian machines only.
// Source: Aumasson, Bernstein 2012; the reference implementation for 128 bits. Tests compare it with OpenSSL's.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace bloomwall::proxy {

using SipKey = std::array<std::uint64_t, 2>;
using SipHash = std::array<std::uint64_t, 2>;

SipHash siphash(const SipKey& key, std::string_view text);

}  // namespace bloomwall::proxy
