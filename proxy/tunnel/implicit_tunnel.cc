// SPDX-License-Identifier: Apache-2.0
#include "proxy/tunnel/implicit_tunnel.h"

#include <utility>

#include "proxy/decision/client_info.h"
#include "proxy/decision/worker_state.h"
#include "proxy/http/serialise.h"
#include "proxy/log/log.h"
#include "proxy/telemetry/access_record.h"
#include "proxy/upstream/addresses.h"

namespace bloomwall::proxy {

ImplicitTunnel::ImplicitTunnel(WorkerState& worker, const ClientInfo& client)
    : worker_(worker), client_(client), peek_(std::make_unique<TunnelPeek>(worker)) {}

bool ImplicitTunnel::feed(std::span<const char> bytes) {
  octets_ += bytes.size();
  switch (peek_->feed_before_tunnel(bytes)) {
    case TunnelPeek::Result::wait:
      return false;
    case TunnelPeek::Result::pass:
      return make_head();
    case TunnelPeek::Result::cut:
    case TunnelPeek::Result::relay:
    case TunnelPeek::Result::http:
    case TunnelPeek::Result::intercept:
      break;
  }
  return fail(*peek_->error());
}

// Without a server name the address stands for the host.
bool ImplicitTunnel::make_head() {
  const Endpoint& meant = client_.destination->endpoint;
  const std::string_view sent_name = peek_->sent_name();
  is_named_ = !sent_name.empty();
  authority_ = meant.text();
  if (is_named_) {
    const auto named = worker_.decider.server_name(client_, nullptr, sent_name);
    if (!named) {
      worker_.counters.sni_malformed_total.add();
      return fail({ErrorKind::bad_request, "a server name that no host can have"});
    }
    authority_.assign(named->host);
    append_port(authority_, meant.port());
  }
  const std::string_view host = std::string_view(authority_).substr(0, authority_.rfind(':'));
  head_.method = Method::connect;
  head_.method_name = "CONNECT";
  head_.target = {.form = TargetForm::authority, .raw = authority_, .authority = {host, meant.port()}};
  head_.host = head_.target.authority;
  head_.bytes = octets_;
  return true;
}

bool ImplicitTunnel::fail(const HttpError& error) {
  error_ = error;
  return true;
}

bool ImplicitTunnel::is_own_connection(const WorkerState& worker, const ClientInfo& client) {
  const OwnConnections* const own = worker.dial.own_connections;
  if (own == nullptr || !own->contains(client.endpoint, client.destination->endpoint)) return false;
  log::warning("a connection of this proxy's own to {} was redirected to {}: the firewall must leave them out",
               client.destination->endpoint.text(), *client.listener);
  return true;
}

void ImplicitTunnel::log_refusal(WorkerState& worker, const ClientInfo& client, const ImplicitTunnel* hello,
                                 const HttpError& error, std::uint64_t octets) {
  const RequestTimes times = hello != nullptr ? hello->times_ : RequestTimes::from_now();
  const std::chrono::microseconds lasted = times.lasted();
  worker.counters.count_error(error.kind);
  worker.counters.count_response(0, static_cast<std::uint64_t>(lasted.count()));
  const std::string authority = client.destination->endpoint.text();
  const DecisionId id = worker.ids.next();
  AccessRecord record = begin_record(client, times, lasted);
  record.method = "CONNECT";
  record.url = authority;
  record.host = client.destination->address;
  if (hello != nullptr) record.sni = hello->peek_->sent_name();
  record.bytes_received = octets;
  record.tunnel = true;
  note_refusal(record, error, id);
  write_record(worker, record, *worker.snapshot);
}

}  // namespace bloomwall::proxy
