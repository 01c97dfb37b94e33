// Collects a head (or a trailer section) line by line until its empty line, in one contiguous buffer that views point
// to. Checked here, because the parsers above it rely on it: line ends are CRLF (with `take_bare_lf` also LF), no CR
// stands alone, no line is folded (with `take_folds` folds are only noted), the section stays within its size. Every
// octet is copied and examined once, however the input is cut.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace bloomwall::proxy {

enum class HeadState : std::uint8_t {
  need_more,
  complete,
  too_large,
  first_line_too_large,
  empty_start,
  bare_cr,
  bare_lf,
  folded
};

class HeadBuffer {
 public:
  struct Rules {
    std::size_t limit = 0;       // bytes, the empty line included
    bool has_start_line = true;  // the first line is none of the fields
    unsigned empty_lines = 0;    // dropped before the start line; one more is empty_start
    bool take_bare_lf = false;
    bool take_folds = false;
  };

  void begin(const Rules& rules);  // empties it
  // Takes bytes up to the end of the section; `consumed` tells how many. States other than need_more are final.
  HeadState feed(std::span<const char> bytes, std::size_t& consumed);

  std::string_view text() const { return text_; }      // all octets so far
  std::string& mutable_text() { return text_; }        // for repairs of a complete section
  std::size_t lines() const { return lines_; }         // complete ones, the empty line not counted
  bool needs_repair() const { return needs_repair_; }  // a bare LF or a fold was taken
  bool empty() const { return text_.empty(); }
  std::size_t memory() const { return text_.capacity(); }  // bytes

 private:
  HeadState end_of_line();
  HeadState empty_line();

  Rules rules_;
  std::string text_;
  std::size_t line_begin_ = 0;
  std::size_t lines_ = 0;
  unsigned dropped_ = 0;
  bool needs_repair_ = false;
  HeadState state_ = HeadState::need_more;
};

}  // namespace bloomwall::proxy
