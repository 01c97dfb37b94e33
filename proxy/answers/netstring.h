// Netstrings: "5:hello,", the frames of Postfix's socketmap protocol. Source: cr.yp.to/proto/netstrings.txt.
// The reader takes octets as they come and hands out one text at a time. The length is decimal without leading zeros
// (but "0:,"), so that a text has one spelling. A fault is final: where the next text begins is not known any more.
// Bounds: a text of at most `most` octets; a longer one is refused by its length, before any of it is kept.
// No sockets, no clock. Not thread-safe.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace bloomwall::proxy {

class NetstringReader {
 public:
  enum class Event : std::uint8_t {
    need_more,  // everything given was consumed
    text,       // text() is complete; call next() before the next feed()
    malformed,  // final
    too_long,   // final
  };
  struct Step {
    Event event = Event::need_more;
    std::size_t consumed = 0;
  };

  explicit NetstringReader(std::size_t most) : most_(most) {}

  Step feed(std::span<const char> bytes);
  std::string_view text() const { return text_; }  // until next()
  void next();                                     // only after Event::text
  bool at_start() const { return state_ == State::first_digit; }
  std::size_t memory() const { return text_.capacity(); }

 private:
  enum class State : std::uint8_t { first_digit, digits, after_zero, octets, comma, complete, malformed, too_long };
  State after_length(char c) const;
  State on_frame_octet(char c);

  std::size_t most_;
  std::size_t left_ = 0;  // octets of the text still to come; among the digits: the length so far
  State state_ = State::first_digit;
  std::string text_;
};

void append_netstring(std::string& out, std::string_view text);

}  // namespace bloomwall::proxy
