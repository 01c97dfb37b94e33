// SPDX-License-Identifier: Apache-2.0

#include "proxy/http/chunk_decoder.h"

#include <algorithm>

#include "base/encoding.h"
#include "proxy/http/body_reader.h"
#include "proxy/http/octets.h"

namespace bloomwall::proxy {
namespace {

bool is_space_or_tab(char c) { return c == ' ' || c == '\t'; }

}  // namespace

void ChunkDecoder::begin(bool tolerant) {
  *this = ChunkDecoder();
  tolerant_ = tolerant;
}

ChunkDecoder::Step ChunkDecoder::feed(std::span<const char> bytes, const HeadLimits& limits) {
  std::size_t at = 0;
  for (;;) {
    if (state_ == State::malformed) return {ChunkEvent::malformed, at, {}};
    if (state_ == State::too_long) return {ChunkEvent::too_long, at, {}};
    if (state_ == State::last) return {ChunkEvent::last, at, {}};
    if (at == bytes.size()) return {ChunkEvent::need_more, at, {}};
    if (state_ == State::data) {
      const auto data = bytes.subspan(at, std::min<std::uint64_t>(size_, bytes.size() - at));
      size_ -= data.size();
      data_octets_ += data.size();
      if (size_ == 0) state_ = State::data_cr;
      return {ChunkEvent::data, at + data.size(), data};
    }
    state_ = on_frame_octet(bytes[at++]);
    if (!within(limits)) state_ = State::too_long;
  }
}

ChunkDecoder::State ChunkDecoder::on_frame_octet(char c) {
  ++line_octets_;
  switch (state_) {
    case State::first_digit:
      return is(octets::hex, c) ? digit(c) : State::malformed;
    case State::digits:
      return is(octets::hex, c) ? digit(c) : after_size(c);
    case State::padding:
      return after_size(c);
    case State::line_feed:
      return c == '\n' ? line_over() : State::malformed;
    case State::data_cr:
      line_octets_ = 0;
      if (c == '\n') return end_by_bare_lf(State::first_digit);
      return c == '\r' ? State::data_lf : State::malformed;
    case State::data_lf:
      return c == '\n' ? State::first_digit : State::malformed;
    case State::name_start:
    case State::name:
    case State::after_name:
    case State::value_start:
    case State::token_value:
    case State::quoted:
    case State::quoted_pair:
    case State::after_value:
    case State::other_extension:
      ++extension_octets_;
      return in_extension(c);
    case State::data:
    case State::last:
    case State::malformed:
    case State::too_long:
      break;
  }
  return State::malformed;
}

ChunkDecoder::State ChunkDecoder::digit(char c) {
  if (state_ == State::first_digit) size_ = 0;
  if (size_ >> 59 != 0) return State::malformed;  // the next digit could reach 2^63
  size_ = size_ << 4 | static_cast<std::uint64_t>(hex_value(c));
  return State::digits;
}

ChunkDecoder::State ChunkDecoder::after_size(char c) {
  if (c == ';') return State::name_start;
  if (is_space_or_tab(c)) return State::padding;
  if (c == '\n' && state_ == State::digits) return end_by_bare_lf(line_over());
  // Space after the size must lead to an extension, unless padding is taken.
  return c == '\r' && (state_ == State::digits || tolerant_) ? State::line_feed : State::malformed;
}

ChunkDecoder::State ChunkDecoder::end_by_bare_lf(State next) {
  took_bare_lf_ = tolerant_;
  return tolerant_ ? next : State::malformed;
}

// Text that fits no grammar says nothing, so it is let pass until the end of its line. Quotes are not: what they begin
// may hold an end of line for some.
ChunkDecoder::State ChunkDecoder::in_extension(char c) {
  const State next = by_grammar(c);
  const bool in_quotes = state_ == State::quoted || state_ == State::quoted_pair;
  if (next != State::malformed || !tolerant_ || in_quotes) return next;
  if (c == '\r') return State::line_feed;
  return is(octets::field_text, c) && c != '"' ? State::other_extension : State::malformed;
}

ChunkDecoder::State ChunkDecoder::by_grammar(char c) const {
  const bool token = is(octets::token, c);
  switch (state_) {
    case State::name_start:
      if (c == '\r') return State::line_feed;
      return token ? State::name : is_space_or_tab(c) ? State::name_start : State::malformed;
    case State::name:
      if (token) return State::name;
      [[fallthrough]];
    case State::after_name:
      if (is_space_or_tab(c)) return State::after_name;
      if (c == '=') return State::value_start;
      if (c == ';') return State::name_start;
      return c == '\r' && state_ == State::name ? State::line_feed : State::malformed;
    case State::value_start:
      if (c == '"') return State::quoted;
      return token ? State::token_value : is_space_or_tab(c) ? State::value_start : State::malformed;
    case State::token_value:
      if (token) return State::token_value;
      if (c == '\r') return State::line_feed;
      return is_space_or_tab(c) ? State::after_value : c == ';' ? State::name_start : State::malformed;
    case State::quoted:
      if (c == '"') return State::after_value;
      return c == '\\' ? State::quoted_pair : is(octets::field_text, c) ? State::quoted : State::malformed;
    case State::quoted_pair:
      return is(octets::field_text, c) ? State::quoted : State::malformed;
    case State::after_value:
      if (c == ';') return State::name_start;
      return is_space_or_tab(c) ? State::after_value : c == '\r' ? State::line_feed : State::malformed;
    default:
      return State::malformed;
  }
}

bool ChunkDecoder::within(const HeadLimits& limits) {
  return line_octets_ <= limits.chunk_line_bytes && extension_octets_ <= limits.extension_bytes + data_octets_;
}

}  // namespace bloomwall::proxy
