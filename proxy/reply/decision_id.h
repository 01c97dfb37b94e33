// Names one decision, so that the page a user sees, the log line and a report speak of the same event.
// 80 random bits as 16 letters of Crockford's base 32 (no I, L, O, U: they survive a telephone): two equal ones among
// 10^9 have a probability below 1e-6, and an id tells nothing about its neighbours.
// Generator: SipHash-2-4 of a counter under a 128-bit key that the caller draws from the system's random source. One
// per worker; not thread-safe.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
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

class DecisionIds {
 public:
  using Key = std::array<std::uint64_t, 2>;
  explicit DecisionIds(const Key& key) : key_(key) {}
  DecisionId next();

 private:
  Key key_;
  std::uint64_t counter_ = 0;
};

// SipHash-2-4 of the eight octets of `word`, little-endian (Aumasson, Bernstein 2012).
std::uint64_t siphash(const DecisionIds::Key& key, std::uint64_t word);

}  // namespace bloomwall::proxy
