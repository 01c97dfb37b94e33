// SPDX-License-Identifier: Apache-2.0
#include "proxy/net/origin_facts.h"

#include "proxy/http/serialise.h"

namespace bloomwall::proxy {
namespace {

std::string place(std::string_view host, std::uint16_t port) {
  std::string key(host);
  append_port(key, port);
  return key;
}

}  // namespace

void OriginFacts::note(std::string_view host, std::uint16_t port, TlsReason reason, Clock::time_point now) {
  if (reason != TlsReason::client_cert && reason != TlsReason::alpn) return;
  const auto [at, is_new] = facts_.insert_or_assign(place(host, port), Fact{reason, now + kKeep});
  if (!is_new) return;
  order_.push_back(at->first);
  if (order_.size() <= kMost) return;
  facts_.erase(order_.front());
  order_.pop_front();
}

void OriginFacts::fill(TlsRequest& request, std::string_view host, Clock::time_point now) const {
  if (facts_.empty()) return;
  const auto found = facts_.find(place(host, request.port));
  if (found == facts_.end() || found->second.until <= now) return;
  request.origin_wants_certificate = found->second.reason == TlsReason::client_cert;
  request.origin_lacks_http = found->second.reason == TlsReason::alpn;
}

}  // namespace bloomwall::proxy
