// SPDX-License-Identifier: Apache-2.0
#include "proxy/exchange/download.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <string_view>
#include <utility>

#include "base/text.h"
#include "proxy/decision/client_info.h"
#include "proxy/decision/client_stream.h"
#include "proxy/decision/worker_state.h"
#include "proxy/exchange/local_reply.h"
#include "proxy/exchange/upload.h"
#include "proxy/http/http1_reader.h"
#include "proxy/http/rewrite.h"
#include "proxy/http/serialise.h"
#include "proxy/upstream/gathered_write.h"
#include "proxy/upstream/warm_readers.h"

namespace bloomwall::proxy {

namespace {

// Whether what is left of the request, before which no other can come, is sure to come and to end soon.
bool rest_is_small(const ClientStream& client) {
  if (client.request_ended()) return true;
  const RequestHead& head = *client.head();
  if (head.expect_continue) return false;  // the client may send its body, or may not
  return head.framing == BodyFraming::length && client.body_left() <= LocalReply::kDrainBytes;
}

bool is_of_connection(std::string_view credentials) {
  constexpr std::array<std::string_view, 3> kSchemes{"negotiate", "ntlm", "kerberos"};
  return std::ranges::any_of(kSchemes,
                             [&](std::string_view scheme) { return starts_ignoring_case(credentials, scheme); });
}

// Whether credentials of the request speak for the connection that it went out on: what comes on that later is answered
// as this user's, without any (RFC 4559 section 6).
bool speaks_for_connection(const RequestHead& head, bool to_parent) {
  return std::ranges::any_of(head.fields, [&](const Field& field) {
    const bool is_sent =
        same_name(field.name, "authorization") || (to_parent && field.id == FieldId::proxy_authorization);
    return is_sent && is_of_connection(field.value);
  });
}

// Likewise of what the answer asks for.
bool wants_login_of_connection(const ResponseHead& head) {
  return head.status == 401 && std::ranges::any_of(head.fields, [](const Field& field) {
           return same_name(field.name, "www-authenticate") && is_of_connection(field.value);
         });
}

constexpr std::string_view kProxySupport = "proxy-support", kSessions = "Session-Based-Authentication";

}  // namespace

Download::Download(ExchangeContext& context, OriginLink& link, const Upload& upload)
    : context_(context),
      link_(link),
      upload_(upload),
      wait_(context.worker.io.loop.timers(), [](void* self) { static_cast<Download*>(self)->on_wait_over(); }, this) {}

Download::~Download() { end(); }

bool Download::count_memory() { return lent_->count(); }
tl::expected<ReadStep, HttpError> Download::feed(std::span<const char> bytes) { return lent_->reader.feed(bytes); }
tl::expected<ReadStep, HttpError> Download::finish() { return lent_->reader.finish(); }
const ResponseReader& Download::answer() const { return lent_->reader; }
bool Download::is_untouched() const { return answer().untouched(); }

void Download::begin() {
  if (lent_ == nullptr) lent_ = context_.worker.response_readers.take();
  const RequestHead& head = *context_.client.head();
  lent_->reader.start(
      {.method = head.method, .upgrade_forwarded = head.wants_upgrade && head.framing == BodyFraming::none});
}

void Download::end() {
  wait_.end();
  context_.worker.response_readers.give(std::move(lent_));
}

ResponseRewrite Download::rewrite() const {
  const RequestHead& head = *context_.client.head();
  ResponseRewrite how;
  how.method = head.method;
  how.client = head.version;
  // Inside a tunnel there is one connection to the origin, which is not used again then, see reuse().
  const bool is_last = context_.client.info().inside != nullptr && upload_.may_hide_request();
  const ResponseHead& answered = answer().head();
  const bool unbinds = is_bound() && (!answered.keep_alive || answered.framing == BodyFraming::until_close);
  how.keep_alive =
      head.keep_alive && !context_.worker.draining && rest_is_small(context_.client) && !is_last && !unbinds;
  how.supports_sessions = supports_sessions();
  how.via_name = context_.worker.via;
  how.date = http_date(std::chrono::system_clock::now());
  how.from_parent = link_.goes_to_parent();
  how.takes_trailers = takes_trailers();
  const ClientInfo& client = context_.client.info();
  how.hide_alternatives = client.destination != nullptr || client.is_intercepted();
  how.hide_pins = how.keeps_until_close = client.is_intercepted();
  how.clear_alternatives = client.is_intercepted() && client.inside->has_marks;
  if (client.is_intercepted() && !context_.snapshot->settings.tls_inspection.via) how.via_name = {};
  return how;
}

bool Download::is_bound() const {
  return link_.may_bind() &&
         (link_.is_bound() || speaks_for_connection(*context_.client.head(), link_.passes_proxy_login()));
}

// Clients without this word need not believe that a login lasts (RFC 4559 section 6). A parent must have said it, too.
bool Download::supports_sessions() const {
  if (!link_.may_bind() || !wants_login_of_connection(answer().head())) return false;
  if (!link_.goes_to_parent()) return true;
  const Field* const said = find_field(answer().head().fields, kProxySupport);
  return said != nullptr && same_name(said->value, kSessions);
}

// HTTP/2 has a place for them, whatever the client says.
bool Download::takes_trailers() const {
  const RequestHead& head = *context_.client.head();
  return head.takes_trailers || head.version == Version::http2;
}

void Download::send_interim(GatheredWrite& out) {
  write_interim_head(out.head(), answer().head(), rewrite());
  flush(out);
}

void Download::add_head(GatheredWrite& out) { plan_ = write_response_head(out.head(), answer().head(), rewrite()); }

void Download::add_body(GatheredWrite& out, std::span<const char> piece) {
  if (out.add_body(piece)) return;
  context_.client.send(out, is_chunked());
  out.add_body(piece);
}

void Download::send_end(GatheredWrite& out) {
  if (is_chunked()) {
    write_last_chunk(out.tail(), takes_trailers() ? answer().trailers() : std::span<const Field>(),
                     answer().head().fields);
  }
  context_.client.send(out, is_chunked());
}

void Download::send_switch(GatheredWrite& out) {
  write_switch_head(out.head(), answer().head(), rewrite());
  context_.client.send(out, false);
}

// Several lines of Upgrade are one list, and none but the one protocol may be in it.
bool Download::switches_as_asked() const {
  std::size_t lines = 0;
  bool is_named = false;
  for (const Field& field : answer().head().fields) {
    if (field.id != FieldId::upgrade) continue;
    ++lines;
    is_named = same_name(field.value, context_.client.head()->upgrade);
  }
  return lines == 1 && is_named;
}

// Octets that come before the request's head has reached the origin's kernel are no answer to it, but what was sent too
// much after an earlier one; or the origin answers before it has read what it is asked, as some do that have no room.
bool Download::note_early() {
  if (context_.client.head()->method == Method::connect || !is_untouched()) return false;
  if (upload_.has_delivered_head()) return false;
  is_early_ = true;
  return link_.is_reused();
}

OriginLink::Reuse Download::reuse() const {
  const RequestHead& head = *context_.client.head();
  if (is_early_ || !answer().reusable()) return OriginLink::Reuse::never;
  // The client itself may have written a request into its body, to be told what was never asked about.
  if (upload_.may_hide_request()) return OriginLink::Reuse::never;
  if (is_bound()) return OriginLink::Reuse::bound;
  if (head.wants_upgrade || head.method == Method::connect) return OriginLink::Reuse::never;
  const bool is_of_tunnel = context_.client.info().inside != nullptr;  // and nobody else's
  if (!is_of_tunnel && speaks_for_connection(head, link_.goes_to_parent())) return OriginLink::Reuse::never;
  // An origin that does not read the body it was sent takes it for requests, and answers those as well; one that does
  // not know the method may answer it by two.
  const bool is_plain = head.method == Method::get && head.framing == BodyFraming::none;
  return is_plain && !answer().may_be_followed() ? OriginLink::Reuse::by_all : OriginLink::Reuse::by_client;
}

void Download::flush(GatheredWrite& out) {
  if (out.empty()) return;
  context_.client.send(out, is_chunked());
  if (context_.client.backlog() > 0 && link_.is_connected()) link_.transport().pause(PauseReason::peer_full);
}

// A response head is kept by its reader, which has its own limit.
std::size_t Download::ration() {
  if (!has_begun()) return MemoryWait::kLeastRead;
  const std::size_t ration = wait_.ration(context_.client.kernel_room());
  if (ration == 0) link_.transport().pause(PauseReason::no_memory);
  return ration;
}

void Download::on_wait_over() {
  if (link_.is_connected()) link_.transport().resume(PauseReason::no_memory);
}

void Download::on_drained() {
  if (link_.is_connected()) link_.transport().resume(PauseReason::peer_full);
}

}  // namespace bloomwall::proxy
