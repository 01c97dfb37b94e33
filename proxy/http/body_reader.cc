// SPDX-License-Identifier: Apache-2.0
#include "proxy/http/body_reader.h"

#include <algorithm>

#include "proxy/http/field_parser.h"

namespace bloomwall::proxy {

void BodyReader::begin(const Rules& rules) {
  rules_ = rules;
  trailers_.clear();
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
      chunks_.begin(rules.take_padding);
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
  trailer_section_.begin({.limit = limits.trailer_bytes, .has_start_line = false});
  auto rest = feed_trailers(bytes.subspan(step.consumed), limits);
  if (rest) rest->consumed += step.consumed;
  return rest;
}

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
  const auto parsed = parse_fields(trailer_section_.text(), limits.trailer_fields, trailers_);
  if (!parsed) return tl::unexpected(HttpError{rules_.error, to_string(parsed.error())});
  state_ = State::done;
  step.event = ReadEvent::end;
  return step;
}

}  // namespace bloomwall::proxy
