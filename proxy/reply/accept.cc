// SPDX-License-Identifier: Apache-2.0
#include "proxy/reply/accept.h"

#include <algorithm>
#include <array>

#include "proxy/http/fields.h"
#include "proxy/http/octets.h"

namespace bloomwall::proxy {
namespace {

constexpr unsigned kMostRanges = 64;

struct Offer {
  MediaType type;
  std::string_view name, other_name;
  std::string_view wildcard;  // empty: it must be named
  bool by_anything;           // "*/*" asks for it
};
constexpr std::array kOffers{Offer{MediaType::html, "text/html", "application/xhtml+xml", {}, false},
                             Offer{MediaType::json, "application/json", {}, "application/*", false},
                             Offer{MediaType::text, "text/plain", {}, "text/*", true}};

// "0.8" in thousandths; anything malformed counts as not wanted.
unsigned parse_quality(std::string_view text) {
  if (text.empty() || text.size() > 5 || (text[0] != '0' && text[0] != '1')) return 0;
  if (text.size() > 1 && (text[1] != '.' || !all(octets::digit, text.substr(2)))) return 0;
  unsigned quality = text[0] == '1' ? 1000 : 0;
  unsigned weight = 100;
  for (const char c : text.substr(std::min<std::size_t>(2, text.size()))) {
    quality += static_cast<unsigned>(c - '0') * weight;
    weight /= 10;
  }
  return std::min(quality, 1000U);
}

// How well a range fits: 3 the type itself, 2 its family, 1 anything, 0 not at all.
unsigned fit(const Offer& offer, std::string_view range) {
  if (same_name(range, offer.name) || (!offer.other_name.empty() && same_name(range, offer.other_name))) return 3;
  if (!offer.wildcard.empty() && same_name(range, offer.wildcard)) return 2;
  return offer.by_anything && range == "*/*" ? 1 : 0;
}

}  // namespace

AcceptedRange parse_accepted(std::string_view element) {
  AcceptedRange range;
  std::size_t end = std::min(element.find(';'), element.size());
  range.value = trim(element.substr(0, end));
  while (end < element.size()) {
    element.remove_prefix(end + 1);
    end = std::min(element.find(';'), element.size());
    const std::string_view parameter = trim(element.substr(0, end));
    if (parameter.size() > 2 && lower(parameter[0]) == 'q' && parameter[1] == '=') {
      range.quality = parse_quality(parameter.substr(2));
    }
  }
  return range;
}

MediaType choose_media(std::string_view accept) {
  if (accept.empty()) return MediaType::html;
  std::array<unsigned, kOffers.size()> fits{}, qualities{};
  unsigned ranges = 0;
  for (std::string_view element; ranges < kMostRanges && next_element(accept, element); ++ranges) {
    const AcceptedRange range = parse_accepted(element);
    for (std::size_t i = 0; i < kOffers.size(); ++i) {
      const unsigned how = fit(kOffers[i], range.value);
      if (how == 0 || how < fits[i]) continue;
      fits[i] = how;
      qualities[i] = range.quality;
    }
  }
  std::size_t best = kOffers.size();
  for (std::size_t i = 0; i < kOffers.size(); ++i) {
    if (qualities[i] == 0) continue;
    const bool better = best == kOffers.size() || qualities[i] > qualities[best] ||
                        (qualities[i] == qualities[best] && fits[i] > fits[best]);
    if (better) best = i;
  }
  return best == kOffers.size() ? MediaType::text : kOffers[best].type;
}

std::string_view content_type(MediaType type) {
  switch (type) {
    case MediaType::html:
      return "text/html; charset=utf-8";
    case MediaType::json:
      return "application/json";
    case MediaType::text:
      return "text/plain; charset=utf-8";
  }
  return "text/plain; charset=utf-8";
}

}  // namespace bloomwall::proxy
