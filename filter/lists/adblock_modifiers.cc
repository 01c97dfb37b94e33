// SPDX-License-Identifier: Apache-2.0
#include "filter/lists/adblock_modifiers.h"

#include <algorithm>
#include <iterator>

namespace bloomwall::filter {
namespace {

using enum ModifierUse;

// Sorted by name, for the search.
constexpr Modifier kModifiers[] = {
    {"1p", narrows, "modifier $first-party"},
    {"3p", third_party, "modifier $third-party"},
    {"all", all, ""},
    {"app", narrows, "modifier $app"},
    {"badfilter", bad_filter, ""},
    {"beacon", narrows, "modifier $ping"},
    {"client", narrows, "modifier $client"},
    {"cname", narrows, "modifier $cname"},
    {"content", narrows, "modifier $content"},
    {"cookie", narrows, "modifier $cookie"},
    {"csp", narrows, "modifier $csp"},
    {"css", narrows, "modifier $stylesheet"},
    {"ctag", narrows, "modifier $ctag"},
    {"denyallow", narrows, "modifier $denyallow"},
    {"dnsrewrite", narrows, "modifier $dnsrewrite"},
    {"dnstype", narrows, "modifier $dnstype"},
    {"doc", document, "modifier $~document"},
    {"document", document, "modifier $~document"},
    {"domain", narrows, "modifier $domain"},
    {"ehide", narrows, "modifier $elemhide"},
    {"elemhide", narrows, "modifier $elemhide"},
    {"empty", narrows, "modifier $empty"},
    {"extension", narrows, "modifier $extension"},
    {"first-party", narrows, "modifier $first-party"},
    {"font", narrows, "modifier $font"},
    {"frame", narrows, "modifier $subdocument"},
    {"from", narrows, "modifier $domain"},
    {"genericblock", narrows, "modifier $genericblock"},
    {"generichide", narrows, "modifier $generichide"},
    {"ghide", narrows, "modifier $generichide"},
    {"header", narrows, "modifier $header"},
    {"hls", narrows, "modifier $hls"},
    {"image", narrows, "modifier $image"},
    {"important", important, ""},
    {"inline-font", narrows, "modifier $inline-font"},
    {"inline-script", narrows, "modifier $inline-script"},
    {"ipaddress", narrows, "modifier $ipaddress"},
    {"jsinject", narrows, "modifier $jsinject"},
    {"jsonprune", narrows, "modifier $jsonprune"},
    {"match-case", plain, ""},
    {"media", narrows, "modifier $media"},
    {"method", narrows, "modifier $method"},
    {"mp4", narrows, "modifier $mp4"},
    {"network", narrows, "modifier $network"},
    {"noop", plain, ""},
    {"object", narrows, "modifier $object"},
    {"object-subrequest", narrows, "modifier $object"},
    {"other", narrows, "modifier $other"},
    {"permissions", narrows, "modifier $permissions"},
    {"ping", narrows, "modifier $ping"},
    {"popunder", pop_up, "modifier $popup"},
    {"popup", pop_up, "modifier $popup"},
    {"queryprune", narrows, "modifier $removeparam"},
    {"reason", plain, ""},
    {"redirect", narrows, "modifier $redirect"},
    {"redirect-rule", narrows, "modifier $redirect-rule"},
    {"referrerpolicy", narrows, "modifier $referrerpolicy"},
    {"removeheader", narrows, "modifier $removeheader"},
    {"removeparam", narrows, "modifier $removeparam"},
    {"replace", narrows, "modifier $replace"},
    {"requestheader", narrows, "modifier $header"},
    {"responseheader", narrows, "modifier $header"},
    {"rewrite", narrows, "modifier $rewrite"},
    {"script", narrows, "modifier $script"},
    {"shide", narrows, "modifier $specifichide"},
    {"sitekey", narrows, "modifier $sitekey"},
    {"specifichide", narrows, "modifier $specifichide"},
    {"stealth", narrows, "modifier $stealth"},
    {"strict1p", narrows, "modifier $first-party"},
    {"strict3p", narrows, "modifier $strict3p"},
    {"stylesheet", narrows, "modifier $stylesheet"},
    {"subdocument", narrows, "modifier $subdocument"},
    {"third-party", third_party, "modifier $third-party"},
    {"to", narrows, "modifier $to"},
    {"uritransform", narrows, "modifier $urltransform"},
    {"urlblock", narrows, "modifier $urlblock"},
    {"urlskip", narrows, "modifier $urlskip"},
    {"urltransform", narrows, "modifier $urltransform"},
    {"webrtc", narrows, "modifier $webrtc"},
    {"websocket", narrows, "modifier $websocket"},
    {"xhr", narrows, "modifier $xmlhttprequest"},
    {"xmlhttprequest", narrows, "modifier $xmlhttprequest"},
};
constexpr bool by_name(const Modifier& a, const Modifier& b) { return a.name < b.name; }
static_assert(std::is_sorted(std::begin(kModifiers), std::end(kModifiers), by_name));
static_assert(std::all_of(std::begin(kModifiers), std::end(kModifiers),
                          [](const Modifier& m) { return m.name.size() <= kLongestModifier; }));

constexpr Modifier kUnderscores{"_", plain, ""};  // "_", "__", ...: separators that mean nothing

}  // namespace

const Modifier* find_modifier(std::string_view name) {
  if (!name.empty() && name.find_first_not_of('_') == std::string_view::npos) return &kUnderscores;
  const auto* const at = std::lower_bound(std::begin(kModifiers), std::end(kModifiers), name,
                                          [](const Modifier& m, std::string_view wanted) { return m.name < wanted; });
  return at != std::end(kModifiers) && at->name == name ? at : nullptr;
}

}  // namespace bloomwall::filter
