// SPDX-License-Identifier: Apache-2.0
#include "proxy/access/tls_refusals.h"

#include <algorithm>

#include "base/names.h"

namespace bloomwall::proxy {
namespace {

// Alerts that mean that the certificate was not believed: bad_certificate to certificate_unknown, unknown_ca,
// access_denied; not illegal_parameter (47), handshake_failure (40), protocol_version (70), nor what TLS itself failed
// with.
bool means_distrust(int alert) {
  constexpr int kBadCertificate = 42, kCertificateUnknown = 46, kUnknownCa = 48, kAccessDenied = 49;
  return (alert >= kBadCertificate && alert <= kCertificateUnknown) || alert == kUnknownCa || alert == kAccessDenied;
}

std::size_t mixed(std::size_t hash, std::size_t with) {
  return hash ^ (with + 0x9e3779b97f4a7c15U + (hash << 6) + (hash >> 2));
}

}  // namespace

const char* to_string(RefusalSignal signal) {
  static constexpr auto kWords = name_table<RefusalSignal>(
      {{RefusalSignal::alert, "alert"}, {RefusalSignal::eof, "eof"}, {RefusalSignal::silent, "silent"}});
  return kWords.text(signal);
}

const char* to_string(TlsRefusals::Kind kind) {
  static constexpr auto kWords =
      name_table<TlsRefusals::Kind>({{TlsRefusals::Kind::pins, "pins"}, {TlsRefusals::Kind::no_ca, "no_ca"}});
  return kWords.text(kind);
}

std::optional<RefusalSignal> refusal_in(const HandshakeEnd& end) {
  constexpr std::chrono::seconds kSilence{1};  // a preconnection that idles longer says nothing
  if (end.sent_data || end.by_us) return std::nullopt;
  if (end.alert) return means_distrust(*end.alert) ? std::optional(RefusalSignal::alert) : std::nullopt;
  if (end.hid_its_name) return std::nullopt;
  if (!end.is_finished) return RefusalSignal::eof;
  return end.after_finished < kSilence ? std::optional(RefusalSignal::silent) : std::nullopt;
}

std::size_t TlsRefusals::AddressHash::operator()(const IpAddress& address) const {
  const auto* const text = reinterpret_cast<const char*>(address.octets.data());
  return std::hash<std::string_view>{}({text, address.octets.size()});
}

std::size_t TlsRefusals::PairHash::operator()(const PairView& pair) const {
  return mixed(AddressHash{}(pair.client), std::hash<std::string_view>{}(pair.host));
}

void TlsRefusals::adopt(const conf::AutoPass& rules) {
  rules_ = rules;
  pairs_.clear();
  clients_.clear();
  accepted_.clear();
}

TlsRefusals::Noted TlsRefusals::note(const IpAddress& client, std::string_view host, RefusalSignal signal, Time now) {
  const PairView key{client, host};
  if (accepted_.find(PairHash{}(key)) != nullptr) return {};
  Pair* found = pairs_.find(key);
  Pair& pair = found != nullptr ? *found : pairs_.put({client, std::string(host)}, {});
  pair.last = signal;
  if (is_in_force(pair.refused_at, now)) return {};
  std::erase_if(pair.signals, [now](const Signal& old) { return now - old.when > kWindow; });
  pair.signals.push_back({now, signal == RefusalSignal::alert ? kStrong : kWeak});
  unsigned weight = 0;
  for (const Signal& one : pair.signals) weight += one.weight;
  if (weight >= kStrong && !is_in_force(pair.page_refused_at, now)) pair.page_refused_at = now;
  if (weight < rules_.after * kStrong) return {};
  pair.signals.clear();
  pair.refused_at = now;
  pair.kind = kind_of(client, now);
  return {.is_refused = true, .kind = pair.kind, .warn_of_device = pair.kind == Kind::no_ca && warns(client, now)};
}

std::optional<TlsRefusals::Event> TlsRefusals::learn(const Event& event) {
  if (!event.signal) {
    accept(event.client, event.host, event.when);
    return std::nullopt;
  }
  if (accepted_.find(PairHash{}(PairView{event.client, event.host})) != nullptr) {
    return Event{event.client, event.host, {}, event.when};
  }
  note(event.client, event.host, *event.signal, event.when);
  return std::nullopt;
}

TlsRefusals::Kind TlsRefusals::kind_of(const IpAddress& client, Time now) {
  const Client* const known = clients_.find(client);
  const bool accepts = known != nullptr && known->accepted_at && now - *known->accepted_at < kAcceptanceCounts;
  return accepts ? Kind::pins : Kind::no_ca;
}

bool TlsRefusals::warns(const IpAddress& client, Time now) {
  Client* known = clients_.find(client);
  if (known == nullptr) known = &clients_.put(client, {});
  if (known->warned_at && now - *known->warned_at < kWarnAgain) return false;
  known->warned_at = now;
  return true;
}

bool TlsRefusals::accept(const IpAddress& client, std::string_view host, Time now) {
  const PairView key{client, host};
  const bool was_noted = pairs_.find(key) != nullptr;
  pairs_.erase(key);
  const std::size_t hash = PairHash{}(key);
  if (accepted_.find(hash) == nullptr) accepted_.put(hash, {});
  Client* known = clients_.find(client);
  if (known == nullptr) known = &clients_.put(client, {});
  known->accepted_at = now;
  if (!was_noted && known->told_at && now - *known->told_at < kTellAgain) return false;
  known->told_at = now;
  return true;
}

bool TlsRefusals::page_refused(const IpAddress& client, std::string_view host, Time now) const {
  const Pair* const pair = pairs_.peek(PairView{client, host});
  return pair != nullptr && is_in_force(pair->page_refused_at, now);
}

bool TlsRefusals::passes(const Pair& pair, Time now) const {
  return is_in_force(pair.refused_at, now) && (pair.kind == Kind::pins || rules_.devices);
}

bool TlsRefusals::may_auto_pass(const IpAddress& client, std::string_view host, Time now) {
  if (rules_.hosts == conf::AutoPass::Hosts::off) return false;
  const Pair* const pair = pairs_.find(PairView{client, host});
  return pair != nullptr && passes(*pair, now);
}

std::vector<TlsRefusals::Row> TlsRefusals::refused(Time now) const {
  std::vector<Row> rows;
  for (const auto& [key, pair] : pairs_.all()) {
    if (!is_in_force(pair.refused_at, now)) continue;
    rows.push_back(
        {.client = key.client, .host = key.host, .kind = pair.kind, .signal = pair.last, .since = *pair.refused_at});
  }
  return rows;
}

std::size_t TlsRefusals::auto_pass_entries(Time now) const {
  if (rules_.hosts == conf::AutoPass::Hosts::off) return 0;
  return static_cast<std::size_t>(
      std::ranges::count_if(pairs_.all(), [&](const auto& item) { return passes(item.second, now); }));
}

}  // namespace bloomwall::proxy
