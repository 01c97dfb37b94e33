// What the public suffix list says of a host: "com" and "zip" are top-level domains, "intranet" is none; "co.uk" and
// "github.io" are public suffixes, under which strangers register names. Names that no rule mentions are neither.
// The list is the one libpsl carries. Thread-safe; about 0.2 microseconds a question.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string_view>

namespace bloomwall::filter {

// `host`: no IP address, no trailing dot. The last rule wins: "www.ck" is none although "*.ck" are.
bool is_public_suffix(std::string_view host);
inline bool is_top_level_domain(std::string_view host) {
  return host.find('.') == std::string_view::npos && is_public_suffix(host);
}
// When the list in use was made, in seconds since 1970; 0 where libpsl does not say.
std::uint64_t public_suffix_time();

}  // namespace bloomwall::filter
