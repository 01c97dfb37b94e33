// SPDX-License-Identifier: Apache-2.0
#include "proxy/decision/tls_inspection.h"

#include <algorithm>
#include <chrono>
#include <ctime>
#include <filesystem>
#include <string>
#include <system_error>

#include "base/units.h"
#include "proxy/decision/worker_state.h"
#include "proxy/http/serialise.h"
#include "proxy/log/log.h"
#include "proxy/query_log/log_rules.h"
#include "proxy/tls/authority_faults.h"
#include "proxy/tls/authority_maker.h"
#include "proxy/tls/certificates.h"
#include "proxy/tls/handshake_fault.h"
#include "proxy/tls/pem_files.h"
#include "proxy/upstream/addresses.h"
#include "proxy/upstream/client_limits.h"

namespace bloomwall::proxy {
namespace {

std::string_view without_brackets(std::string_view host) {
  return host.size() > 2 && host.front() == '[' ? host.substr(1, host.size() - 2) : host;
}

// Alerts by which an origin says that it speaks no version, or no cipher, of ours.
bool has_nothing_in_common(std::uint8_t alert) {
  return alert == SSL_AD_HANDSHAKE_FAILURE || alert == SSL_AD_PROTOCOL_VERSION || alert == SSL_AD_INSUFFICIENT_SECURITY;
}

std::string end_of(const X509* certificate) {
  std::string text;
  append_iso8601(text, std::chrono::system_clock::from_time_t(unix_time_of(X509_get0_notAfter(certificate))));
  return text.replace(text.find('.'), std::string::npos, "Z");  // it has no milliseconds
}

// The chain counts as well: it is what clients are sent behind a leaf.
bool are_same(const std::vector<X509Ptr>& some, const std::vector<X509Ptr>& others) {
  return std::ranges::equal(
      some, others, [](const X509Ptr& one, const X509Ptr& other) { return X509_cmp(one.get(), other.get()) == 0; });
}

// How long requests can be looked up in the query log; empty: they are not stored.
std::string kept_for(const conf::Config& settings) {
  if (stored_requests(settings) == conf::QueryLog::Record::off) return {};
  constexpr Milliseconds kDay = std::chrono::hours(24);
  const Milliseconds keep = settings.query_log.keep;
  if (keep % kDay != Milliseconds(0)) return format_duration(keep);
  const auto days = keep / kDay;
  return days == 1 ? "1 day" : std::to_string(days) + " days";
}

OriginTrust trust_of(const conf::Config& settings, std::vector<std::string> own_keys) {
  const conf::OriginTrust& verify = settings.tls_inspection.verify;
  return {.ca_file = verify.ca_file,
          .extra_ca_file = verify.extra_ca_file,
          .intermediates_file = verify.intermediates_file,
          .kept_intermediates = conf::kept_intermediates(settings),
          .crl_file = verify.crl_file,
          .distrust = verify.distrust,
          .trust_exceptions = verify.trust_exceptions,
          .own_keys = std::move(own_keys)};
}

}  // namespace

TlsRequest TlsQuestion::request(const ClientInfo& client, const User* user, WorkerState& worker) const {
  TlsRequest request;
  request.authority.host = host;
  const auto named = worker.decider.host(client, user, host);
  if (named) request.authority = TlsName::of(host, named->verdict);
  request.port = port;
  request.is_self = !is_transparent && host == worker.snapshot->settings.self_page.host;
  request.user_agent = user_agent;
  request.is_transparent = is_transparent;
  if (is_transparent) {
    request.destination.host = destination;
    const auto judged = worker.decider.destination(client, destination);
    if (judged) request.destination = TlsName::of(destination, judged->verdict);
  }
  const IpAddress address = client.endpoint.address();
  const TlsRefusals::Time now = TlsRefusals::Clock::now();
  request.client = address;
  request.page_refused = worker.refusals.page_refused(address, host, now);
  const auto& inspection = worker.snapshot->inspection;
  if (inspection != nullptr && inspection->rules().has_groups()) request.group = worker.decider.group_of(client, user);
  request.may_auto_pass = worker.refusals.may_auto_pass(address, host, now);
  return request;
}

TlsInspection::Made TlsInspection::compile(const conf::Config& settings, const TlsInspection* before) {
  using OnFailure = conf::TlsInspection::OnCaFailure;
  const conf::TlsInspection& section = settings.tls_inspection;
  auto rules = InspectionRules::compile(settings);
  if (!rules) return tl::unexpected(std::move(rules).error());
  if (!rules->is_on()) return nullptr;
  std::shared_ptr<TlsInspection> made(new TlsInspection(*std::move(rules)));
  made->leaf_days_ = section.leaf.days;
  const AuthorityFiles files{section.ca.certificate, section.ca.key, section.ca.passphrase_file, section.ca.next};
  const AuthorityTerms terms{.now = static_cast<std::int64_t>(std::time(nullptr)),
                             .leaf_days = static_cast<int>(section.leaf.days)};
  forbid_core_files();
  auto authority = CertificateAuthority::load(files, terms);
  if (!authority) {
    if (section.on_ca_failure == OnFailure::refuse) {
      return tl::unexpected(std::vector{"tls_inspection.ca: " + authority.error()});
    }
    log::error("tls_inspection.ca: {}; TLS is not inspected (on_ca_failure: off)", authority.error());
    return nullptr;
  }
  const bool is_same = before != nullptr && before->leaf_days_ == section.leaf.days &&
                       are_same(before->mint_->authority()->certificates(), (*authority)->certificates());
  made->mint_ = is_same ? before->mint_ : std::make_shared<const LeafMint>(*authority, terms.leaf_days);
  const auto published = made->publish(files, terms);
  if (!published) return tl::unexpected(std::vector{"tls_inspection.ca: " + published.error()});
  made->page_.kept_for = kept_for(settings);
  made->page_.contact = settings.block_page.contact;
  auto own_keys = own_authority_keys(files, terms);
  if (!own_keys) return tl::unexpected(std::vector{"tls_inspection.ca: " + own_keys.error()});
  auto verifier = OriginVerifier::load(trust_of(settings, *std::move(own_keys)));
  if (!verifier) return tl::unexpected(std::vector{"tls_inspection.verify: " + verifier.error()});
  if (before != nullptr) (*verifier)->learn_from(*before->verifier_);
  made->verifier_ = *std::move(verifier);
  auto clients = TlsContext::for_intercepted();
  if (!clients) return tl::unexpected(std::vector{"tls_inspection: " + clients.error()});
  made->clients_ = *std::move(clients);
  const LeafCache::Limits limits{.entries = section.leaf.cache, .mints_a_second = settings.limits.leaves_per_client};
  made->leaves_ = before != nullptr ? before->leaves_ : std::make_shared<LeafCache>(limits);
  if (before != nullptr) made->leaves_->set_limits(limits);
  return made;
}

// Fills what users install, which is never a private key.
tl::expected<void, std::string> TlsInspection::publish(const AuthorityFiles& files, const AuthorityTerms& terms) {
  using Mode = conf::TlsInspection::Mode;
  const conf::TlsInspection& section = rules_.settings();
  auto published = published_authorities(files, terms);
  if (!published) return tl::unexpected(published.error());
  for (const PublishedAuthority& one : *published) {
    X509* const certificate = one.certificate.get();
    const bool signs = one.role == PublishedAuthority::Role::in_use;  // and may have others above it
    authority_ends_.emplace_back(
        one.role, signs ? mint_->authority()->not_after() : unix_time_of(X509_get0_notAfter(certificate)));
    page_.authorities.push_back({.role = to_string(one.role),
                                 .subject = subject_text(certificate),
                                 .fingerprint = fingerprint_text(fingerprint_of(certificate)),
                                 .ends = end_of(certificate)});
  }
  const Mode mode = rules_.greatest_mode();
  page_.reads = mode == Mode::all    ? AuthorityPage::Reads::all_hosts
                : mode == Mode::urls ? AuthorityPage::Reads::listed_hosts
                                     : AuthorityPage::Reads::blocked_hosts;
  page_.logs_all_urls = section.log_urls == conf::TlsInspection::LogUrls::all;
  pem_ = published_pem(*published);
  der_ = der_of(published->front().certificate.get());
  profile_ = mobile_profile(*published);
  return {};
}

const std::string& TlsInspection::file(AuthorityResource resource) const {
  if (resource == AuthorityResource::der) return der_;
  return resource == AuthorityResource::profile ? profile_ : pem_;
}

std::optional<LeafCache::Answer> TlsInspection::ask_leaf(std::string_view host, const Endpoint& client,
                                                         LeafCache::Done done, LeafKeyType type) const {
  const ClientLimits::Key counted_as = ClientLimits::key_of(client);
  const std::string_view key(reinterpret_cast<const char*>(counted_as.data()), counted_as.size());
  return leaves_->ask(mint_, without_brackets(host), key, LeafCache::Clock::now(), std::move(done), type);
}

// Tickets are good for the same authority and name alone.
TlsIdentity TlsInspection::identity(const Leaf& leaf, std::string& session_context, std::string_view host,
                                    std::string_view alpn) const {
  session_context.clear();
  append_number(session_context, mint_->generation());
  append(session_context, {" ", host});
  return {.leaf = leaf.certificate(),
          .key = leaf.key(),
          .chain = leaf.chain(),
          .session_context = session_context,
          .alpn = alpn};
}

OriginVerifier::Loaded load_origin_verifier(const conf::Config& settings) {
  const conf::TlsInspection& section = settings.tls_inspection;
  const AuthorityFiles files{section.ca.certificate, section.ca.key, {}, section.ca.next};
  const AuthorityTerms terms{.now = static_cast<std::int64_t>(std::time(nullptr)),
                             .leaf_days = static_cast<int>(section.leaf.days)};
  std::vector<std::string> own_keys;
  std::error_code ignored;
  if (std::filesystem::exists(files.certificate, ignored)) {
    auto keys = own_authority_keys(files, terms);
    if (!keys) return tl::unexpected("tls_inspection.ca: " + keys.error());
    own_keys = *std::move(keys);
  }
  auto verifier = OriginVerifier::load(trust_of(settings, std::move(own_keys)));
  if (!verifier) return tl::unexpected("tls_inspection.verify: " + verifier.error());
  return verifier;
}

TlsTarget tls_target(std::string_view host, std::uint16_t port) {
  TlsTarget target;
  target.name = without_brackets(host);
  target.at.assign(host);
  append_port(target.at, port);
  return target;
}

// Before the certificates are known an alert of that kind means versions, ciphers or groups.
HttpError origin_tls_error(const TlsSession& tls) {
  const bool is_about_certificate = tls.is_established() || tls.client_certificate_asked();
  if (!is_about_certificate && has_nothing_in_common(tls.alert_received())) {
    return {ErrorKind::origin_tls, origin_fault(tls)};
  }
  switch (tls.fault()) {
    case TlsSession::Fault::certificate:
      return {ErrorKind::origin_certificate, to_string(tls.certificate_error())};
    case TlsSession::Fault::alert:
      return {ErrorKind::origin_alert,
              tls.client_certificate_asked() ? "the origin wants a client certificate" : origin_fault(tls)};
    case TlsSession::Fault::protocol:
    case TlsSession::Fault::none:
      break;
  }
  return {ErrorKind::origin_tls, origin_fault(tls)};
}

}  // namespace bloomwall::proxy
