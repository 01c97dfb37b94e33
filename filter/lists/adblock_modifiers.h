// The modifiers of adblock network rules that are known by name, and what each means to a proxy.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace bloomwall::filter {

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

}  // namespace bloomwall::filter
