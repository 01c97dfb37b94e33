// Pages in TLS, which need no origin (declared in exchange.h).
// SPDX-License-Identifier: Apache-2.0
#include <utility>

#include "proxy/decision/client_info.h"
#include "proxy/decision/client_stream.h"
#include "proxy/decision/worker_state.h"
#include "proxy/exchange/exchange.h"
#include "proxy/http/rewrite.h"
#include "proxy/tunnel/interception.h"
#include "proxy/upstream/gathered_write.h"

namespace bloomwall::proxy {

// A browser shows no answer to CONNECT: the page comes inside TLS of our own.
void Exchange::show_page_in_tls() {
  GatheredWrite answer(context_.worker.gather);
  if (!context_.client.is_implicit_tunnel()) write_connect_established(answer.head(), context_.worker.via);
  context_.client.send(answer, false);
  log_.status = 200;
  log_.count_verdict();
  state_ = State::over;
  release_client();
  context_.client.show_page(log_.make_page_start(upload_.received()));  // last: the stream has us deleted later
}

// Where URLs on the host are allowed the tunnel is opened: its requests are judged one by one.
void Exchange::on_blocked_connect(GatheredWrite& out) {
  switch (log_.decide_tls()) {
    case TlsAction::page:
      return show_page_in_tls();
    case TlsAction::intercept:
      log_.leave_verdict_to_urls();
      return route(out);
    case TlsAction::tunnel:
    case TlsAction::refuse:
      return deny();
  }
}

// The URL is allowed on a host that is blocked, and no origin was asked since nobody was to see which URLs are asked
// for: the host's verdict is that of the request.
bool Exchange::deny_by_host() {
  const ClientInfo& client = context_.client.info();
  const ClientInfo::Inside& inside = *client.inside;
  Decider& decider = context_.worker.decider;
  const auto deny_by = [&](auto judged, std::string_view host, NameOf name) {
    if (!judged || judged->verdict.decision < filter::Decision::blocked) return false;
    BlockEnd end = decider.block_end(client, context_.user.get(), host, judged->verdict);
    KeptVerdict verdict = std::move(judged->verdict);
    verdict.name = name;
    verdict.group = log_.verdict().group;
    log_.note_verdict(std::move(verdict), true);
    deny(std::move(end));
    return true;
  };
  const auto deny_by_name = [&](std::string_view host, NameOf name) {
    return deny_by(decider.host(client, context_.user.get(), host), host, name);
  };
  const auto deny_by_address = [&](std::string_view address) {
    return deny_by(decider.destination(client, address), address, NameOf::address);
  };
  return deny_by_name(inside.host, inside.name) ||
         (!inside.authority.empty() && deny_by_name(inside.authority, NameOf::connect)) ||
         (client.destination != nullptr && deny_by_address(client.destination->address));
}

// What was blocked when its page was shown is not any more: the client asks again where there is an origin. On a
// connection that has carried an answer its end says so, as that of any that was idle.
void Exchange::answer_without_origin(const HttpError& error) {
  const ClientStream& client = context_.client;
  const bool was_page = client.info().inside->has_no_origin;
  if (was_page && deny_by_host()) return;
  if (!was_page || !client.was_answered() || client.is_http2()) return answer_error(error, was_page);
  log_.note_error(error);
  finish(ClientStream::After::close);
}

}  // namespace bloomwall::proxy
