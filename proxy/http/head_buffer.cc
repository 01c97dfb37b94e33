// SPDX-License-Identifier: Apache-2.0
#include "proxy/http/head_buffer.h"

#include <algorithm>
#include <cstring>

namespace bloomwall::proxy {

void HeadBuffer::begin(const Rules& rules) {
  rules_ = rules;
  text_.clear();
  line_begin_ = lines_ = 0;
  dropped_ = 0;
  needs_repair_ = false;
  state_ = HeadState::need_more;
}

HeadState HeadBuffer::feed(std::span<const char> bytes, std::size_t& consumed) {
  consumed = 0;
  while (state_ == HeadState::need_more && consumed < bytes.size()) {
    const std::span<const char> rest = bytes.subspan(consumed);
    const void* const newline = std::memchr(rest.data(), '\n', rest.size());
    const std::size_t piece = newline == nullptr
                                  ? rest.size()
                                  : static_cast<std::size_t>(static_cast<const char*>(newline) - rest.data()) + 1;
    if (text_.size() + piece > rules_.limit) {
      // What fits is kept: readers check the first octets before the size, so the result does not depend on how the
      // input was cut.
      text_.append(rest.data(), rules_.limit - text_.size());
      return state_ = lines_ == 0 && rules_.has_start_line ? HeadState::first_line_too_large : HeadState::too_large;
    }
    text_.append(rest.data(), piece);
    consumed += piece;
    if (newline != nullptr) state_ = end_of_line();
  }
  return state_;
}

// A line is complete, its LF included.
HeadState HeadBuffer::end_of_line() {
  std::string_view line = std::string_view(text_).substr(line_begin_);
  line_begin_ = text_.size();
  line.remove_suffix(1);
  if (!line.empty() && line.back() == '\r') {
    line.remove_suffix(1);
  } else if (rules_.take_bare_lf) {
    needs_repair_ = true;
  } else {
    return HeadState::bare_lf;
  }
  if (line.find('\r') != std::string_view::npos) return HeadState::bare_cr;
  if (line.empty()) return empty_line();
  if (line.front() == ' ' || line.front() == '\t') {
    if (!rules_.take_folds || lines_ < (rules_.has_start_line ? 2U : 1U)) return HeadState::folded;
    needs_repair_ = true;
  }
  ++lines_;
  return HeadState::need_more;
}

HeadState HeadBuffer::empty_line() {
  if (lines_ > 0 || !rules_.has_start_line) return HeadState::complete;
  if (dropped_ == rules_.empty_lines) return HeadState::empty_start;
  ++dropped_;
  text_.clear();
  line_begin_ = 0;
  return HeadState::need_more;
}

}  // namespace bloomwall::proxy
