// SPDX-License-Identifier: Apache-2.0
#include "proxy/net/refusal_watch.h"

#include "proxy/log/log.h"
#include "proxy/net/addresses.h"
#include "proxy/net/client_info.h"
#include "proxy/net/worker_state.h"

namespace bloomwall::proxy {

// What CONNECT named: that is what a later decision asks for.
const std::string& RefusalWatch::host() const {
  return client_.inside->authority.empty() ? client_.inside->host : client_.inside->authority;
}

void RefusalWatch::on_request() {
  worker_.refusals.accept(rule_address(client_.endpoint.unmapped()), host(), TlsRefusals::Clock::now());
}

void RefusalWatch::on_end(const TlsSession* tls, bool is_by_us) {
  const TlsRefusals::Time now = TlsRefusals::Clock::now();
  HandshakeEnd end{.is_finished = established_at_.has_value(), .by_us = is_by_us};
  if (tls != nullptr && tls->alert_received() != 0) end.alert = tls->alert_received();
  if (established_at_)
    end.after_finished = std::chrono::duration_cast<std::chrono::milliseconds>(now - *established_at_);
  const auto signal = refusal_in(end);
  if (!signal) return;
  worker_.counters.tls.count(*signal);
  const auto noted = worker_.refusals.note(rule_address(client_.endpoint.unmapped()), host(), *signal, now);
  if (noted.warn_of_device) {
    log::warning("{} refuses the certificates of tls_inspection.ca, now for {}: it lacks the authority",
                 client_.address, host());
  }
}

}  // namespace bloomwall::proxy
