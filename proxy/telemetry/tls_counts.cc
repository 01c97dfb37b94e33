// SPDX-License-Identifier: Apache-2.0
#include "proxy/telemetry/tls_counts.h"

#include <algorithm>

namespace bloomwall::proxy {

const char* to_string(TlsSide side) { return side == TlsSide::client ? "client" : "origin"; }

const char* to_string(InterceptionFailure reason) {
  switch (reason) {
    case InterceptionFailure::off:
      return "off";
    case InterceptionFailure::handshakes:
      return "handshakes";
    case InterceptionFailure::no_hello:
      return "no_hello";
    case InterceptionFailure::bad_host:
      return "bad_host";
    case InterceptionFailure::client_rate:
      return "client_rate";
    case InterceptionFailure::overload:
      return "overload";
    case InterceptionFailure::mint:
      return "mint";
    case InterceptionFailure::client_left:
      return "client_left";
  }
  return "unknown";
}

void HandshakeCounts::count_done(bool resumed, std::chrono::microseconds took) {
  done[resumed ? 1 : 0].add();
  const double time = std::chrono::duration<double>(took).count();
  const auto bound = std::lower_bound(kBounds.begin(), kBounds.end(), time);
  seconds[static_cast<std::size_t>(bound - kBounds.begin())].add();
  microseconds.add(static_cast<std::uint64_t>(took.count()));
}

void TlsCounts::add(const TlsCounts& other) {
  for (std::size_t action = 0; action < kActions; ++action) add_table(decisions[action], other.decisions[action]);
  add_table(refusals, other.refusals);
  for (std::size_t side = 0; side < handshakes.size(); ++side) {
    add_table(handshakes[side].done, other.handshakes[side].done);
    add_table(handshakes[side].seconds, other.handshakes[side].seconds);
    handshakes[side].failed.add(other.handshakes[side].failed.get());
    handshakes[side].microseconds.add(other.handshakes[side].microseconds.get());
  }
  add_table(failures, other.failures);
  add_table(certificate_errors, other.certificate_errors);
}

}  // namespace bloomwall::proxy
