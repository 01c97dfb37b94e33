// SPDX-License-Identifier: Apache-2.0
#include "filter/lists/line_blocks.h"

#include <algorithm>

namespace bloomwall::filter {
namespace {

// One octet over the limit is enough to know a line for what it is, once both byte order marks (the file's and the line's) and
// the CR at its end are gone.
constexpr std::size_t kMostKept = kMaxLineBytes + 1 + 2 * kByteOrderMark.size() + 1;

}  // namespace

// A line that never ends must not be collected.
void LineBlocks::keep(std::string_view unfinished) {
  const std::size_t room = kMostKept - std::min(tail_.size(), kMostKept);
  tail_.append(unfinished.substr(0, room));
}

void LineBlocks::hand_over(LineBlock& block, std::string_view whole_lines) {
  block.text.assign(tail_);
  block.text.append(whole_lines);
  tail_.clear();
  block.first_line = next_line_;
  next_line_ += static_cast<std::uint64_t>(std::count(block.text.begin(), block.text.end(), '\n'));
  if (drops_mark_ && block.text.starts_with(kByteOrderMark)) block.text.erase(0, kByteOrderMark.size());
  drops_mark_ = false;
}

Result<bool> LineBlocks::next(LineBlock& block) {
  while (true) {
    const auto chunk = input_.next();
    if (!chunk) return unexpected(chunk.error());
    if (chunk->empty()) {
      if (tail_.empty()) return false;
      hand_over(block, {});
      return true;
    }
    const std::size_t end = chunk->rfind('\n');
    if (end == std::string_view::npos) {
      keep(*chunk);
      continue;
    }
    hand_over(block, chunk->substr(0, end + 1));
    keep(chunk->substr(end + 1));
    return true;
  }
}

}  // namespace bloomwall::filter
