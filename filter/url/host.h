// Steps 7 to 11: one host, as spelt between "//" and the port, to the form that is looked up and connected to.
// Linear; allocates only where the strings grow, and in ICU for bytes >= 0x80.
// SPDX-License-Identifier: Apache-2.0
#pragma once

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

}  // namespace bloomwall::filter
