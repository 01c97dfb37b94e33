// SPDX-License-Identifier: Apache-2.0
#include "filter/url/forms.h"

#include <algorithm>

#include "filter/url/odd_escapes.h"
#include "filter/url/percent.h"

namespace bloomwall::filter {
namespace {

// Nothing to resolve, nothing to collapse, no '\'. "/.well-known" costs the slow path and nothing else.
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
  if (segment.empty() || segment == ".") return segment.empty() ? SegmentKind::empty : SegmentKind::dot;
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
  finish_uncollapsed();
}

void PathWriter::finish_uncollapsed() {
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

namespace {

bool may_have_parameters(std::string_view path) { return path.find_first_of(";%") != std::string_view::npos; }

std::string_view without_parameters(std::string_view segment) { return segment.substr(0, segment.find(';')); }

std::size_t count_slashes(std::string_view path) {
  return static_cast<std::size_t>(
      std::count_if(path.begin(), path.end(), [](char c) { return c == '/' || c == '\\'; }));
}

}  // namespace

std::size_t FormReader::read(std::string_view rest, std::array<UrlForm, kMaxAsked>& forms) {
  text_.clear();
  count_ = 0;
  has_odd_escape_ = has_too_many_ = false;
  read_spelling(rest);
  bare_end_ = count_;
  const std::size_t spelt = spelt_, literal_end = literal_end_;
  const std::string_view path = rest.substr(0, rest.find('?'));
  if (path.find('%') != std::string_view::npos) has_odd_escape_ = holds_odd_escape(path, decoded_);
  read_authority(rest);
  read_query_escapes();
  if (rest.find('%') != std::string_view::npos) read_loose_escapes(rest);
  read_handed_on(rest);
  if (path.find('%') != std::string_view::npos) {
    read_decoded_twice(rest);
    read_unresolved_target(path);
  }
  read_cut_targets(path);
  spelt_ = spelt;
  literal_end_ = literal_end;
  return write_out(forms);
}

std::size_t FormReader::write_out(std::array<UrlForm, kMaxAsked>& forms) const {
  for (std::size_t i = 0; i < count_; ++i) {
    forms[i] = {
        .path = view(found_[i].path), .query = view(found_[i].query), .has_query_mark = found_[i].has_query_mark};
  }
  return spelt_;
}

// May be false without need, which costs time only.
bool FormReader::is_plain(std::string_view path) {
  bool slashes = false;
  bool dots = false;
  char before = '/';
  for (std::size_t at = 0; at < path.size(); ++at) {
    char c = path[at] == '\\' ? '/' : path[at];
    if (c == '%') {
      const int byte = escape_at(path, at);
      if (byte < 0 || byte == '%' || byte == '/' || byte == '\\' || byte == '?') return false;
      c = static_cast<char>(byte);
      at += 2;
    }
    slashes = slashes || (c == '/' && before == '/');
    dots = dots || (c == '.' && before == '.');
    before = c;
  }
  return !(slashes && dots);
}

void FormReader::read_spelling(std::string_view rest) {
  read_primary(rest);
  spelt_ = literal_end_ = count_;
  const std::size_t mark = std::min(rest.find('?'), rest.size());
  const std::string_view path = rest.substr(0, mark);
  const bool is_ambiguous = !is_plain(path);
  if (!is_ambiguous && !may_have_parameters(path)) return;
  Form form{.query = {.begin = text_.size()}, .has_query_mark = mark != rest.size()};
  if (form.has_query_mark) {
    decoded_.clear();
    append_decoded_fully(rest.substr(mark + 1), decoded_);
    append_escaped(decoded_, Separators::plain, text_);
    form.query.size = text_.size() - form.query.begin;
  }
  if (is_ambiguous) read_alternatives(path, form);
  spelt_ = count_;
  if (is_ambiguous) read_literal(path, form);
  literal_end_ = count_;
  read_bare(rest, path, form);
}

void FormReader::read_primary(std::string_view rest) {
  decoded_.clear();
  append_decoded_fully(rest, decoded_);
  const std::string_view all(decoded_);
  const std::size_t mark = all.find('?');
  Form form{.path = {.begin = text_.size()}, .has_query_mark = mark != std::string_view::npos};
  append_path(all.substr(0, mark), text_);
  form.path.size = text_.size() - form.path.begin;
  form.query.begin = text_.size();
  if (form.has_query_mark) append_escaped(all.substr(mark + 1), Separators::plain, text_);
  form.query.size = text_.size() - form.query.begin;
  primary_ = form;
  add(form);
}

void FormReader::read_alternatives(std::string_view path, Form form) {
  split_segments(path, Parameters::kept);
  write_both(&Segment::deep, form);  // A1, A2
  if (!needs_single_decoding(path)) return;
  write_both(&Segment::once, form);  // A3
  split_decoded(once_, Parameters::kept);
  write_both(&Segment::once, form);  // A4
}

// A '\' that is not escaped is '/' here, too: that is what browsers send for it, and the proxy refuses it.
void FormReader::read_literal(std::string_view path, const Form& form) {
  once_.clear();
  append_decoded_once(path, once_);
  if (std::ranges::count(once_, '\\') == std::ranges::count(path, '\\')) return;
  bare_.assign(path);
  std::ranges::replace(bare_, '\\', '/');
  once_.clear();
  append_decoded_once(bare_, once_);
  segments_.clear();
  segment_text_.clear();
  for (std::size_t begin = 0, end = 0; begin <= once_.size(); begin = end + 1) {
    end = std::min(once_.find('/', begin), once_.size());
    const std::string_view once = std::string_view(once_).substr(begin, end - begin);
    add_segment(once, kind_of(once), Parameters::kept);
  }
  write_both(&Segment::once, form);
}

void FormReader::read_bare(std::string_view rest, std::string_view path, const Form& form) {
  decoded_.clear();
  append_decoded_fully(path, decoded_);
  if (decoded_.find(';') == std::string::npos) return;
  const bool has_escapes = path.find('%') != std::string_view::npos;
  if (has_escapes) write_bare(decoded_, form);  // B2
  if (has_escapes && decoded_.find('?') != std::string::npos) {
    decoded_.clear();
    append_decoded_fully(rest, decoded_);
    write_bare(std::string_view(decoded_).substr(0, decoded_.find('?')), primary_);
  }
  drop_spelt_parameters(path);
  decoded_.clear();
  append_decoded_fully(bare_, decoded_);
  write_bare(decoded_, form);  // B1
  if (has_escapes) read_bare_segments(path, form);
}

// B3.
void FormReader::read_bare_segments(std::string_view path, const Form& form) {
  split_segments(path, Parameters::dropped);
  write_both(&Segment::deep, form);
  once_.clear();
  append_decoded_once(path, once_);
  if (once_.find('%') == std::string::npos) return;
  write_both(&Segment::once, form);
  split_decoded(once_, Parameters::dropped);
  write_both(&Segment::once, form);
  once_.clear();
  append_decoded_once(bare_, once_);
  split_decoded(once_, Parameters::dropped);
  write_both(&Segment::once, form);
}

void FormReader::drop_spelt_parameters(std::string_view path) {
  bare_.clear();
  for_each_segment(path, [this](std::string_view raw, bool last) {
    bare_.append(without_parameters(raw));
    if (!last) bare_.push_back('/');
  });
}

void FormReader::write_bare(std::string_view decoded, const Form& form) {
  write_bare(decoded, Order::collapse_first, form);
  if (decoded.find("..") != std::string_view::npos) write_bare(decoded, Order::resolve_first, form);
}

void FormReader::write_bare(std::string_view decoded, Order order, Form form) {
  form.path.begin = text_.size();
  PathWriter writer(order, text_);
  for_each_segment(decoded, [&](std::string_view segment, bool last) {
    const std::string_view bare = without_parameters(segment);
    if (writer.step(kind_of(bare), last)) append_escaped(bare, Separators::escape, text_);
  });
  writer.finish();
  form.path.size = text_.size() - form.path.begin;
  add_written(form);
}

// The text of a segment is the same at either depth, for escapes never overlap; only what counts as a dot differs.
void FormReader::add_segment(std::string_view raw, SegmentKind once, Parameters parameters) {
  decoded_.clear();
  append_decoded_fully(raw, decoded_);
  const std::string_view text = parameters == Parameters::kept ? decoded_ : without_parameters(decoded_);
  Segment segment{.text = {.begin = segment_text_.size()}, .deep = kind_of(text), .once = once};
  append_escaped(text, Separators::escape, segment_text_);
  segment.text.size = segment_text_.size() - segment.text.begin;
  segments_.push_back(segment);
}

void FormReader::split_segments(std::string_view path, Parameters parameters) {
  segments_.clear();
  segment_text_.clear();
  for_each_segment(path, [this, parameters](std::string_view raw, bool) {
    once_.clear();
    append_decoded_once(raw, once_);
    add_segment(raw, kind_of(parameters == Parameters::kept ? once_ : without_parameters(once_)), parameters);
  });
}

void FormReader::split_decoded(std::string_view decoded_once, Parameters parameters) {
  segments_.clear();
  segment_text_.clear();
  for_each_segment(decoded_once, [this, parameters](std::string_view once, bool) {
    add_segment(once, kind_of(parameters == Parameters::kept ? once : without_parameters(once)), parameters);
  });
}

// The trigger of A3 and A4; leaves the path decoded once in once_.
bool FormReader::needs_single_decoding(std::string_view path) {
  once_.clear();
  append_decoded_once(path, once_);
  if (once_.find('%') != std::string::npos) return true;
  if (count_slashes(once_) <= count_slashes(path)) return false;
  char before = '/';  // one decoding left no '%', so once_ is the fixpoint too
  for (const char c : once_) {
    if (c == '.' && (before == '/' || before == '\\')) return true;
    before = c;
  }
  return false;
}

void FormReader::write_both(SegmentKind Segment::* kind, const Form& form) {
  write(kind, Order::collapse_first, form);
  write(kind, Order::resolve_first, form);
}

void FormReader::write(SegmentKind Segment::* kind, Order order, Form form) {
  form.path.begin = text_.size();
  PathWriter writer(order, text_);
  for (const Segment& segment : segments_) {
    if (writer.step(segment.*kind, &segment == &segments_.back())) {
      text_.append(segment_text_, segment.text.begin, segment.text.size);
    }
  }
  writer.finish();
  form.path.size = text_.size() - form.path.begin;
  add_written(form);
}

// The last that was written to text_.
void FormReader::add_written(const Form& form) {
  const std::size_t before = count_;
  add(form);
  if (count_ == before) text_.resize(form.path.begin);
}

void FormReader::add(const Form& form) {
  if (is_known(form)) return;
  if (count_ == found_.size()) {
    has_too_many_ = true;
  } else {
    found_[count_++] = form;
  }
}

bool FormReader::is_known(const Form& form) const {
  return std::any_of(found_.begin(), found_.begin() + static_cast<std::ptrdiff_t>(count_), [&](const Form& f) {
    return f.has_query_mark == form.has_query_mark && view(f.path) == view(form.path) &&
           view(f.query) == view(form.query);
  });
}

}  // namespace bloomwall::filter
