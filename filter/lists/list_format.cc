// SPDX-License-Identifier: Apache-2.0
#include "filter/lists/list_format.h"

#include <algorithm>

namespace bloomwall::filter {

const char* to_string(Format format) {
  switch (format) {
    case Format::auto_detect:
      return "auto";
    case Format::domains:
      return "domains";
    case Format::hosts:
      return "hosts";
    case Format::wildcard:
      return "wildcard";
    case Format::adblock:
      return "adblock";
    case Format::dnsmasq:
      return "dnsmasq";
    case Format::unbound:
      return "unbound";
    case Format::rpz:
      return "rpz";
    case Format::squidguard_domains:
      return "squidguard-domains";
    case Format::squidguard_urls:
      return "squidguard-urls";
    case Format::squidguard_expressions:
      return "squidguard-expressions";
    case Format::urls:
      return "urls";
    case Format::csv:
      return "csv";
    case Format::privoxy:
      return "privoxy";
    case Format::mixed:
      return "mixed";
    case Format::networks:
      return "networks";
  }
  return "unknown";
}

std::optional<Format> parse_format(std::string_view name) {
  const auto* const at =
      std::find_if(kFormats.begin(), kFormats.end(), [name](Format format) { return name == to_string(format); });
  if (at == kFormats.end()) return std::nullopt;
  return *at;
}

bool is_order_free(Format format) {
  return format != Format::rpz && format != Format::csv && format != Format::privoxy && format != Format::unbound;
}

}  // namespace bloomwall::filter
