// Steps 1 to 6: trims a URL and cuts it into scheme, host, port and what follows. The text is split before anything is
// decoded, so an escaped separator never moves a border.
// Linear; copies (into `cleaned`) only where TAB, CR or LF stand inside.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "filter/url/canonical_url.h"

namespace bloomwall::filter {

struct SplitUrl {
  bool usable = false;                 // false: there is no canonical form, and only `reason` means anything
  UrlReason reason = UrlReason::none;  // the first one found; a usable URL may have one too
  std::string_view scheme;             // one of the five, lower case, static
  std::string_view host;               // as spelt, with its brackets
  std::uint16_t port = 0;
  std::string_view path_and_query;  // as spelt
  std::string_view rest;            // the same without the path's first slash
};

// Views into `raw` or `cleaned`.
SplitUrl split_url(std::string_view raw, std::string& cleaned);

}  // namespace bloomwall::filter
