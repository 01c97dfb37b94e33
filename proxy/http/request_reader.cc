// SPDX-License-Identifier: Apache-2.0
#include "proxy/http/request_reader.h"

#include <optional>
#include <utility>

#include "proxy/http/body_reader.h"
#include "proxy/http/field_parser.h"
#include "proxy/http/framing.h"
#include "proxy/http/head_buffer.h"
#include "proxy/http/request_head.h"

namespace bloomwall::proxy {
namespace {

std::optional<HttpError> error_in_request(HeadState state) {
  switch (state) {
    case HeadState::need_more:
    case HeadState::complete:
      return std::nullopt;
    case HeadState::too_large:
      return HttpError{ErrorKind::head_too_large, "header section over its limit"};
    case HeadState::first_line_too_large:
      return HttpError{ErrorKind::uri_too_long, "request line over its limit"};
    case HeadState::empty_start:
      return bad_request("too many empty lines before the request line");
    case HeadState::bare_cr:
      return bad_request("a CR that ends no line");
    case HeadState::bare_lf:
      return bad_request("a line ended by LF alone");
    case HeadState::folded:
      return bad_request("a folded field line");
  }
  return std::nullopt;
}

}  // namespace

struct RequestReader::Impl {
  enum class Stage : std::uint8_t { head, body, failed };

  const HeadLimits* limits;
  Stage stage = Stage::head;
  HeadBuffer buffer;
  RequestHead head;
  BodyReader body;
  HttpError error;

  explicit Impl(const HeadLimits& head_limits) : limits(&head_limits) { begin(); }

  void begin() {
    stage = Stage::head;
    buffer.begin({.limit = limits->head_bytes, .empty_lines = limits->empty_lines});
    body.begin({});
  }
  tl::unexpected<HttpError> fail(const HttpError& why) {
    stage = Stage::failed;
    error = why;
    return tl::unexpected(why);
  }
  tl::expected<ReadStep, HttpError> feed_head(std::span<const char> bytes);
  tl::expected<ReadStep, HttpError> feed_body(std::span<const char> bytes);
};

RequestReader::RequestReader(const HeadLimits& limits) : impl_(std::make_unique<Impl>(limits)) {}
RequestReader::~RequestReader() = default;
RequestReader::RequestReader(RequestReader&&) noexcept = default;
RequestReader& RequestReader::operator=(RequestReader&&) noexcept = default;

tl::expected<ReadStep, HttpError> RequestReader::feed(std::span<const char> bytes) {
  switch (impl_->stage) {
    case Impl::Stage::head:
      return impl_->feed_head(bytes);
    case Impl::Stage::body:
      return impl_->feed_body(bytes);
    case Impl::Stage::failed:
      break;
  }
  return tl::unexpected(impl_->error);
}

tl::expected<ReadStep, HttpError> RequestReader::Impl::feed_head(std::span<const char> bytes) {
  ReadStep step;
  const HeadState state = buffer.feed(bytes, step.consumed);
  // What cannot become a request is answered at once: a TLS hello on this port would wait for a line end until it times
  // out.
  if (!may_start_request(buffer.text())) return fail(bad_request("no request line"));
  if (const auto failure = error_in_request(state)) return fail(*failure);
  if (state == HeadState::need_more) return step;
  if (const auto failure = parse_request_head(buffer.text(), limits->fields, head)) return fail(*failure);
  stage = Stage::body;
  body.begin({.framing = head.framing, .length = head.content_length});
  step.event = ReadEvent::head;
  return step;
}

tl::expected<ReadStep, HttpError> RequestReader::Impl::feed_body(std::span<const char> bytes) {
  auto step = body.feed(bytes, *limits);
  if (!step) return fail(step.error());
  return step;
}

const RequestHead& RequestReader::head() const { return impl_->head; }
std::span<const Field> RequestReader::trailers() const { return impl_->body.trailers(); }

bool RequestReader::at_start() const {
  const std::string_view text = impl_->buffer.text();
  return impl_->stage == Impl::Stage::head && (text.empty() || text == "\r");
}
bool RequestReader::at_end() const { return impl_->stage == Impl::Stage::body && impl_->body.done(); }
std::uint64_t RequestReader::body_left() const {
  return impl_->stage == Impl::Stage::body && impl_->head.framing == BodyFraming::length ? impl_->body.left() : 0;
}

void RequestReader::next() { impl_->begin(); }
std::size_t RequestReader::memory() const { return impl_->buffer.memory() + impl_->body.memory(); }

}  // namespace bloomwall::proxy
