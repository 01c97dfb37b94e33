// SPDX-License-Identifier: Apache-2.0
#include "proxy/exchange/upload.h"

#include "proxy/decision/client_info.h"
#include "proxy/decision/client_stream.h"
#include "proxy/decision/worker_state.h"
#include "proxy/exchange/origin_link.h"
#include "proxy/http/rewrite.h"
#include "proxy/upstream/gathered_write.h"

namespace bloomwall::proxy {

Upload::Upload(ExchangeContext& context, OriginLink& link)
    : context_(context),
      link_(link),
      wait_(context.worker.io.loop.timers(), [](void* self) { static_cast<Upload*>(self)->stop_waiting(); }, this) {}

bool Upload::is_chunked() const { return context_.client.head()->framing == BodyFraming::chunked; }

RequestRewrite Upload::rewrite() const {
  const RequestHead& head = *context_.client.head();
  const ClientInfo& client = context_.client.info();
  const Snapshot& snapshot = *context_.snapshot;
  const bool is_connect = head.method == Method::connect;
  RequestRewrite how;
  how.host = context_.host;
  how.port = is_connect ? context_.port : context_.host_field_port;
  how.via_name = context_.worker.via;
  how.client_address = client.address;
  how.forwarded_for = snapshot.settings.headers.x_forwarded_for;
  how.forward_upgrade = head.wants_upgrade && head.framing == BodyFraming::none;
  if (client.is_intercepted()) {  // the origin is told no more than by a client of its own
    if (!snapshot.settings.tls_inspection.via) how.via_name = {};
    how.forwarded_for = conf::Headers::ForwardedFor::off;
  }
  how.to_parent = link_.goes_to_parent();
  if (!how.to_parent) return how;
  if (!context_.dialled.empty()) how.host = context_.dialled;  // in Host as well: the parent makes that from the URL
  // A parent is asked by name, but for the port that the client went to.
  if (client.destination != nullptr && !is_connect)
    how.port = port_in_url(Scheme::http, client.destination->endpoint.port());
  if (!snapshot.parent->authorization.empty()) {
    how.parent_authorization = snapshot.parent->authorization;
  } else if (snapshot.authentication != nullptr) {  // the client's credentials are for this proxy alone
    how.drop_credentials = true;
  } else if (is_connect) {  // the client's answer to a challenge of the parent's
    if (const Field* field = find_field(head.fields, FieldId::proxy_authorization)) {
      how.parent_authorization = field->value;
    }
  }
  return how;
}

void Upload::begin(GatheredWrite& out) {
  asked_at_ = monotonic_now();
  sent_before_ = link_.transport().bytes_out();
  const RequestHead& head = *context_.client.head();
  if (head.method == Method::connect) {
    write_connect_head(out.head(), rewrite());
  } else {
    write_request_head(out.head(), head, rewrite());
  }
  head_octets_ = static_cast<std::int64_t>(out.head().size());
}

void Upload::send_head(GatheredWrite& out) { out.flush(link_.transport(), is_chunked()); }

void Upload::add(GatheredWrite& out, std::span<const char> piece) {
  hidden_.add(piece);
  if (out.add_body(piece)) return;
  out.flush(link_.transport(), is_chunked());
  out.add_body(piece);
}

void Upload::end(GatheredWrite& out) {
  asked_at_ = monotonic_now();
  if (!link_.is_connected()) return;  // a request without a body, for which a connection is being made
  if (is_chunked() && !is_stopped_) {
    write_last_chunk(out.tail(), context_.client.trailers(), context_.client.head()->fields);
  }
  flush(out);
}

void Upload::flush(GatheredWrite& out) {
  if (!link_.is_connected() || out.empty()) return;
  out.flush(link_.transport(), is_chunked());
  if (link_.transport().backlog() > 0) context_.client.pause(PauseReason::peer_full);
}

// What was sent before has been answered, so it was confirmed. TLS makes octets more: that errs by less than a record's
// head.
std::int64_t Upload::confirmed() const {
  const Transport& origin = link_.transport();
  return static_cast<std::int64_t>(origin.bytes_out() - sent_before_) -
         static_cast<std::int64_t>(origin.unconfirmed() + origin.backlog());
}

void Upload::on_drained() {
  asked_at_ = monotonic_now();
  context_.client.resume(PauseReason::peer_full);
}

std::size_t Upload::ration() {
  const std::size_t ration = wait_.ration(link_.transport().kernel_room());
  if (ration == 0) context_.client.pause(PauseReason::no_memory);
  return ration;
}

void Upload::stop_waiting() {
  wait_.end();
  context_.client.resume(PauseReason::no_memory);
}

void Upload::stop() {
  is_stopped_ = true;
  context_.client.pause(PauseReason::busy);
}

}  // namespace bloomwall::proxy
