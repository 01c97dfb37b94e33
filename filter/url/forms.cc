// SPDX-License-Identifier: Apache-2.0
#include "filter/url/forms.h"

#include <algorithm>

#include "filter/url/percent.h"

namespace bloomwall::filter {
namespace {

// Sure that no reading differs from the primary form. May be false without need, which costs time only.
bool is_plain(std::string_view path) {
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

bool may_have_parameters(std::string_view path) { return path.find_first_of(";%") != std::string_view::npos; }

std::string_view without_parameters(std::string_view segment) { return segment.substr(0, segment.find(';')); }

std::size_t count_slashes(std::string_view path) {
  return static_cast<std::size_t>(
      std::count_if(path.begin(), path.end(), [](char c) { return c == '/' || c == '\\'; }));
}

}  // namespace

std::size_t FormReader::read(std::string_view rest, std::array<UrlForm, kMaxForms>& forms) {
  text_.clear();
  count_ = 0;
  read_primary(rest);
  const std::size_t mark = std::min(rest.find('?'), rest.size());
  const std::string_view path = rest.substr(0, mark);
  has_bare_form_ = false;
  const bool is_ambiguous = !is_plain(path);
  if (is_ambiguous || may_have_parameters(path)) {
    Form form{.query = {.begin = text_.size()}, .has_query_mark = mark != rest.size()};
    if (form.has_query_mark) {
      decoded_.clear();
      append_decoded_fully(rest.substr(mark + 1), decoded_);
      append_escaped(decoded_, Separators::plain, text_);
      form.query.size = text_.size() - form.query.begin;
    }
    if (is_ambiguous) read_alternatives(path, form);
    read_bare(path, form);
  }
  for (std::size_t i = 0; i < count_ + (has_bare_form_ ? 1 : 0); ++i) {
    forms[i] = {
        .path = view(found_[i].path), .query = view(found_[i].query), .has_query_mark = found_[i].has_query_mark};
  }
  return count_;
}

void FormReader::read_primary(std::string_view rest) {
  decoded_.clear();
  append_decoded_fully(rest, decoded_);
  const std::string_view all(decoded_);
  const std::size_t mark = all.find('?');
  Form form{.has_query_mark = mark != std::string_view::npos};
  append_path(all.substr(0, mark), text_);
  form.path.size = form.query.begin = text_.size();
  if (form.has_query_mark) append_escaped(all.substr(mark + 1), Separators::plain, text_);
  form.query.size = text_.size() - form.query.begin;
  found_[count_++] = form;
}

void FormReader::read_alternatives(std::string_view path, Form form) {
  split_segments(path);
  write(&Segment::deep, Order::collapse_first, form);  // A1
  write(&Segment::deep, Order::resolve_first, form);   // A2
  if (!needs_single_decoding(path)) return;
  write(&Segment::once, Order::collapse_first, form);  // A3
  write(&Segment::once, Order::resolve_first, form);
  split_decoded(once_);
  write(&Segment::once, Order::collapse_first, form);  // A4
  write(&Segment::once, Order::resolve_first, form);
}

void FormReader::read_bare(std::string_view path, Form form) {
  once_.clear();
  for_each_segment(path, [this](std::string_view raw, bool last) {
    once_.append(without_parameters(raw));
    if (!last) once_.push_back('/');
  });
  decoded_.clear();
  append_decoded_fully(once_, decoded_);
  if (once_.size() == path.size() && decoded_.find(';') == std::string::npos) return;
  form.path.begin = text_.size();
  PathWriter writer(Order::collapse_first, text_);
  for_each_segment(decoded_, [&](std::string_view segment, bool last) {
    const std::string_view bare = without_parameters(segment);
    if (writer.step(kind_of(bare), last)) append_escaped(bare, Separators::escape, text_);
  });
  writer.finish();
  form.path.size = text_.size() - form.path.begin;
  has_bare_form_ = count_ < kMaxForms && !is_known(form);
  if (has_bare_form_) found_[count_] = form;
}

// The text of a segment is the same at either depth, for escapes never overlap; only what counts as a dot differs.
void FormReader::add_segment(std::string_view raw, SegmentKind once) {
  decoded_.clear();
  append_decoded_fully(raw, decoded_);
  Segment segment{.text = {.begin = segment_text_.size()}, .deep = kind_of(decoded_), .once = once};
  append_escaped(decoded_, Separators::escape, segment_text_);
  segment.text.size = segment_text_.size() - segment.text.begin;
  segments_.push_back(segment);
}

void FormReader::split_segments(std::string_view path) {
  segments_.clear();
  segment_text_.clear();
  for_each_segment(path, [this](std::string_view raw, bool) {
    once_.clear();
    append_decoded_once(raw, once_);
    add_segment(raw, kind_of(once_));
  });
}

void FormReader::split_decoded(std::string_view decoded_once) {
  segments_.clear();
  segment_text_.clear();
  for_each_segment(decoded_once, [this](std::string_view once, bool) { add_segment(once, kind_of(once)); });
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
  if (count_ == kMaxForms || is_known(form)) {
    text_.resize(form.path.begin);
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
