// Finds the two halves of a pair in a response policy zone: "x" and "*.x" together are the suffix x, one entry instead of
// two. Looks back over a bounded window; halves that leave it unpaired are X and W, which together mean the same.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <unordered_map>

#include "filter/lists/entry_gate.h"

namespace bloomwall::filter {

class RpzPairs {
 public:
  // Names remembered; about 40 MB at most.
  static constexpr std::size_t kWindow = 65'536;
  explicit RpzPairs(std::size_t window = kWindow) : window_(window) {}

  // `host`: canonical name of the trigger, without "*.".
  void add(std::string_view host, bool wildcard, Side side, EntryGate& gate);
  void flush(EntryGate& gate);

 private:
  struct Half {
    std::uint64_t line = 0;
    bool wildcard = false;
    bool paired = false;  // handed over already; kept so that a second record of the name is not a new half
  };
  void forget_oldest(EntryGate& gate);
  static void hand_over(const std::string& key, Kind kind, std::uint64_t line, EntryGate& gate);

  std::size_t window_;
  std::unordered_map<std::string, Half> halves_;  // by side and host
  std::deque<std::string> order_;
};

}  // namespace bloomwall::filter
