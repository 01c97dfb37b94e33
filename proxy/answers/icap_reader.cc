// SPDX-License-Identifier: Apache-2.0
#include "proxy/answers/icap_reader.h"

#include <algorithm>
#include <utility>

namespace bloomwall::proxy {
namespace {

const HeadLimits kChunkLimits;
// Head buffers that idle connections keep.
constexpr std::size_t kMostKeptHead = 2048;

// Nothing where the section is good so far.
std::string_view fault_of(HeadState state) {
  switch (state) {
    case HeadState::need_more:
    case HeadState::complete:
      return {};
    case HeadState::too_large:
    case HeadState::first_line_too_large:
      return "a head is too long";
    case HeadState::empty_start:
      return "a head begins with an empty line";
    case HeadState::bare_cr:
    case HeadState::bare_lf:
      return "a line does not end with CRLF";
    case HeadState::folded:
      return "a line is folded";
  }
  return "a head breaks the grammar";
}

void forget(HeadBuffer& buffer, std::size_t limit) {
  HeadBuffer fresh;
  if (buffer.memory() > kMostKeptHead) std::swap(buffer, fresh);  // an assignment would keep the memory
  buffer.begin({.limit = limit});
}

}  // namespace

void IcapReader::next() {
  state_ = State::head;
  head_ = {};
  forget(text_, kMostIcapHead);
  forget(http_, 0);
  body_octets_ = 0;
}

IcapReader::Step IcapReader::fail(std::size_t used, IcapError error) {
  state_ = State::error;
  error_ = error;
  return {Event::error, used};
}

std::size_t IcapReader::take_head(std::span<const char> bytes) {
  std::size_t used = 0;
  const HeadState state = text_.feed(bytes, used);
  if (state == HeadState::need_more) return used;
  if (const std::string_view fault = fault_of(state); !fault.empty()) return fail(used, {400, fault}).consumed;
  tl::expected<IcapHead, IcapError> head = parse_icap_head(text_.text());
  if (!head) return fail(used, head.error()).consumed;
  head_ = *std::move(head);
  http_.begin({.limit = head_.http_octets});
  state_ = head_.http_octets > 0 ? State::http_head : State::end;
  return used;
}

// The section must end with its empty line exactly where Encapsulated says.
std::size_t IcapReader::take_http_head(std::span<const char> bytes) {
  const std::size_t left = head_.http_octets - http_.text().size();
  std::size_t used = 0;
  const HeadState state = http_.feed(bytes.first(std::min(left, bytes.size())), used);
  const bool is_full = http_.text().size() >= head_.http_octets;
  if (state == HeadState::need_more && !is_full) return used;
  if (state == HeadState::complete && is_full) {
    state_ = head_.has_body ? State::body : State::end;
    body_.begin({.framing = BodyFraming::chunked});
    return used;
  }
  const bool is_elsewhere =
      state == HeadState::complete || state == HeadState::need_more || state == HeadState::too_large;
  return fail(used, {400, is_elsewhere ? "the HTTP head does not end where Encapsulated says" : fault_of(state)})
      .consumed;
}

IcapReader::Step IcapReader::take_body(std::span<const char> bytes) {
  const tl::expected<ReadStep, HttpError> step = body_.feed(bytes, kChunkLimits);
  if (!step) return fail(0, {400, "the chunks of the body break the grammar"});
  if (step->event == ReadEvent::body) {
    const std::uint64_t room = head_.preview ? *head_.preview - body_octets_ : UINT64_MAX;
    body_octets_ += step->body.size();
    if (step->body.size() <= room) return {Event::body, step->consumed, step->body};
    fail(step->consumed, {400, "the preview is too long"});
    // What is within it is handed out first, as it would be if it had come alone.
    if (room > 0) return {Event::body, step->consumed, step->body.first(static_cast<std::size_t>(room))};
    return {Event::error, step->consumed};
  }
  if (step->event != ReadEvent::end) return {Event::need_more, step->consumed};
  if (!body_.trailers().empty()) return fail(step->consumed, {400, "trailer fields are not taken"});
  state_ = State::end;
  return {Event::end, step->consumed};
}

IcapReader::Step IcapReader::feed(std::span<const char> bytes) {
  std::size_t used = 0;
  if (state_ == State::head || state_ == State::http_head) {
    if (state_ == State::head) used = take_head(bytes);
    if (state_ == State::http_head) used += take_http_head(bytes.subspan(used));
    if (state_ == State::error) return {Event::error, used};
    return {state_ == State::head || state_ == State::http_head ? Event::need_more : Event::question, used};
  }
  switch (state_) {
    case State::body:
      return take_body(bytes);
    case State::end:
      return {Event::end, 0};
    case State::head:
    case State::http_head:
    case State::error:
      break;
  }
  return {Event::error, 0};
}

}  // namespace bloomwall::proxy
