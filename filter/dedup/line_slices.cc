// SPDX-License-Identifier: Apache-2.0
#include "filter/dedup/line_slices.h"

#include <algorithm>

namespace bloomwall::filter {

Result<bool> LineSlices::next(LineSlice& slice) {
  slice.text.clear();
  slice.too_long = slice.line_ends = false;
  while (true) {
    if (rest_.empty()) {
      const auto chunk = input_.next();
      if (!chunk) return unexpected(chunk.error());
      if (chunk->empty()) return finish(slice);
      rest_ = *chunk;
    }
    if (take(slice)) return true;
  }
}

// `end` octets of the rest belong to a line that is too long; what was kept of it comes first.
void LineSlices::take_piece(LineSlice& slice, std::size_t end) {
  const bool ends = end != std::string_view::npos;
  const std::string_view piece = ends ? rest_.substr(0, end + 1) : rest_;
  slice.text.append(tail_).append(piece);
  slice.too_long = true;
  slice.line_ends = ends;
  tail_.clear();
  in_long_line_ = !ends;
  rest_.remove_prefix(piece.size());
}

bool LineSlices::take(LineSlice& slice) {
  const std::size_t end = rest_.find('\n');
  if (in_long_line_ || tail_.size() + std::min(end, rest_.size()) > kMaxDedupLine) {
    take_piece(slice, end);
    return true;
  }
  if (end == std::string_view::npos) {
    tail_.append(rest_);
    rest_ = {};
    return false;
  }
  const std::size_t last = rest_.rfind('\n');
  slice.text.append(tail_).append(rest_.substr(0, last + 1));
  tail_.clear();
  rest_.remove_prefix(last + 1);
  return true;
}

bool LineSlices::finish(LineSlice& slice) {
  if (!in_long_line_ && tail_.empty()) return false;
  slice.text.append(tail_).push_back('\n');
  slice.too_long = slice.line_ends = in_long_line_;
  tail_.clear();
  in_long_line_ = false;
  return true;
}

}  // namespace bloomwall::filter
