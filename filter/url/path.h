// Paths: the kinds of segments, and the writer that resolves "." and ".." and collapses "//" while a canonical path is put
// together, in either of the two orders that origins use. Linear: every byte is written once and taken back at most once.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace bloomwall::filter {

enum class SegmentKind : std::uint8_t { name, empty, dot, dot_dot };
SegmentKind kind_of(std::string_view segment);

enum class Order : std::uint8_t {
  collapse_first,  // "/a//../b" is "/b": nginx, Apache
  resolve_first,   // "/a//../b" is "/a/b": RFC 3986, then "//" is collapsed
};

// Appends one path to `text`. For each segment between slashes: if (writer.step(kind, last)) append its text, which must
// not hold a '/' of its own. Then finish().
class PathWriter {
 public:
  PathWriter(Order order, std::string& text) : order_(order), text_(text), base_(text.size()) {}
  bool step(SegmentKind kind, bool last);
  void finish();

 private:
  void collapse();
  Order order_;
  std::string& text_;
  std::size_t base_;
  bool directory_ = false;  // the last segment was empty or a dot segment: the path ends in '/'
};

// Step 12 and 13: `decoded` is the path at the fixpoint, up to '?', without its first slash.
void append_path(std::string_view decoded, std::string& text);

// Calls visit(segment, last) for each piece of `path` between slashes of either kind.
template <typename Visit>
void for_each_segment(std::string_view path, Visit&& visit) {
  std::size_t begin = 0;
  for (std::size_t at = 0; at < path.size(); ++at) {
    if (path[at] != '/' && path[at] != '\\') continue;
    visit(path.substr(begin, at - begin), false);
    begin = at + 1;
  }
  visit(path.substr(begin), true);
}

}  // namespace bloomwall::filter
