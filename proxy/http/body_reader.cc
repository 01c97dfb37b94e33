// SPDX-License-Identifier: Apache-2.0

#include "proxy/http/body_reader.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <string>
#include <utility>

#include "proxy/http/fields.h"
#include "proxy/http/octets.h"

namespace bloomwall::proxy {

void HeadBuffer::begin(const Rules& rules) {
  rules_ = rules;
  text_.clear();
  line_begin_ = lines_ = 0;
  dropped_ = 0;
  needs_repair_ = has_odd_lines_ = false;
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
  const bool has_cr = line.find('\r') != std::string_view::npos;
  if (has_cr && !rules_.take_odd_lines) return HeadState::bare_cr;
  if (line.empty()) return empty_line();
  const bool is_fold = line.front() == ' ' || line.front() == '\t';
  if (rules_.take_odd_lines) {
    has_odd_lines_ |= has_cr || is_fold;
  } else if (is_fold) {
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

void BodyReader::begin(const Rules& rules) {
  rules_ = rules;
  trailers_.clear();
  dropped_trailers_ = false;
  chunks_.begin(rules.tolerant);
  trailer_section_.begin({});
  left_ = 0;
  switch (rules.framing) {
    case BodyFraming::none:
      state_ = State::done;
      break;
    case BodyFraming::length:
      state_ = State::counted;
      left_ = rules.length;
      break;
    case BodyFraming::chunked:
      state_ = State::chunks;
      break;
    case BodyFraming::until_close:
      state_ = State::until_close;
      break;
  }
}

tl::expected<ReadStep, HttpError> BodyReader::feed(std::span<const char> bytes, const HeadLimits& limits) {
  switch (state_) {
    case State::done:
      return ReadStep{ReadEvent::end, 0, {}};
    case State::counted:
      return feed_counted(bytes);
    case State::until_close:
      if (bytes.empty()) return ReadStep{};
      return ReadStep{ReadEvent::body, bytes.size(), bytes};
    case State::chunks:
      return feed_chunks(bytes, limits);
    case State::trailers:
      return feed_trailers(bytes, limits);
  }
  return ReadStep{};
}

ReadStep BodyReader::feed_counted(std::span<const char> bytes) {
  if (bytes.empty()) return {};
  const auto body = bytes.first(std::min<std::uint64_t>(left_, bytes.size()));
  left_ -= body.size();
  if (left_ == 0) state_ = State::done;
  return {ReadEvent::body, body.size(), body};
}

tl::expected<ReadStep, HttpError> BodyReader::feed_chunks(std::span<const char> bytes, const HeadLimits& limits) {
  const ChunkDecoder::Step step = chunks_.feed(bytes, limits);
  switch (step.event) {
    case ChunkEvent::need_more:
      return ReadStep{ReadEvent::need_more, step.consumed, {}};
    case ChunkEvent::data:
      return ReadStep{ReadEvent::body, step.consumed, step.data};
    case ChunkEvent::malformed:
      return tl::unexpected(HttpError{rules_.error, "malformed chunk"});
    case ChunkEvent::too_long:
      return tl::unexpected(HttpError{rules_.error, "chunk extensions over their limit"});
    case ChunkEvent::last:
      break;
  }
  state_ = State::trailers;
  trailer_section_.begin({.limit = rules_.tolerant ? limits.head_bytes : limits.trailer_bytes,
                          .has_start_line = false,
                          .take_bare_lf = rules_.tolerant,
                          .take_odd_lines = rules_.tolerant});
  auto rest = feed_trailers(bytes.subspan(step.consumed), limits);
  if (rest) rest->consumed += step.consumed;
  return rest;
}

namespace {

void end_lines_by_crlf(std::string& text) {
  std::string ended;
  for (const char c : text) {
    if (c == '\n' && !ended.ends_with('\r')) ended.push_back('\r');
    ended.push_back(c);
  }
  text = std::move(ended);
}

}  // namespace

tl::expected<ReadStep, HttpError> BodyReader::feed_trailers(std::span<const char> bytes, const HeadLimits& limits) {
  ReadStep step;
  switch (trailer_section_.feed(bytes, step.consumed)) {
    case HeadState::need_more:
      return step;
    case HeadState::complete:
      break;
    case HeadState::too_large:
    case HeadState::first_line_too_large:
      return tl::unexpected(HttpError{rules_.error, "trailers over their limit"});
    case HeadState::empty_start:
    case HeadState::bare_cr:
    case HeadState::bare_lf:
    case HeadState::folded:
      return tl::unexpected(HttpError{rules_.error, "malformed line end in trailers"});
  }
  if (trailer_section_.needs_repair()) end_lines_by_crlf(trailer_section_.mutable_text());
  const auto parsed = parse_fields(trailer_section_.text(), limits.trailer_fields, trailers_);
  if (!parsed && !rules_.tolerant) return tl::unexpected(HttpError{rules_.error, to_string(parsed.error())});
  dropped_trailers_ = !parsed || trailer_section_.has_odd_lines();
  if (dropped_trailers_) trailers_.clear();
  state_ = State::done;
  step.event = ReadEvent::end;
  return step;
}

namespace {

// What the Transfer-Encoding lines of a message say together.
struct Codings {
  unsigned lines = 0;
  unsigned chunked = 0;  // elements that are exactly "chunked"
  unsigned other = 0;
  bool last_is_chunked = false;
  bool only_chunked() const { return lines == 1 && chunked == 1 && other == 0; }
};

Codings read_codings(std::span<const Field> fields) {
  Codings codings;
  for (const Field& field : fields) {
    if (field.id != FieldId::transfer_encoding) continue;
    ++codings.lines;
    std::string_view list = field.value;
    for (std::string_view coding; next_element(list, coding);) {
      codings.last_is_chunked = same_name(coding, "chunked");
      ++(codings.last_is_chunked ? codings.chunked : codings.other);
    }
  }
  return codings;
}

}  // namespace

std::optional<std::uint64_t> parse_length(std::string_view text) {
  constexpr std::uint64_t kMost = std::numeric_limits<std::int64_t>::max();
  if (text.empty() || !all(octets::digit, text)) return std::nullopt;
  std::uint64_t length = 0;
  for (const char c : text) {
    const auto digit = static_cast<std::uint64_t>(c - '0');
    if (length > (kMost - digit) / 10) return std::nullopt;
    length = length * 10 + digit;
  }
  return length;
}

tl::expected<Framing, HttpError> request_framing(std::span<const Field> fields, Version version) {
  Framing framing;
  for (const Field& field : fields) {
    if (field.id != FieldId::content_length) continue;
    const auto length = parse_length(field.value);
    if (!length) return tl::unexpected(bad_request("malformed Content-Length"));
    if (framing.has_length) return tl::unexpected(bad_request("several Content-Length fields"));
    framing = {*length > 0 ? BodyFraming::length : BodyFraming::none, *length, true};
  }
  const Codings codings = read_codings(fields);
  if (codings.lines == 0) return framing;
  if (framing.has_length) return tl::unexpected(bad_request("Transfer-Encoding beside Content-Length"));
  if (version == Version::http10) return tl::unexpected(bad_request("Transfer-Encoding in HTTP/1.0"));
  if (codings.only_chunked()) return Framing{BodyFraming::chunked, 0, false};
  if (codings.chunked == 0 && codings.other == 0) return tl::unexpected(bad_request("empty Transfer-Encoding"));
  if (codings.chunked > 0 && (codings.chunked > 1 || !codings.last_is_chunked)) {
    return tl::unexpected(bad_request("chunked is not the last transfer coding, once"));
  }
  if (codings.other == 0) return tl::unexpected(bad_request("several Transfer-Encoding fields"));
  return tl::unexpected(HttpError{ErrorKind::not_implemented, "a transfer coding other than chunked"});
}

tl::expected<Framing, HttpError> response_framing(std::span<const Field> fields) {
  const Codings codings = read_codings(fields);
  if (codings.lines > 0) {
    if (!codings.only_chunked()) return tl::unexpected(bad_response("a transfer coding other than chunked"));
    return Framing{BodyFraming::chunked, 0, false};
  }
  Framing framing{BodyFraming::until_close, 0, false};
  for (const Field& field : fields) {
    if (field.id != FieldId::content_length) continue;
    std::string_view list = field.value;
    bool any = false;
    for (std::string_view element; next_element(list, element); any = true) {
      const auto length = parse_length(element);
      if (!length) return tl::unexpected(bad_response("malformed Content-Length"));
      if (framing.has_length && framing.length != *length)
        return tl::unexpected(bad_response("contradicting Content-Length"));
      framing = {*length > 0 ? BodyFraming::length : BodyFraming::none, *length, true};
    }
    if (!any) return tl::unexpected(bad_response("empty Content-Length"));
  }
  return framing;
}

}  // namespace bloomwall::proxy
