// SPDX-License-Identifier: Apache-2.0
#include "proxy/tunnel/origin_trial.h"

#include <span>
#include <utility>

#include "proxy/decision/snapshot.h"
#include "proxy/decision/tls_inspection.h"
#include "proxy/dns/cares_resolver.h"
#include "proxy/http/http1_reader.h"
#include "proxy/http/rewrite.h"
#include "proxy/upstream/addresses.h"
#include "proxy/upstream/connector.h"
#include "proxy/upstream/upstream.h"

namespace bloomwall::proxy {
namespace {

constexpr std::size_t kPoolBytes = std::size_t{16} << 20;
constexpr std::size_t kTrialScratchBytes = std::size_t{64} << 10;
constexpr std::size_t kCachedNames = 16;

// What the trial needs of a snapshot: no certificates of listeners, no page, no key of a CA.
conf::Config reduced(conf::Config settings) {
  conf::switch_inspection_off(settings);
  settings.listeners.clear();
  settings.block_page = {};
  return settings;
}

}  // namespace

struct OriginTrial::Impl final : Connector::Handler, Transport::Handler {
  enum class Phase : std::uint8_t { dialling, parent_tls, parent_answer, origin_tls, over };

  Impl(SnapshotPtr compiled, TlsContextPtr context) : snapshot(std::move(compiled)), origins(std::move(context)) {}

  void begin(std::string_view canonical, std::uint16_t to_port);
  void ask_parent();
  void shake_hands();
  std::size_t on_parent_answer(std::span<const char> bytes);
  void end(std::optional<HttpError> why);

  bool may_dial(const Endpoint&) override { return true; }
  void on_connected(UniqueFd fd, const Endpoint& reached) override;
  void on_dial_failed(const HttpError& why) override { end(why); }
  std::size_t on_data(std::span<const char> bytes) override;
  void on_established() override;
  void on_end() override { on_failed(0); }
  void on_drained() override {}
  void on_write_failed(int) override {}  // what the peer has sent says why
  void on_failed(int error) override;
  void on_deadline();

  struct Times {
    Milliseconds begun{0}, connected{0}, ended{0};
  };

  const SnapshotPtr snapshot;
  const TlsContextPtr origins;
  EventLoop loop;
  BufferPool buffers{kPoolBytes};
  std::vector<char> scratch = std::vector<char>(kTrialScratchBytes);
  IoContext io{loop, buffers, scratch};
  Counters counters;
  UpstreamPool upstreams{io, counters};
  OwnAddresses own;
  std::unique_ptr<CaresResolver> resolver;
  std::unique_ptr<DialContext> dial;
  std::unique_ptr<Connector> connector;
  const HeadLimits limits{};
  ResponseReader answer{limits};
  Timer deadline{loop.timers(), [](void* self) { static_cast<Impl*>(self)->on_deadline(); }, this};
  UpstreamPtr upstream;
  const ParentProxy* parent = nullptr;
  std::string host, peer;
  std::uint16_t port = 0;
  Phase phase = Phase::dialling;
  bool reached_origin = false;  // or a tunnel to it
  std::optional<HttpError> error;
  Times times;
};

void OriginTrial::Impl::begin(std::string_view canonical, std::uint16_t to_port) {
  host = canonical;
  port = to_port;
  times.begun = times.connected = times.ended = monotonic_now();
  dial = std::make_unique<DialContext>(DialContext{loop, *resolver, own});
  connector = std::make_unique<Connector>(*dial, *this);
  if (snapshot->parent && !snapshot->parent->bypass.contains(host)) parent = &*snapshot->parent;
  if (parent == nullptr) return connector->start({.host = host, .port = port}, snapshot);
  if (!snapshot->may_ask_parent_for(host))
    return end(HttpError{ErrorKind::destination_denied, "access.deny_destinations"});
  connector->start({.host = parent->host, .port = parent->port, .is_parent = true}, snapshot);
}

void OriginTrial::Impl::on_connected(UniqueFd fd, const Endpoint& reached) {
  peer = reached.text();
  upstream = upstreams.make(std::move(fd), reached, host, *this);
  if (parent == nullptr) return shake_hands();
  deadline.set(snapshot->settings.timeouts.connect);
  if (parent->tls == nullptr) return ask_parent();
  phase = Phase::parent_tls;
  upstream->secure(TlsSession::connect(*parent->tls, parent->host), *this);
}

void OriginTrial::Impl::ask_parent() {
  phase = Phase::parent_answer;
  answer.start({.method = Method::connect});
  std::string head;
  write_connect_head(head, {.host = host, .port = port, .parent_authorization = parent->authorization});
  upstream->transport->send(head);
}

void OriginTrial::Impl::shake_hands() {
  phase = Phase::origin_tls;
  reached_origin = true;
  times.connected = monotonic_now();
  deadline.set(snapshot->settings.timeouts.tls_handshake);
  upstream->secure(TlsSession::connect(*origins, tls_target(host, port)), *this);
}

void OriginTrial::Impl::on_established() { phase == Phase::parent_tls ? ask_parent() : end(std::nullopt); }

std::size_t OriginTrial::Impl::on_data(std::span<const char> bytes) {
  if (phase == Phase::parent_answer) return on_parent_answer(bytes);
  if (phase != Phase::over) end(HttpError{ErrorKind::connection_terminated, "octets that answer no request"});
  return bytes.size();
}

std::size_t OriginTrial::Impl::on_parent_answer(std::span<const char> bytes) {
  std::size_t used = 0;
  for (;;) {
    const auto step = answer.feed(bytes.subspan(used));
    if (!step) {
      end(step.error());
      return bytes.size();
    }
    used += step->consumed;
    if (step->event == ReadEvent::need_more) return used;
    if (step->event == ReadEvent::head && (answer.head().status < 200 || answer.head().status > 299)) {
      const bool is_auth = answer.head().status == 407;
      end(HttpError{is_auth ? ErrorKind::parent_auth : ErrorKind::parent_refused,
                    is_auth ? "the parent proxy answered 407" : "the parent proxy refused the tunnel"});
      return bytes.size();
    }
    if (step->event != ReadEvent::end) continue;
    shake_hands();
    return used;  // what is left belongs to TLS
  }
}

void OriginTrial::Impl::on_failed(int) {
  const TlsSession* const tls = upstream->transport->tls();
  switch (phase) {
    case Phase::origin_tls:
      return end(origin_tls_error(*tls));
    case Phase::parent_tls:
      return end(tls->certificate_refused()
                     ? HttpError{ErrorKind::parent_certificate, "the parent proxy's certificate is refused"}
                     : HttpError{ErrorKind::parent_tls, "the TLS handshake with the parent proxy failed"});
    case Phase::dialling:
    case Phase::parent_answer:
      return end(HttpError{ErrorKind::connection_terminated, "the parent proxy ended the connection"});
    case Phase::over:
      return;
  }
}

void OriginTrial::Impl::on_deadline() {
  if (phase == Phase::origin_tls) return end(HttpError{ErrorKind::origin_tls_timeout, "timeouts.tls_handshake"});
  end(HttpError{ErrorKind::connect_timeout, "no tunnel through the parent proxy within timeouts.connect"});
}

void OriginTrial::Impl::end(std::optional<HttpError> why) {
  if (phase == Phase::over) return;
  phase = Phase::over;
  times.ended = monotonic_now();
  error = why;
  deadline.clear();
  connector->cancel();
  if (upstream != nullptr) upstream->transport->close();
  loop.stop();
}

OriginTrial::OriginTrial(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
OriginTrial::~OriginTrial() = default;

tl::expected<std::unique_ptr<OriginTrial>, std::vector<std::string>> OriginTrial::make(const conf::Config& settings) {
  auto snapshot = make_snapshot(reduced(settings), 1);
  if (!snapshot) return tl::unexpected(std::move(snapshot).error());
  const auto failure = [](const std::string& line) { return tl::unexpected(std::vector{line}); };
  auto verifier = load_origin_verifier(settings);
  if (!verifier) return failure(verifier.error());
  auto origins = TlsContext::for_origins(*std::move(verifier));
  if (!origins) return failure("tls_inspection: " + origins.error());
  auto impl = std::make_unique<Impl>(*std::move(snapshot), *std::move(origins));
  auto resolver = CaresResolver::create(impl->loop, settings.dns, kCachedNames);
  if (!resolver) return failure("dns: " + resolver.error());
  impl->resolver = *std::move(resolver);
  return std::unique_ptr<OriginTrial>(new OriginTrial(std::move(impl)));
}

std::optional<HttpError> OriginTrial::run(std::string_view host, std::uint16_t port) {
  impl_->begin(host, port);
  impl_->loop.run();
  return impl_->error;
}

const TlsSession* OriginTrial::tls() const {
  return impl_->reached_origin ? impl_->upstream->transport->tls() : nullptr;
}

const std::string& OriginTrial::peer() const { return impl_->peer; }
bool OriginTrial::went_through_parent() const { return impl_->parent != nullptr; }
Milliseconds OriginTrial::connected_after() const { return impl_->times.connected - impl_->times.begun; }
Milliseconds OriginTrial::ended_after() const { return impl_->times.ended - impl_->times.begun; }

}  // namespace bloomwall::proxy
