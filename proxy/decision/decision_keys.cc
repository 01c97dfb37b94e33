// Keys that are no URLs (declared in decision.h).
// SPDX-License-Identifier: Apache-2.0
#include <utility>

#include "proxy/decision/decision.h"
#include "proxy/decision/mail_key.h"

namespace bloomwall::proxy {
namespace {

bool is_admitted(const filter::Verdict& verdict) {
  return verdict.decision != filter::Decision::blocked &&
         (verdict.reason == filter::VerdictReason::allow_filter ||
          verdict.reason == filter::VerdictReason::allow_list || verdict.reason == filter::VerdictReason::excepted);
}

bool is_denied_by_default(const filter::Verdict& verdict) {
  return verdict.reason == filter::VerdictReason::default_deny;
}

// A list holds or denies the key itself.
bool is_final(const filter::Verdict& verdict) {
  return is_admitted(verdict) || (is_blocked(verdict) && !is_denied_by_default(verdict));
}

// What uses ! or % for the address of a host beyond this one is read by some servers and not by others.
bool is_old_route(std::string_view host) { return host.find_first_of("!%") != std::string_view::npos; }

}  // namespace

std::optional<KeptVerdict> Decider::raw_key(const ClientInfo& client, std::string_view key, std::string_view filter) {
  const std::size_t group = group_of(client, nullptr);
  auto verdict = seen_by(client, nullptr, group).policy.judge_raw_at_once(key, filter, absent_of_key_);
  absent_ = absent_of_key_;
  if (!verdict) return std::nullopt;
  KeptVerdict kept(*std::move(verdict));
  if (group_policies_ != nullptr) kept.group = groups()->name(group);
  return kept;
}

std::optional<KeptVerdict> Decider::mail_key(const ClientInfo& client, std::string_view key) {
  const MailKey read = read_mail_key(key);
  std::optional<KeptVerdict> of_key = raw_key(client, key, {});
  if (!of_key || is_final(*of_key)) return of_key;
  if (!read.plain.empty()) {
    std::optional<KeptVerdict> of_plain = raw_key(client, read.plain, {});
    if (!of_plain) return std::nullopt;
    const bool counts = is_final(*of_plain);
    of_plain->questions += of_key->questions;
    if (counts) return of_plain;
    of_key->join(*std::move(of_plain));
  }
  auto asked = target_check_.sni(read.host, seen_by(client, nullptr));
  if (!asked || is_old_route(read.host)) {
    if (read.names_host && !is_blocked(*of_key)) of_key->decision = filter::Decision::rejected;
    return of_key;
  }
  KeptVerdict of_host(std::move(asked->verdict));
  of_host.group = of_key->group;
  of_host.questions += of_key->questions;
  // `otherwise: deny` of one half means nothing where the other one is on a white list.
  if (is_admitted(of_host) || is_denied_by_default(*of_key)) return of_host;
  of_key->join(std::move(of_host));
  return of_key;
}

filter::Policy::RawKeys Decider::raw_keys_of(const ClientInfo& client, std::string_view filter) const {
  return seen_by(client, nullptr).policy.raw_keys_of(filter);
}

}  // namespace bloomwall::proxy
