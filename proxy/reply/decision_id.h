// Names one decision, so that the page a user sees, the log line and a report speak of the same event.
// 80 random bits as 16 letters of Crockford's base 32 (no I, L, O, U: they survive a telephone): two equal ones among
// 10^9 have a probability below 1e-6, and an id tells nothing about its neighbours.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace bloomwall::proxy {

class DecisionId {
 public:
  DecisionId() = default;  // empty
  std::string_view text() const { return {text_.data(), length_}; }
  bool empty() const { return length_ == 0; }
  friend bool operator==(const DecisionId&, const DecisionId&) = default;

 private:
  friend class DecisionIds;
  std::array<char, 16> text_{};
  std::uint8_t length_ = 0;
};

// Takes random octets (base/random.h), a kilobyte at a time. One per worker; not thread-safe.
class DecisionIds {
 public:
  DecisionId next();

 private:
  std::array<std::uint8_t, 1024> random_;
  std::size_t used_ = random_.size();
};

}  // namespace bloomwall::proxy
