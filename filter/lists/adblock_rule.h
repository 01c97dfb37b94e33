// Parses an adblock line: its kind, and the pattern and the modifiers of a network rule.
//   @@||example.com/ads/$script,third-party      exception, "||example.com/ads/", "script,third-party"
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace bloomwall::filter {

// What a modifier of a network rule means to a proxy.
enum class ModifierUse : std::uint8_t {
  plain,        // changes nothing for us
  document,     // a page itself: that is what a proxy stops
  all,          // every kind of request
  important,    // beats exceptions; here the allow list stays above every filter
  bad_filter,   // takes another rule back
  pop_up,       // only together with $document or $all
  third_party,  // kept with --aggressive only
  narrows,      // some requests only, or something else than blocking: the rule is left out
};

struct Modifier {
  std::string_view name;
  ModifierUse use;
  std::string_view reason;  // "modifier $script", for the report; aliases share that of the long name
};

inline constexpr std::size_t kLongestModifier = 24;
// Null for an unknown one. Names are in lower case.
const Modifier* find_modifier(std::string_view name);

enum class AdblockLine : std::uint8_t { blank, comment, condition, include, cosmetic, network };
// `text` is trimmed.
AdblockLine adblock_line(std::string_view text);

struct AdblockRule {
  bool exception = false;  // "@@"
  std::string_view pattern;
  std::string_view modifiers;  // after the '$'
};
AdblockRule split_adblock_rule(std::string_view text);

// The meaning of a rule's modifiers for a proxy, which knows neither the page nor the purpose of a request.
struct ModifierEffect {
  std::string_view unusable;  // reason, of the first modifier that narrows the rule to some requests; else empty
  bool any = false;           // there are modifiers at all
  bool frees_all = true;      // none but $document, $all and $important: of an exception, it frees every request
  bool important = false;
  bool third_party = false;  // only with `aggressive`
  bool bad_filter = false;
};
ModifierEffect combined_effect(std::string_view modifiers, bool aggressive);

// For a rule with $badfilter: the rule that it disables, as that one is written. Nothing for every other line.
std::optional<std::string> bad_filter_target(std::string_view text);

}  // namespace bloomwall::filter
