// Takes the chunked transfer coding off a body, octet by octet in the frame, span by span in the data.
// Grammar as in RFC 9112 section 7.1: hex size of any length of padding, extensions (checked and dropped), CRLF; and an
// extension may be missing behind its semicolon. Written here rather than taken from llhttp, whose version 8 refuses
// valid extensions (space around "=", quoted pairs) and mixes trailer fields with framing fields; tests hold that what
// llhttp takes is read the same way here.
// Bounds: size below 2^63, a size line within HeadLimits, and all extensions together within HeadLimits plus the octets
// of data that came with them.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace bloomwall::proxy {

struct HeadLimits;  // proxy/http/body_reader.h

enum class ChunkEvent : std::uint8_t {
  need_more,
  data,       // `data` holds octets of the body
  last,       // the last chunk's line is over; the trailer section follows
  malformed,  // final
  too_long,   // a size line or the extensions over their limits; final
};

class ChunkDecoder {
 public:
  struct Step {
    ChunkEvent event = ChunkEvent::need_more;
    std::size_t consumed = 0;
    std::span<const char> data = {};
  };
  // `tolerant`: as servers send chunks, and browsers take them: spaces between the size and CRLF, extensions of any
  // text, and LF alone behind a size or data. Not behind an extension, which for some readers lasts until CRLF.
  void begin(bool tolerant);
  Step feed(std::span<const char> bytes, const HeadLimits& limits);
  bool took_bare_lf() const { return took_bare_lf_; }

 private:
  enum class State : std::uint8_t {
    first_digit,
    digits,
    padding,
    name_start,
    name,
    after_name,
    value_start,
    token_value,
    quoted,
    quoted_pair,
    after_value,
    other_extension,
    line_feed,
    data,
    data_cr,
    data_lf,
    last,
    malformed,
    too_long
  };
  State on_frame_octet(char c);
  State digit(char c);
  State after_size(char c);
  State in_extension(char c);
  State by_grammar(char c) const;  // of extensions
  State end_by_bare_lf(State next);
  State line_over() const { return size_ == 0 ? State::last : State::data; }
  bool within(const HeadLimits& limits);

  State state_ = State::first_digit;
  bool tolerant_ = false;
  bool took_bare_lf_ = false;
  std::uint64_t size_ = 0;  // of the chunk; while in data: octets left
  std::uint64_t line_octets_ = 0;
  std::uint64_t extension_octets_ = 0;
  std::uint64_t data_octets_ = 0;
};

}  // namespace bloomwall::proxy
