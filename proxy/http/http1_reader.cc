// SPDX-License-Identifier: Apache-2.0

#include "proxy/http/http1_reader.h"

#include <optional>
#include <utility>

#include "proxy/http/body_reader.h"
#include "proxy/http/fields.h"
#include "proxy/http/request.h"
#include "proxy/http/response.h"

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
      return bad_request("a CR that does not end a line");
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

bool RequestReader::asks_by_head() const { return std::string_view(impl_->buffer.text()).starts_with("HEAD "); }

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
  if (const auto failure = parse_request_head(buffer.mutable_text(), limits->fields, head)) return fail(*failure);
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

namespace {

std::optional<HttpError> error_in_response(HeadState state) {
  switch (state) {
    case HeadState::need_more:
    case HeadState::complete:
      return std::nullopt;
    case HeadState::too_large:
    case HeadState::first_line_too_large:
      return HttpError{ErrorKind::upstream_head_too_large, "header section over its limit"};
    case HeadState::empty_start:
      return bad_response("no HTTP/1 status line");
    case HeadState::bare_cr:
      return bad_response("a CR that does not end a line");
    case HeadState::bare_lf:
      return bad_response("a line ended by LF alone");
    case HeadState::folded:
      return bad_response("a folded line before any field");
  }
  return std::nullopt;
}

}  // namespace

struct ResponseReader::Impl {
  enum class Stage : std::uint8_t { head, interim, body, failed };

  const HeadLimits* limits;
  Stage stage = Stage::head;
  ResponseTo to;
  unsigned interims = 0;
  bool may_be_followed = false;
  bool is_reusable = true;  // unless something about it can be read in another way
  HeadBuffer buffer;
  ResponseHead head;
  BodyReader body;
  HttpError error;

  explicit Impl(const HeadLimits& head_limits) : limits(&head_limits) { begin_head(); }

  void begin_head() {
    stage = Stage::head;
    buffer.begin(
        {.limit = limits->head_bytes, .empty_lines = limits->empty_lines, .take_bare_lf = true, .take_folds = true});
    body.begin({});
  }
  tl::unexpected<HttpError> fail(const HttpError& why) {
    stage = Stage::failed;
    error = why;
    return tl::unexpected(why);
  }
  bool has_no_body() const {
    return to.method == Method::head || head.status == 101 || head.status == 204 || head.status == 304 || switched();
  }
  bool switched() const {
    return head.status == 101 || (to.method == Method::connect && head.status >= 200 && head.status < 300);
  }
  tl::expected<ReadStep, HttpError> feed_head(std::span<const char> bytes);
  tl::expected<ReadStep, HttpError> on_head(ReadStep step);
  tl::expected<ReadStep, HttpError> feed_body(std::span<const char> bytes);
};

ResponseReader::ResponseReader(const HeadLimits& limits) : impl_(std::make_unique<Impl>(limits)) {}
ResponseReader::~ResponseReader() = default;
ResponseReader::ResponseReader(ResponseReader&&) noexcept = default;
ResponseReader& ResponseReader::operator=(ResponseReader&&) noexcept = default;

void ResponseReader::start(const ResponseTo& to) {
  impl_->to = to;
  impl_->interims = 0;
  impl_->may_be_followed = false;
  impl_->is_reusable = true;
  impl_->begin_head();
}

tl::expected<ReadStep, HttpError> ResponseReader::feed(std::span<const char> bytes) {
  switch (impl_->stage) {
    case Impl::Stage::interim:
      if (bytes.empty()) return ReadStep{};
      impl_->begin_head();
      [[fallthrough]];
    case Impl::Stage::head:
      return impl_->feed_head(bytes);
    case Impl::Stage::body:
      return impl_->feed_body(bytes);
    case Impl::Stage::failed:
      break;
  }
  return tl::unexpected(impl_->error);
}

tl::expected<ReadStep, HttpError> ResponseReader::Impl::feed_head(std::span<const char> bytes) {
  ReadStep step;
  const HeadState state = buffer.feed(bytes, step.consumed);
  if (!may_start_response(buffer.text())) return fail(bad_response("no HTTP/1 status line"));
  if (const auto failure = error_in_response(state)) return fail(*failure);
  if (state == HeadState::need_more) return step;
  bool is_repaired = buffer.needs_repair();
  const auto failure = parse_response_head(buffer.mutable_text(), is_repaired, limits->fields, head);
  if (failure) return fail(*failure);
  may_be_followed |= is_repaired;
  is_reusable &= !buffer.has_dropped();
  return on_head(step);
}

tl::expected<ReadStep, HttpError> ResponseReader::Impl::on_head(ReadStep step) {
  if (head.status == 101 && !to.upgrade_forwarded) return fail(bad_response("status 101 that nobody asked for"));
  if (head.status < 200 && head.status != 101) {
    if (++interims > limits->interim_responses) return fail(bad_response("too many interim responses"));
    may_be_followed = true;
    head.framing = BodyFraming::none;
    stage = Stage::interim;
    step.event = ReadEvent::interim;
    return step;
  }
  if (has_no_body()) {
    may_be_followed = true;
    head.framing = BodyFraming::none;
  }
  stage = Stage::body;
  body.begin({.framing = head.framing,
              .length = head.content_length,
              .tolerant = true,
              .error = ErrorKind::upstream_protocol});
  step.event = ReadEvent::head;
  return step;
}

tl::expected<ReadStep, HttpError> ResponseReader::Impl::feed_body(std::span<const char> bytes) {
  auto step = body.feed(bytes, *limits);
  if (!step) return fail(step.error());
  return step;
}

tl::expected<ReadStep, HttpError> ResponseReader::finish() {
  Impl& self = *impl_;
  switch (self.stage) {
    case Impl::Stage::failed:
      return tl::unexpected(self.error);
    case Impl::Stage::head:
    case Impl::Stage::interim:
      return self.fail({ErrorKind::connection_terminated,
                        untouched() ? "closed without an answer" : "closed in the middle of a response head"});
    case Impl::Stage::body:
      break;
  }
  if (self.head.framing == BodyFraming::until_close) self.body.finish_until_close();
  if (self.body.done()) return ReadStep{ReadEvent::end, 0, {}};
  return self.fail({ErrorKind::response_incomplete, "closed in the middle of a body"});
}

const ResponseHead& ResponseReader::head() const { return impl_->head; }
std::span<const Field> ResponseReader::trailers() const { return impl_->body.trailers(); }
bool ResponseReader::at_end() const { return impl_->stage == Impl::Stage::body && impl_->body.done(); }
bool ResponseReader::switched() const { return impl_->stage == Impl::Stage::body && impl_->switched(); }
bool ResponseReader::untouched() const {
  return impl_->stage == Impl::Stage::head && impl_->interims == 0 && impl_->buffer.untouched();
}
bool ResponseReader::may_be_followed() const { return impl_->may_be_followed; }
bool ResponseReader::reusable() const {
  return at_end() && !switched() && impl_->head.keep_alive && impl_->head.framing != BodyFraming::until_close &&
         impl_->is_reusable && !impl_->body.was_doubtful();
}
std::size_t ResponseReader::memory() const { return impl_->buffer.memory() + impl_->body.memory(); }

}  // namespace bloomwall::proxy
