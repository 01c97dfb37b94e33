// Steps 12 to 15: path and query to the primary form, and to the readings of other origins where the path is ambiguous.
// Linear: a bounded number of passes over the text, whatever its bytes. Reused scratch: no allocation after warm-up.
//
// The readings, in this order; one that equals an earlier form is dropped, so at most seven forms are left:
//   primary   the whole decoded to the fixpoint, split at the first '?', '\' is '/', "//" collapsed, then dots resolved
//   A1, A2    split at the literal '?', '/' and '\'; each segment decoded to the fixpoint; collapsed then resolved, and
//             resolved then collapsed
//   A3        as A1 and A2, but a segment that is a dot segment only after a second decoding is a name
//   A4        the whole decoded once, then split; a segment that is a dot segment only after a second decoding is a
//             name
// A3 and A4 are read only where one decoding leaves a '%', or where an escaped '/' or '\' meets a segment that begins
// with a dot. A separator that decoding brings into a segment is data and written %2F %5C %3F.
//
// The literal forms, where one decoding brings a '\': the whole decoded once and split at '/' alone, for '\' is
// an octet like any other to nginx and to most servers that don't run on Windows; collapsed then resolved, and resolved
// then collapsed. Lists and other programs know the readings above alone, so these are counted apart.
//
// The bare forms, where the path holds a ';' (an escaped one too): what stands from a ';' to the end of its segment is
// taken out of each of the readings, in both orders of collapsing and resolving, for a segment ";x" is an empty one
// then:
//   B1   taken out as spelt, the rest decoded to the fixpoint and split, and what came out taken out as well
//   B2   the whole decoded to the fixpoint and split, then taken out; where an escaped '?' comes out, cut there as well
//   B3   as A1 and A2, as A3, and as A4; and as A4, but taken out as spelt before
// B2 and the first of B3 where there are escapes, the others where one decoding leaves a '%'. They are none of the
// readings above, for an ordinary path may have parameters: see CanonicalUrl::asked().
// The handed-on forms, counted among the bare ones, are of what a server changes and hands to another or to a library:
//   H1   a path that begins with "//": what follows the segment behind it, which is read as an authority (Node's
//        `new URL(request.url, base)`), in all of the readings above; behind an '@', also what follows the host
//   H2   each form, cut at an escaped octet <= 0x20 or '#' in its path, and resolved again: nginx writes $uri decoded
//        into the request line for the next server ("proxy_pass http://b$uri"), whose target ends there; at a lone
//        0x85 or 0xA0, too, blanks of Latin-1. Without a query, but for blanks at the end of a path, which some servers
//        trim. A query that begins at an escaped '?' is cut likewise, and so is the path before its dots are resolved,
//        which an escaped '?' ends as well
//   H3   "%uXXXX" in a query, which servlet containers and IIS decode
//   H4   escapes with digits that are none: "%2>" is "%2E" and "%6@" is "%69" to Jetty, in all of the readings above.
//        Where such an escape comes out only once others are decoded, the whole decoded to the fixpoint
//   H5   an ambiguous path as nginx hands it on in $uri, in all of the readings above, H1 and H4: decoded once, split
//        at '/' alone and resolved, in both orders, of which "merge_slashes off" leaves the empty segments of one
//   H6   where a second decoding changes the path: the whole at the fixpoint, '?' an octet of a name, likewise, with H1
// In a path "%uXXXX" is no reading but has_odd_escape(): servers differ on its code page, and no browser writes it.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "filter/url/canonical_url.h"

namespace bloomwall::filter {

// The kinds of the segments of a path. PathWriter resolves "." and ".." and collapses "//" while it writes a canonical
// path, in either of the two orders that origins use. Linear: every byte is written once and taken back at most once.
enum class SegmentKind : std::uint8_t { name, empty, dot, dot_dot };
SegmentKind kind_of(std::string_view segment);

enum class Order : std::uint8_t {
  collapse_first,  // "/a//../b" is "/b": nginx, Apache
  resolve_first,   // "/a//../b" is "/a/b": RFC 3986, then "//" is collapsed
};

// Appends one path to `text`. For each segment between slashes: if (writer.step(kind, last)) append its text, which
// must not hold a '/' of its own. Then finish().
class PathWriter {
 public:
  PathWriter(Order order, std::string& text) : order_(order), text_(text), base_(text.size()) {}
  bool step(SegmentKind kind, bool last);
  void finish();
  void finish_uncollapsed();  // of resolve_first: empty segments stay

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

class FormReader {
 public:
  // `rest`: path and query as spelt, without the path's first slash. Writes the forms, whose views live until the next
  // call. Returns how many; the literal forms, so many, stand behind them, and then the bare ones.
  std::size_t read(std::string_view rest, std::array<UrlForm, kMaxAsked>& forms);
  std::uint8_t literal_forms() const { return static_cast<std::uint8_t>(literal_end_ - spelt_); }
  std::uint8_t bare_forms() const { return static_cast<std::uint8_t>(count_ - literal_end_); }
  std::uint8_t handed_on_forms() const { return static_cast<std::uint8_t>(count_ - bare_end_); }  // the last of these
  // Of the last read(): the path holds an escape that is none by RFC 3986 and that some server decodes.
  bool has_odd_escape() const { return has_odd_escape_; }
  // Likewise: there are more readings than kMaxAsked, and the others are left out.
  bool has_too_many() const { return has_too_many_; }

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

  std::size_t write_out(std::array<UrlForm, kMaxAsked>& forms) const;
  void read_spelling(std::string_view rest);  // all readings but the handed-on ones
  void read_authority(std::string_view rest);
  void read_cut_targets(std::string_view path);
  void cut_target(const Form& form, std::size_t at);
  void read_unresolved_target(std::string_view path);
  void read_query_escapes();
  void read_loose_escapes(std::string_view rest);
  void read_handed_on(std::string_view rest);
  void read_decoded_twice(std::string_view rest);
  void write_handed_on(std::string_view decoded, Order order);
  static bool is_plain(std::string_view path);  // sure that no reading differs from the primary form
  void read_primary(std::string_view rest);
  void read_alternatives(std::string_view path, Form form);
  void read_literal(std::string_view path, const Form& form);
  enum class Parameters : std::uint8_t { kept, dropped };
  void read_bare(std::string_view rest, std::string_view path, const Form& form);
  void read_bare_segments(std::string_view path, const Form& form);
  void drop_spelt_parameters(std::string_view path);                         // the rest into bare_
  void split_segments(std::string_view path, Parameters parameters);         // for A1 to A3
  void split_decoded(std::string_view decoded_once, Parameters parameters);  // for A4
  void add_segment(std::string_view raw, SegmentKind once, Parameters parameters);
  bool needs_single_decoding(std::string_view path);
  void write(SegmentKind Segment::* kind, Order order, Form form);
  void write_both(SegmentKind Segment::* kind, const Form& form);
  void write_bare(std::string_view decoded, const Form& form);  // in both orders
  void write_bare(std::string_view decoded, Order order, Form form);
  void add(const Form& form);
  void add_written(const Form& form);
  bool is_known(const Form& form) const;
  std::string_view view(Range range) const { return std::string_view(text_).substr(range.begin, range.size); }

  std::string text_;  // paths and queries of all forms
  std::array<Form, kMaxAsked> found_;
  std::size_t count_ = 0;
  std::size_t spelt_ = 0;        // of them, which are neither literal nor bare ones
  std::size_t literal_end_ = 0;  // of them, which are no bare ones
  std::size_t bare_end_ = 0;     // of them, which are not handed on
  bool has_odd_escape_ = false;
  bool has_too_many_ = false;
  Form primary_;  // of the spelling that is being read
  std::string decoded_;
  std::string once_;                // the path decoded once, '\' as '/'
  std::string bare_;                // the path as spelt, without parameters
  std::string loose_, deep_loose_;  // the URL's rest, H4
  std::string handed_on_;           // likewise, H5 and H6; the path up to the end of a target, H2
  std::string deep_;                // the path at the fixpoint, H6
  std::vector<Segment> segments_;
  std::string segment_text_;
};

}  // namespace bloomwall::filter
