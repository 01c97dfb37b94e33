// SPDX-License-Identifier: Apache-2.0
#include "proxy/tunnel/tunnel_peek.h"

#include <algorithm>
#include <utility>

#include "proxy/decision/tls_inspection.h"
#include "proxy/log/log.h"
#include "proxy/query_log/written_form.h"

namespace bloomwall::proxy {
namespace {

using Opaque = conf::Access::OpaqueTunnels;

constexpr Milliseconds kMismatchAgain{1000};  // a client opens as many tunnels as it likes

}  // namespace

TunnelPeek::Result TunnelPeek::feed(std::span<const char> bytes) {
  if (!held_.append(bytes)) return no_memory();
  if (after_ || text_.is_there) return counted(after_ ? follow(bytes) : on_text(bytes));
  given_ += bytes.size();
  return counted(on_hello(reader_.feed(bytes), bytes));
}

TunnelPeek::Result TunnelPeek::counted(Result result) {
  const bool is_counted = memory_.set(reader_.memory() + behind_.size() + (after_ ? after_->memory() : 0));
  return is_counted || result == Result::cut ? result : no_memory();
}

TunnelPeek::Result TunnelPeek::feed_before_tunnel(std::span<const char> bytes) {
  if (!held_.append(bytes)) return no_memory();
  given_ += bytes.size();
  const HelloResult result = reader_.feed(bytes);
  if (result == HelloResult::malformed) return malformed(reader_.why());
  if (result == HelloResult::need_more) return counted(Result::wait);
  const auto behind = bytes.last(given_ - reader_.used());
  behind_.assign(behind.begin(), behind.end());
  return counted(Result::pass);
}

std::string_view TunnelPeek::sent_name() const {
  return reader_.result() == HelloResult::name ? reader_.name() : std::string_view();
}

TunnelPeek::Result TunnelPeek::judge_peeked() {
  const std::string behind = std::exchange(behind_, {});
  return counted(on_hello(reader_.result(), behind));
}

TunnelPeek::Result TunnelPeek::no_memory() {
  error_ = {ErrorKind::connection_limit, "limits.buffer_memory"};
  return Result::cut;
}

// `bytes`: the last that the reader was given, or those of them that it has not used.
TunnelPeek::Result TunnelPeek::on_hello(HelloResult result, std::span<const char> bytes) {
  switch (result) {
    case HelloResult::need_more:
      return Result::wait;
    case HelloResult::not_tls:
      text_.is_there = true;
      return begin_text(bytes);
    case HelloResult::sslv2:
      return on_sslv2();
    case HelloResult::no_name:
      return on_unnamed(bytes);
    case HelloResult::name:
      return on_named(bytes);
    case HelloResult::malformed:
      return malformed(reader_.why());
  }
  return Result::cut;
}

TunnelPeek::Result TunnelPeek::on_unnamed(std::span<const char> bytes) {
  state_.counters.sni_absent_total.add();
  if (access().no_sni == conf::Access::NoSni::deny) return refuse("access.no_sni: the ClientHello names no host");
  return inspect(bytes);
}

// What cannot be read on, and may be TLS without a name; some servers might even read a ClientHello behind it. It
// passes where anything may, and TLS without a name as well, but not to a host whose TLS is to be decrypted.
TunnelPeek::Result TunnelPeek::on_sslv2() {
  if (access().opaque_tunnels != Opaque::allow || passes_nothing_) return malformed("the ClientHello of SSLv2");
  text_.is_there = true;
  state_.counters.sni_absent_total.add();
  if (access().no_sni == conf::Access::NoSni::deny) {
    return refuse("access.no_sni: the ClientHello of SSLv2 names no host");
  }
  const auto& inspection = state_.snapshot->inspection;
  if (question_ == nullptr || inspection == nullptr) return Result::pass;
  TlsRequest request = question_->request(*client_, user_.get(), state_);
  request.hello = TlsHello{};
  const TlsDecision decision = inspection->rules().decide(request);
  if (decision.action != TlsAction::tunnel) {
    return refuse_opaque("tls_inspection: the ClientHello of SSLv2, which cannot be decrypted");
  }
  return pass_opaque();
}

TunnelPeek::Result TunnelPeek::on_named(std::span<const char> bytes) {
  state_.counters.sni_seen_total.add();
  auto judged = state_.decider.server_name(*client_, user_.get(), reader_.name());
  if (!judged) return malformed("a server name that no host can have");
  has_name_ = true;
  host_ = judged->host;
  verdict_ = std::move(judged->verdict);
  state_.counters.filter_lookups_total.add(verdict_.questions);
  if (verdict_.decision == filter::Decision::blocked && !verdict_.leaves_urls()) return inspect(bytes);
  const SafeSearch::Found safe_search = state_.decider.safe_search(*client_, user_.get(), host_);
  if (safe_search && safe_search.dialled != dialled_) {
    return refuse("groups[].safe_search: the tunnel leads past it");
  }
  const Result result = host_ == authority_ ? Result::pass : compare_with_authority();
  return result == Result::pass ? inspect(bytes) : result;
}

// What becomes of a TLS connection whose name may be reached, or is blocked and may be shown a page.
TunnelPeek::Result TunnelPeek::inspect(std::span<const char> bytes) {
  const auto& inspection = state_.snapshot->inspection;
  const bool is_blocked = has_name_ && verdict_.decision >= filter::Decision::blocked;
  if (question_ == nullptr || inspection == nullptr) {
    if (is_blocked) state_.counters.sni_blocked_total.add();
    if (passes_nothing_) return refuse("tls_inspection: neither to be decrypted nor to pass");
    return is_blocked ? Result::cut : begin_following(bytes);
  }
  TlsRequest request = question_->request(*client_, user_.get(), state_);
  if (has_name_) request.sni = TlsName::of(host_, verdict_);
  const HelloFacts& facts = reader_.facts();
  request.hello =
      TlsHello{.has_alpn = facts.has_alpn,
               .offers_http1 = facts.offers("http/1.1"),
               .offers_http2 = facts.offers("h2"),
               .has_ech = facts.has_ech,
               .alpn_to_origin = inspection->rules().origin_alpn(facts.offers("http/1.1"), facts.offers("h2"))};
  state_.origin_facts.fill(request, has_name_ ? std::string_view(host_) : request.authority.host);
  tls_decision_ = inspection->rules().decide(request);
  is_inspected_ = true;
  state_.counters.tls.count(tls_decision_.action, tls_decision_.reason);
  if (is_blocked && tls_decision_.action != TlsAction::intercept) state_.counters.sni_blocked_total.add();
  switch (tls_decision_.action) {
    case TlsAction::tunnel:
      return begin_following(bytes);
    case TlsAction::intercept:
      if (is_blocked) verdict_.leave_to_urls();
      return Result::intercept;
    case TlsAction::page:
      return Result::intercept;
    case TlsAction::refuse:
      break;
  }
  if (tls_decision_.reason == TlsReason::alpn) return Result::intercept;  // the handshake says so, by alert 120
  return is_blocked ? Result::cut : refuse("tls_inspection: neither to be decrypted nor to pass");
}

TunnelPeek::Result TunnelPeek::compare_with_authority() {
  state_.counters.sni_mismatch_total.add();
  const auto& authentication = state_.snapshot->authentication;
  if (must_be_exempt_ && authentication != nullptr && !authentication->is_exempt(host_)) {
    return refuse("authentication.exempt_hosts: the server name is of another host");
  }
  switch (access().sni_mismatch) {
    case conf::Access::SniMismatch::allow:
      return Result::pass;
    case conf::Access::SniMismatch::log: {
      const Milliseconds now = monotonic_now();
      ++state_.mismatches_untold;
      if (now - state_.mismatch_told < kMismatchAgain) return Result::pass;
      state_.mismatch_told = now;
      const LogRules& rules = state_.snapshot->query_log;
      log::warning("tunnel to {}: the ClientHello names {}; {} such tunnels since this was last said",
                   host_in_line(authority_, rules), host_in_line(host_, rules),
                   std::exchange(state_.mismatches_untold, 0));
      return Result::pass;
    }
    case conf::Access::SniMismatch::deny:
      return refuse("access.sni_mismatch: the server name is not the tunnel's host");
  }
  return Result::cut;
}

TunnelPeek::Result TunnelPeek::begin_following(std::span<const char> bytes) {
  after_.emplace(reader_);
  if (far_has_spoken_) after_->on_unreadable_answer();
  return follow(bytes.last(given_ - reader_.used()));
}

TunnelPeek::Result TunnelPeek::follow(std::span<const char> bytes) {
  switch (after_->feed(bytes)) {
    case AfterHello::Result::relay:
      return Result::relay;
    case AfterHello::Result::wait:
      return Result::wait;
    case AfterHello::Result::done:
      return Result::pass;
    case AfterHello::Result::malformed:
      return malformed(after_->why());
  }
  return Result::cut;
}

// Whether nothing goes but what is judged.
bool TunnelPeek::is_strict() const {
  const Opaque mode = access().opaque_tunnels;
  return passes_nothing_ || mode == Opaque::deny || (mode == Opaque::http && port_ == kHttpPort);
}

TunnelPeek::Result TunnelPeek::begin_text(std::span<const char> bytes) {
  const std::size_t before = held_.size() - bytes.size();  // what might have become the ClientHello of SSLv2
  const Result first = before == 0 ? Result::relay : on_text(held_.front().first(before));
  return first == Result::relay || first == Result::wait ? on_text(bytes) : first;
}

// All that may pass does, but for a record of an unknown type, which takes two octets to be seen, no more than the
// first.
TunnelPeek::Result TunnelPeek::on_text(std::span<const char> bytes) {
  if (far_has_spoken_) return on_other(bytes);
  if (record_.feed(bytes) == UnknownRecordPeek::Result::record) return malformed("a TLS record of an unknown type");
  const Result result = text_.may_pass ? Result::pass : on_other(bytes);
  text_.may_pass = result == Result::pass;
  return text_.may_pass && record_.result() == UnknownRecordPeek::Result::undecided ? Result::relay : result;
}

TunnelPeek::Result TunnelPeek::on_other(std::span<const char> bytes) {
  switch (access().opaque_tunnels) {
    case Opaque::allow:
      return pass_opaque();
    case Opaque::deny:
      return refuse_opaque("access.opaque_tunnels: the client does not speak TLS");
    case Opaque::http:
      break;
  }
  if (!far_has_spoken_) return look_for_request(bytes);
  return is_strict() ? refuse_opaque("access.opaque_tunnels: the far end spoke before the client") : pass_opaque();
}

TunnelPeek::Result TunnelPeek::look_for_request(std::span<const char> bytes) {
  switch (text_.line.feed(bytes)) {
    case RequestLinePeek::Result::hold:
      return Result::wait;
    case RequestLinePeek::Result::relay:
      if (is_strict()) {
        return held_.size() > RequestLinePeek::kMostHeld ? refuse_opaque("access.opaque_tunnels: no request line")
                                                         : Result::wait;
      }
      text_.has_passed = true;
      text_.passed_cr = bytes.back() == '\r';
      return Result::relay;
    case RequestLinePeek::Result::http:
      return Result::http;
    case RequestLinePeek::Result::other:
      return is_strict() ? refuse_opaque("access.opaque_tunnels: neither TLS nor HTTP/1, to port 80") : pass_opaque();
    case RequestLinePeek::Result::late:
      return text_.has_passed ? refuse_opaque("access.opaque_tunnels: a request of which a part has passed")
                              : Result::http;
  }
  return Result::cut;
}

TunnelPeek::Result TunnelPeek::on_answer(std::span<const char> bytes) {
  if (after_) return on_server_hello(bytes);
  if (!text_.is_there && !held_.empty() && !passes_nothing_) {  // TLS has begun
    far_has_spoken_ = true;
    return Result::relay;
  }
  if (is_strict()) return refuse_opaque("access.opaque_tunnels: the far end spoke before the client");
  far_has_spoken_ = true;
  return text_.is_there ? pass_opaque() : Result::relay;
}

// Once a tunnel. Without interception nothing is decided.
void TunnelPeek::decide_opaque(bool is_refused) {
  const auto& inspection = state_.snapshot->inspection;
  if (is_inspected_ || question_ == nullptr || inspection == nullptr) return;
  TlsRequest request = question_->request(*client_, user_.get(), state_);
  request.is_opaque = true;
  tls_decision_ = inspection->rules().decide(request);
  if (is_refused) tls_decision_.action = TlsAction::refuse;
  is_inspected_ = true;
  state_.counters.tls.count(tls_decision_.action, tls_decision_.reason);
}

TunnelPeek::Result TunnelPeek::pass_opaque() {
  decide_opaque(false);
  const bool may_pass = !is_inspected_ || tls_decision_.action == TlsAction::tunnel;
  return may_pass ? Result::pass : refuse("tls_inspection: neither to be decrypted nor to pass");
}

TunnelPeek::Result TunnelPeek::refuse_opaque(const char* why) {
  decide_opaque(true);
  return refuse(why);
}

TunnelPeek::Result TunnelPeek::on_server_hello(std::span<const char> bytes) {
  switch (retry_.feed(bytes)) {
    case RetryPeek::Result::no_retry:
      return Result::pass;
    case RetryPeek::Result::unknown:
      after_->on_unreadable_answer();
      return Result::relay;
    case RetryPeek::Result::need_more:
    case RetryPeek::Result::retry:
      return Result::relay;
  }
  return Result::cut;
}

TunnelPeek::Result TunnelPeek::on_end() {
  if (held_.empty()) return Result::relay;
  if (!text_.is_there) return malformed("the ClientHello is cut short");
  if (is_strict()) return refuse_opaque("access.opaque_tunnels: neither TLS nor HTTP/1, to port 80");
  return text_.line.has_method() ? refuse_opaque("access.opaque_tunnels: a request that is cut short") : pass_opaque();
}

std::string TunnelPeek::take_held(std::size_t octets) {
  std::string taken;
  taken.reserve(octets);
  while (taken.size() < octets) {
    const auto piece = held_.front();
    const std::size_t part = std::min(piece.size(), octets - taken.size());
    taken.append(piece.data(), part);
    held_.consume(part);
  }
  return taken;
}

TunnelPeek::Result TunnelPeek::refuse(const char* why) {
  state_.counters.tunnels_refused_total.add();
  error_ = {ErrorKind::tunnel_denied, why};
  return Result::cut;
}

TunnelPeek::Result TunnelPeek::malformed(const char* why) {
  state_.counters.sni_malformed_total.add();
  error_ = {ErrorKind::bad_request, why};
  return Result::cut;
}

}  // namespace bloomwall::proxy
