// A tunnel in which the proxy reads the requests from now on: HTTP without TLS, or in TLS that it ends (declared in
// tunnel.h).
// SPDX-License-Identifier: Apache-2.0
#include <utility>

#include "proxy/tunnel/tunnel.h"
#include "proxy/tunnel/tunnel_log.h"

namespace bloomwall::proxy {

TlsQuestion Tunnel::tls_question() const {
  const ClientInfo& client = owner_->client_info();
  return {.host = start_.host,
          .port = start_.port,
          .user_agent = {},  // which matters to pages alone
          .destination = client.destination != nullptr ? client.destination->address : std::string(),
          .is_transparent = client.destination != nullptr};
}

// A reload may have switched tls_inspection on while the client was silent.
void Tunnel::ask_by_now() {
  const bool is_asked = start_.tls_question != nullptr || start_.tls_decision || !start_.is_connect;
  if (is_asked || state_.snapshot->inspection == nullptr) return;
  start_.tls_question = std::make_unique<const TlsQuestion>(tls_question());
  peek_->set_question(*start_.tls_question);
}

// What is held of earlier reads is a part of one line, so that it is taken as a whole.
std::size_t Tunnel::hand_over(std::span<const char> bytes) {
  if (far_.ended) {
    cut("a request to a far end that has ended its side", TunnelEndCause::refused);
    return bytes.size();
  }
  state_.counters.tunnels_with_requests_total.add();
  std::size_t used = 0;
  if (peek_->ends_line()) {
    upstream_->transport->send("\n");
    used = peek_->held().size() == bytes.size() ? 1 : 0;  // else it came with earlier reads
    bytes = bytes.subspan(used);
    peek_->held().consume(1);
  }
  const std::string held = peek_->take_held(peek_->held().size() - bytes.size());
  timer_.clear();
  far_.stop_waiting();
  leave();
  count_verdict();
  note_requests_inside();
  write_log();
  peek_.reset();
  upstream_->transport->relay_nowhere();
  Owner& owner = *std::exchange(owner_, nullptr);
  ClientInfo::Inside inside{start_.host, start_.port, start_.judged_by, start_.to_parent};
  inside.user = start_.user;
  inside.dialled = start_.dialled;
  inside.tunnel_id = start_.tunnel_id;
  return used + owner.on_requests_inside(std::move(upstream_), std::move(inside), held, bytes);
}

void Tunnel::note_requests_inside() {
  start_.tunnel_id = start_.decision_id.empty() ? state_.ids.next() : start_.decision_id;
}

// TLS that the proxy ends. Nothing has been relayed yet; for a page the far end is no longer needed.
void Tunnel::intercept() {
  const bool is_gone = far_.ended;
  if ((is_gone && !far_failed_unheard_) || upstream_->transport->bytes_in() > far_octets_before_)
    return cut("the far end spoke, or ended, before the client", TunnelEndCause::refused);
  const TlsDecision decision = peek_->tls_decision();
  note_name();
  timer_.clear();
  far_.stop_waiting();
  leave();
  count_verdict();
  count_bytes();
  note_requests_inside();
  const bool is_transparent = owner_->client_info().destination != nullptr;
  const NameOf name_of_host = !sni_.empty() ? NameOf::server_name : is_transparent ? NameOf::address : NameOf::connect;
  InterceptionStart start{.inside = {.host = sni_.empty() ? start_.host : sni_,
                                     .port = start_.port,
                                     .judged_by = start_.judged_by,
                                     .to_parent = start_.to_parent,
                                     .scheme = Scheme::https,
                                     .authority = sni_.empty() || sni_ == start_.host ? std::string() : start_.host,
                                     .name = name_of_host,
                                     .has_marks = decision.reason == TlsReason::mark,
                                     .hides_name = decision.hides_name,
                                     .has_no_origin = decision.action == TlsAction::page,
                                     .user = start_.user,
                                     .dialled = start_.dialled,
                                     .tunnel_id = start_.tunnel_id},
                          .hello = peek_->take_held(peek_->held().size()),
                          .may_step_back = decision.may_step_back};
  peek_.reset();
  start_.is_counted = true;
  const TunnelEnd so_far = end();
  start.log = std::make_unique<InterceptionLog>(state_, owner_->client_info(), std::move(start_), so_far);
  upstream_->transport->relay_nowhere();
  Owner& owner = *std::exchange(owner_, nullptr);
  if (is_gone && decision.action == TlsAction::intercept) {
    start.inside.failure = HttpError{ErrorKind::origin_tls, "the origin ended the connection"};
    start.log->note_error(start.inside.failure->detail);
  }
  if (is_gone || decision.action != TlsAction::intercept) {
    upstream_->transport->close();
    state_.io.loop.deferred().delete_later(std::move(upstream_));
  }
  owner.on_interception(std::move(upstream_), std::move(start));
}

}  // namespace bloomwall::proxy
