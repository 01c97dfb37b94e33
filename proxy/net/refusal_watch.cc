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

void RefusalWatch::on_established(const TlsSession& tls) {
  established_at_ = TlsRefusals::Clock::now();
  worker_.counters.tls.of(TlsSide::client)
      .count_done(tls.resumed(), std::chrono::duration_cast<std::chrono::microseconds>(*established_at_ - begun_at_));
}

void RefusalWatch::on_request(const TlsSession* tls) {
  worker_.refusals.accept(rule_address(client_.endpoint.unmapped()), host(), TlsRefusals::Clock::now());
  worker_.recount_auto_passes();
  log_->write(tls);
}

// For the log: why there was no request. Empty: it is not known, or needs no word.
std::string_view RefusalWatch::why(const TlsSession* tls, bool is_by_us) const {
  if (tls != nullptr && tls->alert_received() != 0) return "the client ended TLS with an alert";
  if (established_at_) return is_by_us ? std::string_view() : "the client sent no request";
  return is_by_us ? "no handshake with the client" : "the client ended the handshake";
}

void RefusalWatch::on_end(const TlsSession* tls, bool is_by_us) {
  if (!established_at_) worker_.counters.tls.of(TlsSide::client).count_failed();
  log_->note_error(why(tls, is_by_us));
  log_->write(tls);
  const TlsRefusals::Time now = TlsRefusals::Clock::now();
  HandshakeEnd end{
      .is_finished = established_at_.has_value(), .by_us = is_by_us, .hid_its_name = client_.inside->hides_name};
  if (tls != nullptr && tls->alert_received() != 0) end.alert = tls->alert_received();
  if (established_at_)
    end.after_finished = std::chrono::duration_cast<std::chrono::milliseconds>(now - *established_at_);
  const auto signal = refusal_in(end);
  if (!signal) return;
  worker_.counters.tls.count(*signal);
  const auto noted = worker_.refusals.note(rule_address(client_.endpoint.unmapped()), host(), *signal, now);
  worker_.recount_auto_passes();
  if (noted.page_is_refused && worker_.share_page_refusal != nullptr)
    worker_.share_page_refusal(rule_address(client_.endpoint.unmapped()), host());
  if (noted.warn_of_device) {
    log::warning("{} refuses the certificates of tls_inspection.ca, now for {}: it lacks the authority",
                 client_.address, host());
  }
}

}  // namespace bloomwall::proxy
