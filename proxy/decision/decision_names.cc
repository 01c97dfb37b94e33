// Requests under every name that they have (name_of.h), and keys that are no URLs (declared in decision.h).
// SPDX-License-Identifier: Apache-2.0
#include <array>
#include <string>
#include <utility>

#include "proxy/decision/decision.h"
#include "proxy/decision/mail_key.h"

namespace bloomwall::proxy {
namespace {

// What an entry blocks that stands for a whole host.
const char* host_block(NameOf name) {
  switch (name) {
    case NameOf::target:
      return "a reload has blocked the host";
    case NameOf::address:
      return "a reload has blocked the address";
    case NameOf::connect:
    case NameOf::server_name:
      return "a reload has blocked the tunnel's host";
  }
  return "a reload has blocked the host";
}

// An address is none of the names that a client asks for.
filter::Verdict without_default_deny(filter::Verdict verdict) {
  if (verdict.reason == filter::VerdictReason::default_deny) {
    verdict.decision = filter::Decision::allowed;
    verdict.reason = filter::VerdictReason::unlisted;
    verdict.filter = nullptr;
  }
  return verdict;
}

// What the request's own check asks about already: the host of its URL, or of the tunnel that it came through.
bool is_asked(const RequestContext& request, std::string_view address) {
  if (const auto& inside = request.client.inside; inside != nullptr) return inside->host == address;
  const RequestHead& head = request.head;
  const bool is_absolute = head.target.form == TargetForm::absolute;
  if (head.target.form == TargetForm::authority || (!is_absolute && !head.host)) return false;
  return (is_absolute ? head.target.authority.host : head.host->host) == address;
}

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

}  // namespace

tl::expected<Decider::OtherNames, HttpError> Decider::judge_other_names(const RequestContext& request,
                                                                        const filter::AskedPolicy& policy) {
  OtherNames others;
  const auto ask = [&](const TunnelTarget& other) -> tl::expected<std::optional<KeptVerdict>, HttpError> {
    auto checked = target_check_.under(request.head, other, policy, Waiting::non_blocking);
    if (!checked) return tl::unexpected(checked.error());
    if (checked->pages_absent) {
      others.pages_absent = true;
      absent_ = target_check_.absent_pages();
      return std::nullopt;
    }
    filter::Verdict verdict = std::move(checked->verdict);
    KeptVerdict kept = other.name == NameOf::address ? without_default_deny(std::move(verdict)) : std::move(verdict);
    kept.name = other.name;
    return std::optional(std::move(kept));
  };
  const ClientInfo::Inside* const inside = request.client.inside.get();
  if (inside != nullptr && !inside->authority.empty()) {
    auto asked = ask({inside->authority, inside->port, inside->scheme, NameOf::connect});
    if (!asked) return tl::unexpected(asked.error());
    others.connect = *std::move(asked);
    if (others.pages_absent) return others;
  }
  const ClientInfo::Destination* const meant = request.client.destination.get();
  if (meant != nullptr && !is_asked(request, meant->address)) {
    const Scheme scheme = inside != nullptr ? inside->scheme : Scheme::http;
    auto asked = ask({meant->address, meant->endpoint.port(), scheme, NameOf::address});
    if (!asked) return tl::unexpected(asked.error());
    others.address = *std::move(asked);
  }
  for (const RequestHead& reading : request.also) {
    auto asked = question_check_.request(reading, policy, snapshot_->access, Waiting::non_blocking);
    if (!asked) return tl::unexpected(asked.error());
    if (asked->pages_absent) {
      others.pages_absent = true;
      absent_ = question_check_.absent_pages();
      return others;
    }
    KeptVerdict kept(std::move(asked->verdict));
    if (others.readings) {
      others.readings->join(std::move(kept));
    } else {
      others.readings = std::move(kept);
    }
  }
  return others;
}

tl::expected<TargetCheck::Sni, HttpError> Decider::destination(const ClientInfo& client, std::string_view address) {
  auto judged = target_check_.sni(address, seen_by(client, nullptr));
  if (judged) judged->verdict = without_default_deny(std::move(judged->verdict));
  return judged;
}

Review Review::blocked(KeptVerdict verdict, const char* why) {
  if (verdict.reason == filter::VerdictReason::denied) why = "an exception denies it";
  return {.act = Act::block, .verdict = std::move(verdict), .why = why};
}

Review Decider::block_url(const TunnelContext& tunnel) {
  const ClientInfo::Inside* const inside = tunnel.client.inside.get();
  const ClientInfo::Destination* const meant = tunnel.client.destination.get();
  struct Name {
    NameOf of;
    std::string_view host = {};
  };
  const std::array names = {
      Name{NameOf::target}, inside == nullptr ? Name{NameOf::target} : Name{inside->name, inside->host},
      Name{NameOf::connect, inside == nullptr ? std::string_view() : std::string_view(inside->authority)},
      Name{NameOf::address, meant == nullptr ? std::string_view() : std::string_view(meant->address)}};
  for (const Name& name : names) {
    if (name.host.empty() && &name != &names.front()) continue;
    auto judged = target_check_.url_at_once(tunnel.url, name.host, seen_by(tunnel.client, tunnel.user.get()));
    if (!judged) {
      absent_ = target_check_.absent_pages();
      return {.act = Review::Act::wait_for_pages};
    }
    if (name.of == NameOf::address) judged = without_default_deny(*std::move(judged));
    if (judged->decision != filter::Decision::blocked) continue;
    KeptVerdict kept = *std::move(judged);
    kept.name = name.of;
    const char* const why = filter::is_path_kind(kept.kind) ? "a reload has blocked the URL" : host_block(name.of);
    return Review::blocked(std::move(kept), why);
  }
  return {};
}

// --- keys that are no URLs

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
  auto asked = target_check_.sni(read.host, seen_by(client, nullptr));
  const bool is_host = asked && !is_old_route(read.host) && !is_short_address(read.host, asked->host);
  if (asked && !is_host) of_key->questions += asked->verdict.questions;
  const std::string plain = is_host ? plain_under(read, asked->host) : read.plain;
  if (!plain.empty()) {
    std::optional<KeptVerdict> of_plain = raw_key(client, plain, {});
    if (!of_plain) return std::nullopt;
    if (is_final(*of_plain)) {
      of_plain->questions += of_key->questions + (is_host ? asked->verdict.questions : 0);
      return of_plain;
    }
    of_key->join(*std::move(of_plain));
  }
  if (!is_host) {
    if (read.must_name_host && !is_blocked(*of_key)) of_key->decision = filter::Decision::rejected;
    return of_key;
  }
  KeptVerdict of_host(std::move(asked->verdict));
  of_host.group = of_key->group;
  // `otherwise: deny` of one half means nothing where the other one is on a white list.
  if (is_admitted(of_host) || is_denied_by_default(*of_key)) {
    of_host.questions += of_key->questions;
    return of_host;
  }
  of_key->join(std::move(of_host));
  return of_key;
}

filter::Policy::RawKeys Decider::raw_keys_of(const ClientInfo& client, std::string_view filter) const {
  return seen_by(client, nullptr).policy.raw_keys_of(filter);
}

}  // namespace bloomwall::proxy
