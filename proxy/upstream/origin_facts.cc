// SPDX-License-Identifier: Apache-2.0
#include "proxy/upstream/origin_facts.h"

#include <utility>

#include "proxy/http/serialise.h"

namespace bloomwall::proxy {
namespace {

constexpr std::string_view kHttp11 = "http/1.1 alone";  // no list that is offered

// `alpn`: empty for the client certificate.
std::string fact_of(std::string_view host, std::uint16_t port, std::string_view alpn) {
  std::string fact(host);
  append_port(fact, port);
  if (!alpn.empty()) append(fact, {" ", alpn});
  return fact;
}

}  // namespace

void OriginFacts::note_client_certificate(std::string_view host, std::uint16_t port, Clock::time_point now) {
  note(fact_of(host, port, {}), now);
}

void OriginFacts::note_no_http(std::string_view host, std::uint16_t port, std::string_view alpn,
                               Clock::time_point now) {
  note(fact_of(host, port, alpn), now);
}

void OriginFacts::note_http11(std::string_view host, std::uint16_t port, Clock::time_point now) {
  note(fact_of(host, port, kHttp11), now);
}

bool OriginFacts::wants_http11(std::string_view host, std::uint16_t port, Clock::time_point now) const {
  return !facts_.empty() && is_known(fact_of(host, port, kHttp11), now);
}

void OriginFacts::note(std::string fact, Clock::time_point now) {
  const auto [at, is_new] = facts_.insert_or_assign(std::move(fact), now + kKeep);
  if (!is_new) return;
  order_.push_back(at->first);
  if (order_.size() <= kMost) return;
  facts_.erase(order_.front());
  order_.pop_front();
}

bool OriginFacts::is_known(const std::string& fact, Clock::time_point now) const {
  const auto found = facts_.find(fact);
  return found != facts_.end() && found->second > now;
}

void OriginFacts::fill(TlsRequest& request, std::string_view host, Clock::time_point now) const {
  if (facts_.empty()) return;
  request.origin_wants_certificate = is_known(fact_of(host, request.port, {}), now);
  request.origin_lacks_http =
      request.hello && is_known(fact_of(host, request.port, request.hello->alpn_to_origin), now);
}

}  // namespace bloomwall::proxy
