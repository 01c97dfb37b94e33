// What a Privoxy action section does to the requests it names: block them, take a block back, or neither.
//   {+block{reason} +handle-as-image}     block
//   {-block}                              unblock
//   {fragile}                             what the alias "fragile" stands for
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>

namespace bloomwall::filter {

enum class PrivoxyEffect : std::uint8_t { none, block, unblock };

class PrivoxyActions {
 public:
  // "name = actions", a line of the section {{alias}}. False where it is none, or there are too many.
  bool define(std::string_view line);
  // The effect of a list of actions; of several that speak of blocking the last counts.
  PrivoxyEffect effect(std::string_view actions) const;

 private:
  static constexpr std::size_t kMaxAliases = 1000;
  static constexpr std::size_t kMaxAliasName = 200;
  std::unordered_map<std::string, PrivoxyEffect> aliases_;
};

}  // namespace bloomwall::filter
