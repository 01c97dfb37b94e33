// A set of groups, by their place in the configuration: 256 bits, as many as there may be groups. The lowest place is
// the group that counts.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>

#include "conf/groups.h"

namespace bloomwall::proxy {

class GroupSet {
 public:
  static constexpr std::size_t kNone = conf::kMostGroups;

  static constexpr GroupSet all() {
    GroupSet set;
    set.words_.fill(~std::uint64_t{0});
    return set;
  }
  constexpr void add(std::size_t group) { words_[group / 64] |= bit(group); }
  constexpr bool contains(std::size_t group) const { return (words_[group / 64] & bit(group)) != 0; }
  // The lowest place in it; kNone where it is empty.
  constexpr std::size_t first() const {
    for (std::size_t i = 0; i < words_.size(); ++i) {
      if (words_[i] != 0) return i * 64 + static_cast<std::size_t>(std::countr_zero(words_[i]));
    }
    return kNone;
  }
  constexpr GroupSet operator&(const GroupSet& other) const {
    GroupSet both;
    for (std::size_t i = 0; i < words_.size(); ++i) both.words_[i] = words_[i] & other.words_[i];
    return both;
  }
  constexpr GroupSet operator|(const GroupSet& other) const {
    GroupSet either;
    for (std::size_t i = 0; i < words_.size(); ++i) either.words_[i] = words_[i] | other.words_[i];
    return either;
  }
  friend constexpr bool operator==(const GroupSet&, const GroupSet&) = default;

 private:
  static constexpr std::uint64_t bit(std::size_t group) { return std::uint64_t{1} << (group % 64); }
  std::array<std::uint64_t, (conf::kMostGroups + 63) / 64> words_{};
};

}  // namespace bloomwall::proxy
