// SPDX-License-Identifier: Apache-2.0
#include "proxy/net/hello_gate.h"

#include <utility>

#include "proxy/log/log.h"

namespace bloomwall::proxy {

HelloGate::Result HelloGate::feed(std::span<const char> bytes, std::string_view authority, const Snapshot& snapshot) {
  if (!held_.append(bytes)) {
    why_ = "no memory left for buffers";
    return Result::cut;
  }
  switch (reader_.feed(bytes)) {
    case HelloResult::need_more:
      return Result::wait;
    case HelloResult::not_tls:
      return Result::pass;
    case HelloResult::no_name:
      state_.counters.sni_absent_total.add();
      return Result::pass;
    case HelloResult::name:
      return judge(authority, snapshot);
    case HelloResult::malformed:
      state_.counters.sni_malformed_total.add();
      why_ = reader_.why();
      return Result::cut;
  }
  return Result::cut;
}

HelloGate::Result HelloGate::judge(std::string_view authority, const Snapshot& snapshot) {
  state_.counters.sni_seen_total.add();
  auto judged = state_.judge.sni(reader_.name(), *snapshot.policy);
  if (!judged) {
    why_ = "a server name that no host can have";
    return Result::cut;
  }
  has_name_ = true;
  host_ = judged->host;
  verdict_ = std::move(judged->verdict);
  state_.counters.filter_lookups_total.add(verdict_.questions);
  if (verdict_.decision == filter::Decision::blocked) {
    why_ = "the server name is blocked";
    return Result::cut;
  }
  if (host_ == authority) return Result::pass;
  state_.counters.sni_mismatch_total.add();
  switch (snapshot.settings.access.sni_mismatch) {
    case conf::Access::SniMismatch::allow:
      return Result::pass;
    case conf::Access::SniMismatch::log:
      log::warning("tunnel to {}: the ClientHello names {}", authority, host_);
      return Result::pass;
    case conf::Access::SniMismatch::deny:
      why_ = "the server name is not the tunnel's host";
      return Result::cut;
  }
  return Result::cut;
}

}  // namespace bloomwall::proxy
