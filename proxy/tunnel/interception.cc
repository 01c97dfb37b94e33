// SPDX-License-Identifier: Apache-2.0

#include "proxy/tunnel/interception.h"

#include <chrono>
#include <span>
#include <utility>

#include "proxy/decision/client_info.h"
#include "proxy/decision/tls_inspection.h"
#include "proxy/decision/worker_state.h"
#include "proxy/log/log.h"
#include "proxy/query_log/written_form.h"
#include "proxy/tls/handshake_fault.h"
#include "proxy/upstream/addresses.h"

namespace bloomwall::proxy {
namespace {

constexpr Milliseconds kWarnAgain{60'000};  // of a CA that cannot sign

InterceptionFailure failure_of(LeafCache::Refusal refusal) {
  switch (refusal) {
    case LeafCache::Refusal::bad_host:
      return InterceptionFailure::bad_host;
    case LeafCache::Refusal::client_rate:
      return InterceptionFailure::client_rate;
    case LeafCache::Refusal::overload:
      return InterceptionFailure::overload;
    case LeafCache::Refusal::mint:
      return InterceptionFailure::mint;
  }
  return InterceptionFailure::mint;
}

// Whether a client that is given the origin's own certificate finds the same fault. It trusts our own authority, and
// knows neither the operator's list of keys nor those of revoked certificates.
bool is_for_the_client_to_see(const TlsSession& tls) {
  if (tls.fault() != TlsSession::Fault::certificate) return false;
  switch (tls.certificate_error()) {
    case CertificateError::own_ca:
    case CertificateError::distrusted:
    case CertificateError::revoked:
      return false;
    default:
      return true;
  }
}

}  // namespace

Interception::Interception(WorkerState& worker, Owner& owner, UpstreamPtr upstream, InterceptionStart start)
    : worker_(worker),
      owner_(&owner),
      client_(owner.client_info().endpoint),
      inspection_(worker.snapshot->inspection),
      upstream_(std::move(upstream)),
      start_(std::move(start)),
      deadline_(
          worker.io.loop.timers(),
          [](void* self) {
            static_cast<Interception*>(self)->fail({ErrorKind::origin_tls_timeout, "timeouts.tls_handshake"});
          },
          this) {
  worker_.counters.tls_handshakes_active.add();
}

Interception::~Interception() {
  worker_.counters.tls_handshakes_active.subtract();
  if (has_place_) worker_.handshakes.give(client_);
}

// Who has sent no ClientHello yet costs no more than any that is idle.
bool Interception::take_place() {
  has_place_ = worker_.handshakes.take(client_, worker_.snapshot->settings.limits.handshakes);
  if (!has_place_) give_up(InterceptionFailure::handshakes, "limits.handshakes");
  return has_place_;
}

void Interception::begin() {
  if (inspection_ == nullptr || worker_.origin_tls == nullptr) {
    return give_up(InterceptionFailure::off, "tls_inspection is off since a reload");
  }
  awaits_hello_ = upstream_ == nullptr && start_.hello.empty();
  if (awaits_hello_ || !take_place()) return;
  if (upstream_ == nullptr) return present();
  deadline_.set(worker_.snapshot->settings.timeouts.tls_handshake);
  shaking_since_ = std::chrono::steady_clock::now();
  read_offer();
  TlsTarget target = tls_target(start_.inside.host, start_.inside.port);
  target.alpn = origin_alpn_;
  upstream_->secure(TlsSession::connect(*worker_.origin_tls, target), *this);
}

void Interception::read_offer() {
  ClientHelloReader hello;
  hello.feed(start_.hello);
  const HelloFacts& facts = hello.facts();
  offers_http1_ = !facts.has_alpn || facts.offers("http/1.1");
  const bool is_http1_wanted =
      offers_http1_ && worker_.origin_facts.wants_http11(start_.inside.host, start_.inside.port);
  origin_alpn_ = inspection_->rules().origin_alpn(offers_http1_, facts.offers(kProtocolH2) && !is_http1_wanted);
}

// What the origin chose; a page is shown in whatever the client speaks.
std::string_view Interception::client_alpn() const {
  if (lacks_protocol_) return kAlpnHttp11;  // which the client does not offer: alert 120
  const TlsSession* const tls = upstream_ == nullptr ? nullptr : upstream_->transport->tls();
  if (tls != nullptr) return tls->alpn() == kProtocolH2 ? kAlpnH2 : kAlpnHttp11;
  return inspection_->rules().settings().http2 ? kAlpnHttp11H2 : kAlpnHttp11;
}

bool Interception::on_hello(std::span<const char> bytes) {
  start_.hello.append(bytes.data(), bytes.size());
  const HelloResult result = reader_.feed(bytes);
  if (result == HelloResult::need_more) return false;
  awaits_hello_ = false;
  if (result == HelloResult::no_name) return take_place();
  if (result == HelloResult::name) {
    const auto named = worker_.decider.server_name(owner_->client_info(), start_.inside.user.get(), reader_.name());
    if (named && named->host != start_.inside.host) {
      start_.inside.authority = std::exchange(start_.inside.host, std::string(named->host));
      start_.inside.name = NameOf::server_name;
    }
    if (named) return take_place();
  }
  give_up(InterceptionFailure::no_hello, "no ClientHello");
  return false;
}

void Interception::expire() { give_up(InterceptionFailure::no_hello, "the ClientHello was too slow"); }

// The client's connection must end.
void Interception::give_up(InterceptionFailure reason, std::string_view why) {
  deadline_.clear();
  drop_upstream();
  worker_.counters.tls.count(reason);
  start_.log->note_error(why);
  start_.log->write(nullptr);
  std::exchange(owner_, nullptr)->on_interception_failed(why);
}

void Interception::cancel() {
  if (owner_ == nullptr) return;
  owner_ = nullptr;
  presenting_.cancel();
  worker_.counters.tls.count(InterceptionFailure::client_left);
  start_.log->note_error("the client left");
  start_.log->write(nullptr);
  deadline_.clear();
  redial_.reset();
  drop_upstream();
}

void Interception::drop_upstream() {
  if (upstream_ == nullptr) return;
  upstream_->transport->close();
  worker_.io.loop.deferred().delete_later(std::move(upstream_));
}

// Of the handshake with the origin, once.
void Interception::note_origin_end(bool is_done) {
  if (!shaking_since_) return;
  const auto took = std::chrono::duration_cast<std::chrono::microseconds>(std::chrono::steady_clock::now() -
                                                                          *std::exchange(shaking_since_, std::nullopt));
  TlsCounts& counts = worker_.counters.tls;
  const TlsSession* const tls = upstream_ == nullptr ? nullptr : upstream_->transport->tls();
  if (tls == nullptr) return counts.of(TlsSide::origin).count_failed();
  start_.log->note_origin(*tls);
  if (tls->without_scts()) worker_.counters.origin_without_sct_total.add();
  HandshakeCounts& handshakes = counts.of(TlsSide::origin);
  if (is_done) return handshakes.count_done(tls->resumed(), took);
  handshakes.count_failed();
  if (tls->fault() == TlsSession::Fault::certificate) {
    counts.count_certificate_error(static_cast<std::size_t>(tls->certificate_error()));
  }
}

void Interception::on_established() {
  note_origin_end(true);
  const TlsSession& tls = *upstream_->transport->tls();
  if (tls.client_certificate_asked() && step_back(TlsReason::client_cert)) return;
  const bool is_http2 = tls.alpn() == kProtocolH2;
  if (!is_http2 && !offers_http1_ && leave_without_protocol()) return;
  if (is_http2) upstream_->transport->pause(PauseReason::busy);  // it says its SETTINGS before it is asked anything
  present();
}

// Client and origin have no version of HTTP in common. True: the origin is left to the client.
bool Interception::leave_without_protocol() {
  if (step_back(TlsReason::alpn)) return true;
  lacks_protocol_ = !offers_http1_;  // else it can be told
  if (lacks_protocol_) worker_.counters.tls.count(TlsAction::refuse, TlsReason::alpn);
  return false;
}

// Noted only of what the client has not chosen itself: by another server name, or another address, one client could
// have a host tunnelled for all. Through a parent another CONNECT would be needed: the client's next attempt makes it.
bool Interception::step_back(TlsReason reason) {
  if (!start_.may_step_back || redial_ != nullptr) return false;
  if (start_.inside.authority.empty() && owner_->client_info().destination == nullptr) {
    const std::string& host = start_.inside.host;
    if (reason == TlsReason::client_cert) worker_.origin_facts.note_client_certificate(host, start_.inside.port);
    if (reason == TlsReason::alpn) worker_.origin_facts.note_no_http(host, start_.inside.port, origin_alpn_);
  }
  if (start_.inside.to_parent) return false;
  self_ = std::make_shared<Interception*>(this);  // a certificate that is being made is no longer wanted
  presenting_.cancel();
  undone_by_ = reason;
  const Endpoint peer = upstream_->peer;
  drop_upstream();
  redial_ = std::make_unique<Connector>(worker_.dial, *this);
  redial_->start({.host = peer.ip(), .port = peer.port()}, worker_.snapshot);
  return true;
}

void Interception::on_connected(UniqueFd fd, const Endpoint& peer) {
  if (owner_ == nullptr) return;
  deadline_.clear();
  UpstreamPtr upstream = worker_.upstreams.make(std::move(fd), peer, start_.inside.host, *this);
  worker_.counters.tls_interceptions_undone_total.add();
  TunnelStart tunnel = start_.log->give_up();
  tunnel.tls_decision = TlsDecision{.action = TlsAction::tunnel, .reason = undone_by_};
  Owner& owner = *std::exchange(owner_, nullptr);
  owner.on_interception_undone(std::move(upstream), std::move(tunnel), std::move(start_.hello));
}

// Octets that answer no request.
std::size_t Interception::on_data(std::span<const char> bytes) {
  fail({ErrorKind::connection_terminated, "octets that answer no request"});
  return bytes.size();
}

void Interception::on_end() { on_failed(0); }

void Interception::on_failed(int) {
  note_origin_end(false);
  const TlsSession* const tls = upstream_ == nullptr ? nullptr : upstream_->transport->tls();
  if (owner_ != nullptr && tls != nullptr) {
    using OnBad = conf::TlsInspection::OnBadCertificate;
    const bool passes_bad = inspection_->rules().settings().on_bad_certificate == OnBad::pass;
    if (tls->client_certificate_asked() && step_back(TlsReason::client_cert)) return;
    if (passes_bad && is_for_the_client_to_see(*tls) && step_back(TlsReason::all)) return;
    const bool passes_failed =
        inspection_->rules().settings().on_failed_handshake == conf::TlsInspection::OnFailedHandshake::pass;
    const bool is_of_certificate = tls->is_established() || tls->fault() == TlsSession::Fault::certificate;
    if (passes_failed && !is_of_certificate && step_back(TlsReason::handshake)) return;
    if (tls->alert_received() == SSL_AD_NO_APPLICATION_PROTOCOL && leave_without_protocol()) return;
  }
  fail(tls == nullptr ? HttpError{ErrorKind::connection_terminated, "the origin reset the connection"}
                      : origin_tls_error(*tls));
}

// The client is told under a valid certificate.
void Interception::fail(const HttpError& error) {
  if (owner_ == nullptr) return;
  note_origin_end(false);
  start_.log->note_error(error.detail);
  deadline_.clear();
  if (redial_ != nullptr) redial_->cancel();
  drop_upstream();
  start_.inside.failure = error;
  present();
}

void Interception::present() {
  if (worker_.io.steps == nullptr) return present_now();
  if (owner_ != nullptr) worker_.io.steps->add(presenting_);
}

void Interception::present_now() {
  if (owner_ == nullptr) return;
  // The answer may come on another thread, and after this is gone.
  auto tell = [mailbox = worker_.mailbox, self = std::weak_ptr<Interception*>(self_)](const LeafCache::Answer& answer) {
    mailbox->post([self, answer] {
      if (const auto here = self.lock()) (*here)->on_leaf(answer);
    });
  };
  ClientHelloReader hello;
  hello.feed(start_.hello);
  const LeafKeyType type = hello.facts().takes_rsa_alone ? LeafKeyType::rsa : LeafKeyType::ecdsa;
  const auto answer = inspection_->ask_leaf(start_.inside.host, owner_->client_info().endpoint, std::move(tell), type);
  if (answer) on_leaf(*answer);
}

void Interception::on_leaf(const LeafCache::Answer& answer) {
  if (owner_ == nullptr) return;
  if (!answer) {
    const bool is_ours = answer.error().refusal == LeafCache::Refusal::mint;
    if (is_ours && monotonic_now() - worker_.mint_failure_told > kWarnAgain) {
      worker_.mint_failure_told = monotonic_now();
      log::error("tls_inspection: no certificate for {}: {}",
                 host_in_line(start_.inside.host, worker_.snapshot->query_log), answer.error().why);
    }
    return give_up(failure_of(answer.error().refusal), to_string(answer.error().refusal));
  }
  deadline_.clear();
  Owner& owner = *std::exchange(owner_, nullptr);
  std::string session_context;
  auto tls = TlsSession::accept(inspection_->clients(),
                                inspection_->identity(**answer, session_context, start_.inside.host, client_alpn()));
  tls->feed(start_.hello);
  owner.on_intercepted(std::move(upstream_), std::move(start_.inside), std::move(tls));
}

// What CONNECT named: that is what a later decision asks for.
const std::string& RefusalWatch::host() const {
  return client_.inside->authority.empty() ? client_.inside->host : client_.inside->authority;
}

void RefusalWatch::on_established(const TlsSession& tls) {
  established_at_ = TlsRefusals::Clock::now();
  worker_.counters.tls.of(TlsSide::client)
      .count_done(tls.resumed(), std::chrono::duration_cast<std::chrono::microseconds>(*established_at_ - begun_at_));
}

void RefusalWatch::tell(std::optional<RefusalSignal> signal, TlsRefusals::Time now) const {
  if (worker_.tell_refusals != nullptr) worker_.tell_refusals({client_.endpoint.address(), host(), signal, now});
}

void RefusalWatch::on_request(const TlsSession* tls) {
  const TlsRefusals::Time now = TlsRefusals::Clock::now();
  if (worker_.refusals.accept(client_.endpoint.address(), host(), now)) tell({}, now);
  worker_.recount_auto_passes();
  log_->write(tls);
}

// For the log: why there was no request. Empty: it is not known, or needs no word.
std::string_view RefusalWatch::why(const TlsSession* tls, bool is_by_us) const {
  const bool is_known = tls != nullptr && tls->fault() != TlsSession::Fault::none;
  if (is_known && (!established_at_ || tls->alert_received() != 0)) return client_fault(*tls);
  if (established_at_) return is_by_us ? std::string_view() : "the client sent no request";
  return is_by_us ? "no handshake with the client in time" : "the client ended the handshake";
}

void RefusalWatch::on_end(const TlsSession* tls, bool is_by_us, bool sent_data) {
  if (!established_at_) worker_.counters.tls.of(TlsSide::client).count_failed();
  log_->note_error(why(tls, is_by_us));
  log_->write(tls);
  const TlsRefusals::Time now = TlsRefusals::Clock::now();
  HandshakeEnd end{.is_finished = established_at_.has_value(),
                   .sent_data = sent_data,
                   .by_us = is_by_us,
                   .hid_its_name = client_.inside->hides_name};
  if (tls != nullptr && tls->alert_received() != 0) end.alert = tls->alert_received();
  if (established_at_)
    end.after_finished = std::chrono::duration_cast<std::chrono::milliseconds>(now - *established_at_);
  const auto signal = refusal_in(end);
  if (!signal) return;
  worker_.counters.tls.count(*signal);
  const auto noted = worker_.refusals.note(client_.endpoint.address(), host(), *signal, now);
  tell(signal, now);
  worker_.recount_auto_passes();
  if (noted.warn_of_device) {
    const LogRules& rules = worker_.snapshot->query_log;
    AccessRecord record;
    record.start = std::chrono::system_clock::now();
    record.client = client_.address;
    record.host = host();
    record.refused = true;
    log::warning("{} refuses the certificates of tls_inspection.ca, now for {}: it lacks the authority",
                 client_in_line(record, rules, worker_.mask), host_in_line(host(), rules));
  }
}

}  // namespace bloomwall::proxy
