// How much of what asks for nothing a peer may send on an HTTP/2 connection: frames that cost us work, memory or an
// answer and bring no request and no body. Looks at the frames' heads before anything else does, so that a flood ends
// whatever a library thinks of it: PING, SETTINGS, PRIORITY, WINDOW_UPDATE, RST_STREAM and unknown frames, DATA that is
// empty or padded (CVE-2019-9511 to 9518), and header sections in endless CONTINUATION frames (CVE-2024-27316).
//
// A token bucket: kBurst such frames at once and kPerSecond each second. What the peer is sent earns more, since it
// answers that: windows are opened for octets, and some implementations send a PING or two updates for each message.
// Frames that are small because the peer's window is earn by their octets alone. Streams that are reset before their
// answer was complete, by the peer or for a fault of the peer's (CVE-2023-44487, CVE-2025-8671), have a bucket of their
// own, in which streams that end well earn one each.
// No I/O; time is an argument. Cost: a few operations a frame.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <span>

namespace bloomwall::proxy {

class TokenBucket {
 public:
  constexpr TokenBucket(std::uint32_t burst, std::uint32_t per_second)
      : most_(std::uint64_t{burst} * 1000), per_second_(per_second), left_(most_) {}
  bool spend(std::chrono::milliseconds now);  // false: there was none
  void earn(std::uint64_t thousandths);

 private:
  std::uint64_t most_, per_second_, left_;  // of tokens, in thousandths; per_second_: a millisecond's thousandths
  std::chrono::milliseconds filled_{0};
};

class FrameBudget {
 public:
  enum class Verdict : std::uint8_t { fine, empty_frames, endless_head, resets, slow_head };
  static constexpr std::uint32_t kBurst = 1000, kPerSecond = 50;
  static constexpr std::uint32_t kResetBurst = 200, kResetsPerSecond = 20;
  static constexpr std::uint64_t kOctetsAFrame = 2048;  // of bodies that were sent, for one more frame
  static constexpr std::uint64_t kForAMessage = 2;      // frames, for a head, or a body as far as there is one

  // `preface`: octets before the first frame. `most_head`: octets of one header section as they are compressed.
  FrameBudget(std::size_t preface, std::size_t most_head) : skip_(preface), most_head_(most_head) {}

  Verdict feed(std::span<const char> bytes, std::chrono::milliseconds now);  // all that the peer sends, in order
  // Between the first octet of a header section's first frame and the last one of its last.
  bool is_in_head() const { return awaits_rest_ || (is_head_ && skip_ > 0); }
  Verdict on_reset(std::chrono::milliseconds now);
  void on_head_sent() { frames_.earn(kForAMessage * 1000); }
  // `is_all`: the peer's window had room for more.
  void on_body_sent(std::size_t octets, bool is_all) {
    frames_.earn(std::max(octets * 1000 / kOctetsAFrame, is_all ? kForAMessage * 1000 : 0));
  }
  void on_stream_done() { resets_.earn(1000); }

 private:
  Verdict on_frame(std::chrono::milliseconds now);

  TokenBucket frames_{kBurst, kPerSecond}, resets_{kResetBurst, kResetsPerSecond};
  std::array<std::uint8_t, 9> frame_{};  // its head
  std::size_t used_ = 0;                 // octets of frame_
  std::size_t skip_;                     // octets until the next one
  std::size_t most_head_, head_ = 0;
  bool is_head_ = false;      // the frame that is skipped is a part of a header section
  bool awaits_rest_ = false;  // and another one follows
};

}  // namespace bloomwall::proxy
