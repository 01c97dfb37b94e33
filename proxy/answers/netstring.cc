// SPDX-License-Identifier: Apache-2.0
#include "proxy/answers/netstring.h"

#include <algorithm>

#include "base/text.h"

namespace bloomwall::proxy {
namespace {

// Texts that idle connections need not keep memory for.
constexpr std::size_t kMostKeptText = 512;

}  // namespace

NetstringReader::State NetstringReader::after_length(char c) const {
  if (c != ':') return State::malformed;
  return left_ == 0 ? State::comma : State::octets;
}

NetstringReader::State NetstringReader::on_frame_octet(char c) {
  switch (state_) {
    case State::first_digit:
      if (!is_digit(c)) return State::malformed;
      left_ = static_cast<std::size_t>(c - '0');
      if (left_ > most_) return State::too_long;
      return left_ == 0 ? State::after_zero : State::digits;
    case State::digits:
      if (!is_digit(c)) return after_length(c);
      left_ = left_ * 10 + static_cast<std::size_t>(c - '0');  // most_ is far below the type's end
      return left_ > most_ ? State::too_long : State::digits;
    case State::after_zero:
      return after_length(c);
    case State::comma:
      return c == ',' ? State::complete : State::malformed;
    case State::octets:
    case State::complete:
    case State::malformed:
    case State::too_long:
      break;
  }
  return state_;
}

NetstringReader::Step NetstringReader::feed(std::span<const char> bytes) {
  std::size_t used = 0;
  while (used < bytes.size() && state_ < State::complete) {
    if (state_ != State::octets) {
      state_ = on_frame_octet(bytes[used++]);
      continue;
    }
    const std::size_t taken = std::min(left_, bytes.size() - used);
    text_.append(bytes.data() + used, taken);
    used += taken;
    left_ -= taken;
    if (left_ == 0) state_ = State::comma;
  }
  switch (state_) {
    case State::complete:
      return {Event::text, used};
    case State::malformed:
      return {Event::malformed, used};
    case State::too_long:
      return {Event::too_long, used};
    case State::first_digit:
    case State::digits:
    case State::after_zero:
    case State::octets:
    case State::comma:
      break;
  }
  return {Event::need_more, used};
}

void NetstringReader::next() {
  state_ = State::first_digit;
  text_.clear();
  if (text_.capacity() > kMostKeptText) text_.shrink_to_fit();
}

void append_netstring(std::string& out, std::string_view text) {
  out += std::to_string(text.size());
  out += ':';
  out += text;
  out += ',';
}

}  // namespace bloomwall::proxy
