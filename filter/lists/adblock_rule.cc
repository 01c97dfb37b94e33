// SPDX-License-Identifier: Apache-2.0
#include "filter/lists/adblock_rule.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <iterator>

#include "base/text.h"

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

namespace {

// "##", "#@#", "#?#", "#$#", "#%#", "#@?#", "#@$#", "#@%#", "#$?#", "#@$?#" at the start of `text`.
bool starts_cosmetic_mark(std::string_view text) {
  if (!text.starts_with('#')) return false;
  std::size_t at = 1;
  while (at < text.size() && at < 4 && std::string_view("@?$%").find(text[at]) != std::string_view::npos) ++at;
  return at < text.size() && text[at] == '#';
}

bool is_domain_list(std::string_view text) {
  return std::all_of(text.begin(), text.end(), [](char c) {
    return is_alpha(c) || is_digit(c) || std::string_view("~.,*_-:[]").find(c) != std::string_view::npos ||
           static_cast<unsigned char>(c) >= 0x80;
  });
}

bool is_cosmetic(std::string_view text) {
  if (text.starts_with("[$")) return true;  // modifiers before a cosmetic rule
  if (text.starts_with('|') || text.starts_with("@@")) return false;
  const std::size_t hash = text.find('#');
  if (hash != std::string_view::npos && starts_cosmetic_mark(text.substr(hash))) {
    const std::string_view domains = text.substr(0, hash);
    return is_domain_list(domains) || (domains.starts_with('/') && domains.ends_with('/'));
  }
  const std::size_t html = std::min(text.find("$$"), text.find("$@$"));  // rules on the page's markup
  return html != std::string_view::npos && is_domain_list(text.substr(0, html));
}

AdblockLine hash_line(std::string_view text) {
  if (!starts_cosmetic_mark(text)) return AdblockLine::comment;
  const bool heading = text.size() == 2 || text[2] == ' ' || text.starts_with("####");
  return text.starts_with("##") && heading ? AdblockLine::comment : AdblockLine::cosmetic;
}

// Where the modifiers begin: after the first '$' that a known modifier follows. A '$' may also be part of the pattern.
std::size_t modifiers_at(std::string_view text) {
  for (std::size_t at = text.find('$'); at != std::string_view::npos; at = text.find('$', at + 1)) {
    std::string_view name = text.substr(at + 1, kLongestModifier + 2);
    name = name.substr(0, name.find_first_of(",="));
    if (name.starts_with('~')) name.remove_prefix(1);
    if (find_modifier(name) != nullptr) return at;
  }
  // One that this build does not know: better to leave the rule out than to take its modifier for a piece of a path.
  const std::size_t last = text.rfind('$');
  if (last == std::string_view::npos || last + 1 == text.size()) return std::string_view::npos;
  const std::string_view rest = text.substr(last + 1);
  const bool word = std::all_of(rest.begin(), rest.end(), [](char c) {
    return (is_alpha(c) && c == to_lower(c)) || is_digit(c) ||
           std::string_view("_-~,=|.").find(c) != std::string_view::npos;
  });
  return word ? last : std::string_view::npos;
}

}  // namespace

AdblockLine adblock_line(std::string_view text) {
  if (text.empty()) return AdblockLine::blank;
  if (text.starts_with("!#include")) return AdblockLine::include;
  if (text.starts_with("!#if")) return AdblockLine::condition;
  if (text.front() == '!') return AdblockLine::comment;
  if (text.front() == '[' && text.back() == ']' && !text.starts_with("[$")) {
    return text.find(':') == std::string_view::npos ? AdblockLine::comment
                                                    : AdblockLine::network;  // or an IPv6 address
  }
  if (text.front() == '#') return hash_line(text);
  return is_cosmetic(text) ? AdblockLine::cosmetic : AdblockLine::network;
}

AdblockRule split_adblock_rule(std::string_view text) {
  AdblockRule rule;
  rule.exception = text.starts_with("@@");
  if (rule.exception) text.remove_prefix(2);
  const std::size_t at = modifiers_at(text);
  rule.pattern = text.substr(0, at);
  if (at != std::string_view::npos) rule.modifiers = text.substr(at + 1);
  return rule;
}

ModifierEffect combined_effect(std::string_view modifiers, bool aggressive) {
  ModifierEffect verdict;
  verdict.any = !modifiers.empty();
  std::string_view pop_up;
  bool document = false;
  while (!modifiers.empty() && verdict.unusable.empty()) {
    std::string_view name = next_part(modifiers, ',');
    name = name.substr(0, name.find('='));
    const bool negated = name.starts_with('~');
    if (negated) name.remove_prefix(1);
    const Modifier* const known = find_modifier(name);
    if (known == nullptr) {
      verdict.unusable = "modifier this build does not know";
      break;
    }
    const bool is_every_request =
        known->use == ModifierUse::document || known->use == ModifierUse::all || known->use == ModifierUse::important;
    verdict.frees_all = verdict.frees_all && is_every_request && !negated;
    if (negated && known->use != ModifierUse::plain) {
      verdict.unusable = known->use == ModifierUse::third_party ? "modifier $~third-party" : known->reason;
      break;
    }
    switch (known->use) {
      case ModifierUse::plain:
        break;
      case ModifierUse::document:
      case ModifierUse::all:
        document = true;
        break;
      case ModifierUse::important:
        verdict.important = true;
        break;
      case ModifierUse::bad_filter:
        verdict.bad_filter = true;
        break;
      case ModifierUse::pop_up:
        pop_up = known->reason;
        break;
      case ModifierUse::third_party:
        verdict.third_party = aggressive;
        if (!aggressive) verdict.unusable = known->reason;
        break;
      case ModifierUse::narrows:
        verdict.unusable = known->reason;
        break;
    }
  }
  if (verdict.unusable.empty() && !document) verdict.unusable = pop_up;
  return verdict;
}

std::optional<std::string> bad_filter_target(std::string_view text) {
  text = trim(text);
  // Nearly no line holds the word.
  if (text.find("badfilter") == std::string_view::npos || adblock_line(text) != AdblockLine::network)
    return std::nullopt;
  const AdblockRule rule = split_adblock_rule(text);
  std::string target{rule.exception ? "@@" : ""};
  target.append(rule.pattern);
  char separator = '$';
  bool found = false;
  for (std::string_view rest = rule.modifiers; !rest.empty();) {
    const std::string_view modifier = next_part(rest, ',');
    if (modifier == "badfilter") {
      found = true;
      continue;
    }
    target.push_back(separator);
    target.append(modifier);
    separator = ',';
  }
  if (!found) return std::nullopt;
  return target;
}

}  // namespace bloomwall::filter
