// Whether a transport may be read now: closed while any reason stands. A set of reasons and not a counter or a flag, so
// that one party's resume never undoes another's pause.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace bloomwall::proxy {

enum class PauseReason : std::uint8_t {
  peer_full = 1,  // what was read before has not left for the other side yet
  busy = 2,       // a message is being answered; the next one waits
  not_ready = 4,  // the other side is not connected yet, or its verdict is awaited
  no_memory = 8,  // limits.buffer_memory is nearly spent and the other side's kernel buffer is full
};

class PauseReasons {
 public:
  constexpr PauseReasons(PauseReason reason) : bits_(static_cast<std::uint8_t>(reason)) {}  // NOLINT: one is a set, too
  constexpr PauseReasons& operator|=(PauseReasons other) {
    bits_ = static_cast<std::uint8_t>(bits_ | other.bits_);
    return *this;
  }

 private:
  friend class ReadGate;
  std::uint8_t bits_;
};

constexpr PauseReasons operator|(PauseReasons a, PauseReasons b) { return a |= b; }
constexpr PauseReasons operator|(PauseReason a, PauseReason b) { return PauseReasons(a) | PauseReasons(b); }

class ReadGate {
 public:
  constexpr bool pause(PauseReason reason) {  // both return whether the gate is open afterwards
    reasons_ = static_cast<std::uint8_t>(reasons_ | static_cast<std::uint8_t>(reason));
    return open();
  }
  constexpr bool resume(PauseReasons reasons) {
    reasons_ = static_cast<std::uint8_t>(reasons_ & ~static_cast<unsigned>(reasons.bits_));
    return open();
  }
  constexpr bool open() const { return reasons_ == 0; }

 private:
  std::uint8_t reasons_ = 0;
};

}  // namespace bloomwall::proxy
