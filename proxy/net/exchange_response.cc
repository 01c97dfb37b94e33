// The client's side of an exchange: what the origin answers, on its way to the client.
// SPDX-License-Identifier: Apache-2.0
#include <utility>

#include "proxy/log/log.h"
#include "proxy/net/exchange.h"

namespace bloomwall::proxy {
namespace {

// Whether Upgrade is this protocol and none beside it: several lines are one list.
bool names_alone(std::span<const Field> fields, std::string_view protocol) {
  std::size_t lines = 0;
  bool is_named = false;
  for (const Field& field : fields) {
    if (field.id != FieldId::upgrade) continue;
    ++lines;
    is_named = same_name(field.value, protocol);
  }
  return lines == 1 && is_named;
}

}  // namespace

// Octets that come before the request has reached the origin's kernel are no answer to it, but what was sent too much after
// an earlier one; or the origin answers before it has read what it is asked, as some do that have no room.
bool Exchange::spoke_too_early() {
  if (response_state_ != ResponseState::awaited || is_connect() || !response_.untouched()) return false;
  if (!upstream_->transport->has_unconfirmed()) return false;
  answered_early_ = true;
  return upstream_->reused;
}

std::size_t Exchange::on_data(std::span<const char> bytes) {
  if (spoke_too_early() && may_retry()) {
    state_.upstreams.distrust(*upstream_);
    retry();
    return bytes.size();
  }
  GatheredWrite out(state_.gather);  // for the client
  std::size_t used = 0;
  while (!is_over() && upstream_ != nullptr) {
    const auto step = response_.feed(bytes.subspan(used));
    if (!step) {
      flush_download(out);
      fail_response(step.error());
      return bytes.size();
    }
    used += step->consumed;
    switch (step->event) {
      case ReadEvent::need_more:
        flush_download(out);
        if (!is_over()) count_response_heads();
        return used;
      case ReadEvent::interim:
        relay_interim(out);
        break;
      case ReadEvent::head:
        on_response_head(out);
        break;
      case ReadEvent::body:
        out.add_body(step->body, client(), is_chunked_to_client());
        break;
      case ReadEvent::end:
        if (response_.switched()) {
          on_switched(out);
          return used;  // what is left belongs to the tunnel
        }
        on_response_end(out, used < bytes.size());
        return bytes.size();
    }
  }
  return bytes.size();
}

ResponseRewrite Exchange::response_rewrite() {
  const RequestHead& head = request_.head();
  ResponseRewrite how;
  how.method = head.method;
  how.client = head.version;
  // An answer that overtakes its request leaves the rest of that on the connection.
  how.keep_alive = head.keep_alive && request_state_ == RequestState::complete && !state_.draining;
  how.via_name = state_.via;
  how.date = state_.date(std::chrono::system_clock::now());
  how.from_parent = to_parent_;
  how.takes_trailers = head.takes_trailers;
  how.hide_alternatives = owner_->client_info().destination != nullptr;
  return how;
}

// False: there is no room for them, and the answer has failed.
bool Exchange::count_response_heads() {
  if (count_heads()) return true;
  fail_response({ErrorKind::connection_limit, "limits.buffer_memory"});
  return false;
}

void Exchange::relay_interim(GatheredWrite& out) {
  if (is_connect()) return;  // a parent's, and a tunnel has none
  write_interim_head(out.head(), response_.head(), response_rewrite());
  flush_download(out);
}

void Exchange::on_response_head(GatheredWrite& out) {
  if (response_.switched()) return;  // `end` follows and tells the client
  if (!count_response_heads()) return;
  const ResponseHead& head = response_.head();
  if (head.status == 407 && is_challenge_ours()) return fail_challenge();
  if (is_unasked_) return fail_response({ErrorKind::connection_failed, "the parent proxy refused the tunnel"});
  // A page of the parent's must not be taken for the origin's, nor its cookies and redirects.
  if (is_connect() && head.status != 407) {
    return fail_response(
        {ErrorKind::parent_refused, head.status < 400   ? "the parent proxy answered CONNECT with a redirect"
                                    : head.status < 500 ? "the parent proxy answered CONNECT with 4xx"
                                                        : "the parent proxy answered CONNECT with 5xx"});
  }
  status_ = head.status;
  if (const Field* type = find_field(head.fields, "content-type")) content_type_ = type->value;
  plan_ = write_response_head(out.head(), head, response_rewrite());
  response_state_ = ResponseState::body;
}

// What is wrong with a parent is an error for the operator, but not once a request.
bool Exchange::is_time_to_tell(Milliseconds& told) {
  constexpr Milliseconds kSayAgain{60'000};
  const Milliseconds now = monotonic_now();
  if (told != Milliseconds(0) && now - told <= kSayAgain) return false;
  told = now;
  return true;
}

// Whether a 407 is about us: clients may answer their parent's challenge only where they are meant to speak to it, which is
// without credentials of our own and with clients that know of a proxy. Any other would be asked for a password that is
// none of its business.
bool Exchange::is_challenge_ours() const {
  if (!to_parent_) return false;
  return !snapshot_->parent->authorization.empty() || owner_->client_info().destination != nullptr;
}

void Exchange::fail_challenge() {
  if (is_time_to_tell(state_.challenge_told)) {
    log::error("parent {}: 407: {}", upstream_->peer_text,
               snapshot_->parent->authorization.empty()
                   ? "it wants credentials, and upstream.credentials_file is not set"
                   : "it does not take those of upstream.credentials_file");
  }
  fail_response({ErrorKind::parent_auth, "the parent proxy answered 407"});
}

void Exchange::flush_download(GatheredWrite& out) {
  if (is_over() || out.empty()) return;
  out.flush(client(), is_chunked_to_client());
  if (client().backlog() > 0 && upstream_ != nullptr) upstream_->transport->pause(PauseReason::peer_full);
}

void Exchange::on_response_end(GatheredWrite& out, bool surplus) {
  if (is_chunked_to_client()) {
    const bool sent = request_.head().takes_trailers;
    write_last_chunk(out.tail(), sent ? response_.trailers() : std::span<const Field>(), response_.head().fields);
  }
  out.flush(client(), is_chunked_to_client());
  response_state_ = ResponseState::complete;
  release_upstream(reuse_after(surplus));
  end(plan_.close || request_state_ != RequestState::complete ? After::close : After::keep);
}

Exchange::Reuse Exchange::reuse_after(bool surplus) const {
  if (surplus) state_.upstreams.distrust(*upstream_);
  const bool whole_request = request_state_ == RequestState::complete && !upload_stopped_;
  const bool asked_to_switch = request_.head().wants_upgrade;
  if (!whole_request || surplus || answered_early_ || asked_to_switch || is_connect() || !response_.reusable()) {
    return Reuse::never;
  }
  // An origin that does not read the body it was sent takes it for requests, and answers those as well; one that does not
  // know the method may answer it by two.
  const bool plain_get = request_.head().method == Method::get && request_.head().framing == BodyFraming::none;
  return plain_get && !response_.may_be_followed() ? Reuse::at_once : Reuse::rested;
}

// 101 to an upgrade that was forwarded, or a parent's 2xx to CONNECT.
void Exchange::on_switched(GatheredWrite& out) {
  if (is_connect()) return establish_tunnel();
  if (!names_alone(response_.head().fields, request_.head().upgrade)) {
    return fail_response({ErrorKind::upstream_protocol, "status 101 to another protocol than was asked for"});
  }
  status_ = 101;
  write_switch_head(out.head(), response_.head(), response_rewrite());
  out.flush(client(), false);
  hand_over_to_tunnel();
}

void Exchange::on_end() {
  if (may_retry()) return retry();
  const auto step = response_.finish();
  if (step) {
    GatheredWrite out(state_.gather);
    return on_response_end(out, false);
  }
  fail_response(step.error());
}

void Exchange::on_failed(int) {
  if (may_retry()) return retry();
  const TlsSession* const tls = upstream_ == nullptr ? nullptr : upstream_->transport->tls();
  if (tls != nullptr && !tls->is_established()) {
    if (is_time_to_tell(state_.parent_tls_told)) {
      log::error("parent {}: no TLS: {}", upstream_->peer_text, tls->why().empty() ? "it closed" : tls->why());
    }
    return fail_response(tls->certificate_refused()
                             ? HttpError{ErrorKind::parent_certificate, "the parent proxy's certificate is refused"}
                             : HttpError{ErrorKind::parent_tls, "the TLS handshake with the parent proxy failed"});
  }
  fail_response({ErrorKind::connection_terminated, "the origin reset the connection"});
}

// It takes no more of the request, but its answer may be on the way.
void Exchange::on_write_failed(int) {
  upload_stopped_ = true;
  client().pause(PauseReason::busy);
}

void Exchange::on_drained() {
  asked_at_ = monotonic_now();
  if (!is_over()) client().resume(PauseReason::peer_full);
}

void Exchange::fail_response(const HttpError& error) {
  if (is_inside() && response_state_ == ResponseState::awaited && peer_was_reused_ && response_.untouched()) {
    note_error(error);  // an idle connection has ended, as any may: the client sees just that and asks again
    return end(After::close);
  }
  if (response_state_ == ResponseState::awaited) return answer_error(error);
  note_error(error);
  break_off();
}

}  // namespace bloomwall::proxy
