// Lets tests take the slow path, and read paths in full, with URLs that are canonical already.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

#include "filter/url/canonical_url.h"

namespace bloomwall::filter {

struct CanonicaliserAccess {
  static const CanonicalUrl& url_the_long_way(Canonicaliser& c, std::string_view raw) {
    return c.url_the_long_way(raw, Canonicaliser::Paths::read_in_full);
  }
  static const CanonicalUrl& host_the_long_way(Canonicaliser& c, std::string_view raw) {
    return c.host_the_long_way(raw);
  }
};

}  // namespace bloomwall::filter
