// Field lists of HTTP/2 and the heads of HTTP/1.1 that mean the same. A list that was received is checked by the rules
// of RFC 9113 sections 8.2 and 8.3, written as the text of a head, and read by the very parser that reads HTTP/1.1: so
// there is one set of checks, and one RequestHead, for both versions. What is sent is made from parsed heads.
//
// Refused as malformed: names that are no tokens or not in lower case; values with control octets, or with white space
// around them; connection-specific fields, TE other than "trailers"; pseudo-header fields that are unknown, doubled,
// missing, or behind others; a :path that is neither "/..." nor the "*" of OPTIONS; no authority; a Host that is not
// :authority; and all that HTTP/1.1 refuses. Of origins white space around values is taken, and dropped, as clients do
// that ask them without a proxy. A scheme other than https is misdirected. nghttp2 refuses most of that
// before; this is the reading that counts.
// No I/O, no clock. Cost: linear in the list.
// Source: RFC 9113 section 8, RFC 9110 section 6.5.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "proxy/http/body_reader.h"
#include "proxy/http/http_error.h"
#include "proxy/http/request.h"
#include "proxy/http/response.h"

namespace bloomwall::proxy {

// One field as it is given to, or comes from, HPACK.
struct Http2Field {
  std::string_view name, value;
  bool never_indexed = false;  // RFC 7541 section 7.1.3: no hop may put it into a table
};

// The fields of one header section, as they arrive.
class Http2FieldList {
 public:
  struct Limits {
    std::size_t bytes = 65'536;  // of names and values, 32 more for each field (RFC 9113 section 6.5.2)
    std::size_t fields = 256;
  };
  // A section so many times over its limit is no request that is too large but an attack.
  static constexpr std::size_t kFarOver = 4;

  void trim();                                         // of the memory of a large one nothing is kept
  void begin(const Limits& limits);                    // empties it
  bool add(const Http2Field& field);                   // copies; false: far over the limit
  bool is_too_large() const { return is_too_large_; }  // then it is not complete
  std::size_t held() const { return text_.capacity() + fields_.capacity() * sizeof(Place); }  // octets
  std::size_t size() const { return fields_.size(); }
  Http2Field operator[](std::size_t i) const;                         // valid until the list changes
  std::optional<std::string_view> find(std::string_view name) const;  // the first one

 private:
  struct Place {
    std::size_t begin, name, value;  // in text_; lengths
    bool never_indexed;
  };
  Limits limits_;
  std::string text_;
  std::vector<Place> fields_;
  std::size_t seen_bytes_ = 0, seen_fields_ = 0;
  bool is_too_large_ = false;
};

// Names of fields that came as never to be indexed: they must be forwarded as such.
inline constexpr std::size_t kMostNeverIndexed = 32;  // so many or more: all fields are treated like that
using NeverIndexed = std::vector<std::string>;        // each once
void note_never_indexed(NeverIndexed& names, const Http2FieldList& list);
void mark_never_indexed(std::vector<Http2Field>& list, const NeverIndexed& names);

// A request's head. `text` is overwritten, and `head` points into it. `is_end`: no body follows. Otherwise the body's
// framing is that of Content-Length, or chunked.
std::optional<HttpError> read_request(const Http2FieldList& list, bool is_end, std::size_t most_fields,
                                      std::string& text, RequestHead& head);

// A head of an answer, as the text of one of HTTP/1.1.
struct Http2Answer {
  int status = 0;            // 1xx: an interim one
  bool is_chunked = false;   // how its body must be framed
  std::uint64_t length = 0;  // else the octets of its body
};
struct Http2AnswerTo {
  Method method = Method::get;
  bool is_end = false;  // no body follows, and no trailers
};
std::optional<HttpError> write_answer_text(const Http2FieldList& list, const Http2AnswerTo& to, std::string& text,
                                           Http2Answer& answer);

// Trailers, as lines with the empty one at their end; `text` is appended to. Errors are those of a request.
enum class Http2Sender : std::uint8_t { client, origin };
std::optional<HttpError> write_trailer_lines(const Http2FieldList& list, Http2Sender sender, std::string& text);

// Trailers that are parsed. In HTTP/2 they may follow any body; a message of HTTP/1.1 has no place for them behind a
// Content-Length, so these go beside it.
class Http2Trailers {
 public:
  // False: they are malformed, or over the limits that bodies of HTTP/1.1 have.
  bool read(const Http2FieldList& list, Http2Sender sender, const HeadLimits& limits);
  void clear();
  std::span<const Field> fields() const { return fields_; }

 private:
  std::string text_;
  std::vector<Field> fields_;
};

// What is sent: pseudo-header fields and those of a head that was written for HTTP/1.1, without the connection-specific
// ones. `out` is overwritten, its views are those of the head, and of `status`.
void list_request(std::vector<Http2Field>& out, const RequestHead& head);
struct StatusText {
  char digits[3];
};
void list_answer(std::vector<Http2Field>& out, const ResponseHead& head, StatusText& status);
// Those that may be relayed.
void list_trailers(std::vector<Http2Field>& out, std::span<const Field> trailers);

}  // namespace bloomwall::proxy
