// Host names with bytes >= 0x80: UTS 46 ToASCII, non-transitional, without the hyphen and length checks and without the
// STD3 rules, as browsers do it. Tables come from libidn2. ASCII labels, "xn--" ones too, are not looked into: the A-label
// is what DNS knows.
// Bounds: refused are a label beyond ASCII of over kMaxUnicodeLabel bytes, for libidn2's time grows faster than a label, and a
// host of over kMaxUnicodeHost bytes besides its dots (which may come and go). Allocates (libidn2).
// Known narrowness, on the safe side: libidn2 2.3 applies IDNA 2008 to the mapped name, so symbols that UTS 46 tolerates
// (U+2603 and the emoji) are refused in this spelling; their A-labels are taken.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace bloomwall::filter {

inline constexpr std::size_t kMaxUnicodeHost = 1012;  // 253 characters, four bytes each
inline constexpr std::size_t kMaxUnicodeLabel = 252;  // 63 characters, four bytes each

// Appends the ASCII form of `utf8`, a host without separators of a URL; false where UTS 46 has none (out is then
// unchanged). Empty labels are kept: they are the caller's matter. The result may hold capital letters of ASCII labels.
bool append_ascii_host(std::string_view utf8, std::string& out);

}  // namespace bloomwall::filter
