// SPDX-License-Identifier: Apache-2.0
#include "filter/url/path.h"

#include <algorithm>

#include "filter/url/percent.h"

namespace bloomwall::filter {
namespace {

// Nothing to resolve, nothing to collapse, no '\'. "/.well-known" costs the long way and nothing else.
bool is_resolved(std::string_view path) {
  char before = '/';
  for (const char c : path) {
    if (c == '\\' || (before == '/' && (c == '/' || c == '.'))) return false;
    before = c;
  }
  return true;
}

}  // namespace

SegmentKind kind_of(std::string_view segment) {
  if (segment.empty()) return SegmentKind::empty;
  if (segment == ".") return SegmentKind::dot;
  return segment == ".." ? SegmentKind::dot_dot : SegmentKind::name;
}

bool PathWriter::step(SegmentKind kind, bool last) {
  directory_ = last && kind != SegmentKind::name;
  switch (kind) {
    case SegmentKind::name:
      text_.push_back('/');
      return true;
    case SegmentKind::empty:
      if (!last && order_ == Order::resolve_first) text_.push_back('/');
      return false;
    case SegmentKind::dot:
      return false;
    case SegmentKind::dot_dot:
      if (text_.size() > base_) text_.resize(text_.rfind('/'));
      return false;
  }
  return false;
}

void PathWriter::finish() {
  if (order_ == Order::resolve_first) collapse();
  const bool empty = text_.size() == base_;
  if (empty || (directory_ && text_.back() != '/')) text_.push_back('/');
}

void PathWriter::collapse() {
  const auto begin = text_.begin() + static_cast<std::ptrdiff_t>(base_);
  text_.erase(std::unique(begin, text_.end(), [](char a, char b) { return a == '/' && b == '/'; }), text_.end());
}

void append_path(std::string_view decoded, std::string& text) {
  if (is_resolved(decoded)) {
    text.push_back('/');
    append_escaped(decoded, Separators::plain, text);
    return;
  }
  PathWriter writer(Order::collapse_first, text);
  for_each_segment(decoded, [&](std::string_view segment, bool last) {
    if (writer.step(kind_of(segment), last)) append_escaped(segment, Separators::plain, text);
  });
  writer.finish();
}

}  // namespace bloomwall::filter
