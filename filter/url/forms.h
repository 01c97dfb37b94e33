// Steps 12 to 15: path and query to the primary form, and to the readings of other origins where the path is ambiguous.
// Linear: at most seven passes over the text, whatever its bytes. Reused scratch: no allocation after warm-up.
//
// The readings, in this order; one that equals an earlier form is dropped, so at most seven forms are left:
//   primary   the whole decoded to the fixpoint, split at the first '?', '\' is '/', "//" collapsed, then dots resolved
//   A1, A2    split at the literal '?', '/' and '\'; each segment decoded to the fixpoint; collapsed then resolved, and
//             resolved then collapsed
//   A3        as A1 and A2, but a segment that is a dot segment only after a second decoding is a name
//   A4        the whole decoded once, then split; a segment that is a dot segment only after a second decoding is a name
// A3 and A4 are read only where one decoding leaves a '%', or where an escaped '/' or '\' meets a segment that begins with a
// dot. A separator that decoding brings into a segment is data and written %2F %5C %3F.
//
// The bare form, where the path holds a ';' (an escaped one too): what stands from a ';' to the end of its segment goes, then
// the rest is decoded to the fixpoint and split, and parameters that came out go as well; then as A1. It is none of the
// readings above, for an ordinary path may have parameters: see CanonicalUrl::asked().
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "filter/url/canonical_url.h"
#include "filter/url/path.h"

namespace bloomwall::filter {

class FormReader {
 public:
  // `rest`: path and query as spelt, without the path's first slash. Writes the forms, whose views live until the next call.
  // Returns how many; where has_bare_form(), the bare form stands behind them.
  std::size_t read(std::string_view rest, std::array<UrlForm, kMaxForms>& forms);
  bool has_bare_form() const { return has_bare_form_; }

 private:
  struct Range {
    std::size_t begin = 0;
    std::size_t size = 0;
  };
  struct Form {  // offsets into text_, which moves while it grows
    Range path = {};
    Range query = {};
    bool has_query_mark = false;
  };
  struct Segment {
    Range text;                            // escaped, in segment_text_
    SegmentKind deep = SegmentKind::name;  // decoded to the fixpoint
    SegmentKind once = SegmentKind::name;  // decoded once
  };

  void read_primary(std::string_view rest);
  void read_alternatives(std::string_view path, Form form);
  void read_bare(std::string_view path, Form form);
  void split_segments(std::string_view path);         // for A1 to A3
  void split_decoded(std::string_view decoded_once);  // for A4
  void add_segment(std::string_view raw, SegmentKind once);
  bool needs_single_decoding(std::string_view path);
  void write(SegmentKind Segment::* kind, Order order, Form form);
  bool is_known(const Form& form) const;
  std::string_view view(Range range) const { return std::string_view(text_).substr(range.begin, range.size); }

  std::string text_;  // paths and queries of all forms
  std::array<Form, kMaxForms> found_;
  std::size_t count_ = 0;
  bool has_bare_form_ = false;
  std::string decoded_;
  std::string once_;  // the path decoded once, '\' as '/'
  std::vector<Segment> segments_;
  std::string segment_text_;
};

}  // namespace bloomwall::filter
