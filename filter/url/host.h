// Steps 7 to 11: one host, as spelt between "//" and the port, to the form that is looked up and connected to.
// Linear; allocates only where the strings grow, and in ICU for bytes >= 0x80.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "filter/url/canonical_url.h"

namespace bloomwall::filter {

inline constexpr std::size_t kMaxHost = 253;
inline constexpr std::size_t kMaxLabel = 63;

struct HostReading {
  bool has_canonical = false;
  UrlReason reason = UrlReason::none;  // the first one found; anything but none is a rejection
  HostKind kind = HostKind::name;
};

// Replaces `host` by the canonical host. `scratch` is overwritten.
HostReading read_host(std::string_view raw, std::string& host, std::string& scratch);

// Host names with bytes >= 0x80: UTS 46 ToASCII, non-transitional, without the hyphen and length checks and without the
// STD3 rules, as browsers do it. Tables come from ICU. Not applied to hosts of ASCII alone, whose "xn--" labels are
// what DNS knows, valid by UTS 46 or not.
// Bounds: a host of over kMaxUnicodeHost bytes besides its dots (which may come and go) is refused. Thread-safe.

inline constexpr std::size_t kMaxUnicodeHost = 1012;  // 253 characters, four bytes each

// Appends the ASCII form of `utf8`, a host without separators of a URL; false where UTS 46 has none (out is then
// unchanged). Empty labels are kept: they are the caller's matter.
bool append_ascii_host(std::string_view utf8, std::string& out);

// The Unicode version of ICU's tables: 0x0F0000 is 15.0.0.
std::uint32_t unicode_version();

// What the public suffix list says of a host: "com" and "zip" are top-level domains, "intranet" is none; "co.uk" and
// "github.io" are public suffixes, under which strangers register names. Names that no rule mentions are neither.
// The list is the one libpsl carries. It has no rule for a domain that registers only below "co.za" and its like, so
// that the codes of countries (ISO 3166, as ICU has them) are top-level domains as well.
// Thread-safe; about 0.2 microseconds a question.

// `host`: no IP address, no trailing dot. The last rule wins: "www.ck" is none although "*.ck" are.
bool is_public_suffix(std::string_view host);
// Of those only what a registry has: "co.uk", but not "github.io", which one company has for what it serves itself.
bool is_registry_suffix(std::string_view host);
inline bool is_top_level_domain(std::string_view host) {
  return host.find('.') == std::string_view::npos && is_public_suffix(host);
}
// Whether hosts may end in this label, of any spelling: a top-level domain, one that is reserved or used beside them
// (RFC 2606, RFC 6761, RFC 7686, "lan", "i2p", "bit", ...). The one notion of "exists" for words that may be hosts or
// something else, such as names of files.
bool is_known_top_level(std::string_view label);
// Likewise of the last label of a host with a dot, of any spelling.
bool ends_in_known_top_level(std::string_view host);
// When the list in use was made, in seconds since 1970; 0 where libpsl does not say.
std::uint64_t public_suffix_time();

}  // namespace bloomwall::filter
