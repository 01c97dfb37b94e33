// What may come before a client's first request: the PROXY header of a balancer, or, where a firewall redirected it, a
// ClientHello that becomes a tunnel.
// SPDX-License-Identifier: Apache-2.0
#include <string>
#include <utility>

#include "proxy/log/log.h"
#include "proxy/net/addresses.h"
#include "proxy/net/client_connection.h"
#include "proxy/net/redirection.h"

namespace bloomwall::proxy {

std::size_t ClientConnection::on_greeting(std::span<const char> bytes) {
  const auto step = greeting_->feed(bytes);
  switch (step.result) {
    case ProxyHeaderReader::Result::need_more:
      return step.consumed;
    case ProxyHeaderReader::Result::malformed:
      state_.counters.proxy_headers_malformed_total.add();
      close();
      return bytes.size();
    case ProxyHeaderReader::Result::done:
      break;
  }
  if (const auto& source = greeting_->source()) {
    info_.endpoint = endpoint_of(source->address, source->port);
    info_.address = info_.endpoint.ip();
  }
  greeting_.reset();
  phase_ = State::idle;
  const bool admitted = owner_.on_client_named(*this);
  const TlsContextPtr tls = std::move(tls_after_greeting_);
  if (admitted && tls != nullptr) {
    secure(*tls);
  } else if (!admitted) {
    if (tls == nullptr) transport_->send(state_.text);
    linger(false);
  }
  return step.consumed;
}

void ClientConnection::expect_redirected(const Endpoint& destination) {
  info_.destination =
      std::make_unique<const ClientInfo::Destination>(ClientInfo::Destination{destination, destination.ip()});
  phase_ = State::greeting;
}

std::size_t ClientConnection::on_redirected(std::span<const char> bytes) {
  if (hello_ != nullptr) return on_hello(bytes);
  const OwnConnections* const own = state_.dial.own_connections;
  if (own != nullptr && own->contains(info_.endpoint, info_.destination->endpoint)) {
    log::warning("a connection of this proxy's own to {} was redirected to {}: the firewall must leave them out",
                 info_.destination->endpoint.text(), *info_.listener);
    refuse_redirected({ErrorKind::loop, "a connection of this proxy's own was redirected"});
    return bytes.size();
  }
  if (!is_tls_record(bytes.front())) {
    phase_ = State::idle;
    return on_data(bytes);
  }
  set_idle(false);
  timer_.set(state_.snapshot->settings.timeouts.request_header);
  hello_ = std::make_unique<Hello>(state_.io.pool);
  return on_hello(bytes);
}

std::size_t ClientConnection::on_hello(std::span<const char> bytes) {
  const HelloResult result = hello_->reader.feed(bytes);
  const bool kept = hello_->octets.append(bytes) && hello_->memory.set(hello_->reader.memory());
  if (!kept) {
    refuse_redirected({ErrorKind::connection_limit, "limits.buffer_memory"});
  } else if (result == HelloResult::malformed) {
    state_.counters.sni_malformed_total.add();
    refuse_redirected({ErrorKind::bad_request, hello_->reader.why()});
  } else if (result != HelloResult::need_more) {
    open_unasked_tunnel();
  }
  return bytes.size();
}

// Without a server name the address stands for the host.
void ClientConnection::open_unasked_tunnel() {
  std::string authority = info_.destination->endpoint.text();
  const bool is_named = hello_->reader.result() == HelloResult::name;
  if (is_named) {
    const auto named = state_.decider.server_name(hello_->reader.name());
    if (!named) {
      state_.counters.sni_malformed_total.add();
      return refuse_redirected({ErrorKind::bad_request, "a server name that no host can have"});
    }
    authority.assign(named->host).append(":").append(std::to_string(info_.destination->endpoint.port()));
  }
  phase_ = State::reading_head;
  exchange_ = exchanges_.take();
  exchange_->begin_unasked_tunnel(*this, authority, is_named);
}

// It knows nothing of a proxy and hears nothing; the log has a line of the CONNECT that it would have sent.
void ClientConnection::refuse_redirected(const HttpError& error) {
  const RequestTimes times = hello_ != nullptr ? hello_->times : RequestTimes::from_now();
  const std::chrono::microseconds lasted = times.lasted();
  state_.counters.count_error(error.kind);
  state_.counters.count_response(0, static_cast<std::uint64_t>(lasted.count()));
  const std::string authority = info_.destination->endpoint.text();
  const DecisionId id = state_.ids.next();
  AccessRecord record = begin_record(info_, times, lasted);
  record.method = "CONNECT";
  record.url = authority;
  record.host = info_.destination->address;
  if (hello_ != nullptr && hello_->reader.result() == HelloResult::name) record.sni = hello_->reader.name();
  record.bytes_received = transport_->bytes_in();
  record.tunnel = true;
  note_refusal(record, error, id);
  write_record(state_, record, *state_.snapshot);
  close();
}

// Into the tunnel, which looks at it as at every ClientHello.
void ClientConnection::relay_hello() {
  const auto hello = std::move(hello_);
  while (!hello->octets.empty()) {
    const auto piece = hello->octets.front();
    if (!tunnel_->take_early(piece)) return;
    hello->octets.consume(piece.size());
  }
}

}  // namespace bloomwall::proxy
