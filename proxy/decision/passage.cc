// SPDX-License-Identifier: Apache-2.0
#include "proxy/decision/passage.h"

#include <fmt/format.h>

#include <algorithm>
#include <span>
#include <utility>

#include "proxy/upstream/addresses.h"

namespace bloomwall::proxy {
namespace {

// What clients do with the scheme once they have a proxy. ws:// goes through a tunnel as well, in the clear.
bool is_encrypted(std::string_view scheme) { return scheme == "https" || scheme == "wss"; }
bool is_tunnelled(std::string_view scheme) { return is_encrypted(scheme) || scheme == "ws"; }

// Whether the port that a URL names is 0, which its canonical form can't say. Read as browsers read what people type.
bool names_port_zero(std::string_view raw) {
  std::string text;
  for (const char c : raw) {
    if (static_cast<unsigned char>(c) > ' ') text.push_back(c);
  }
  const std::size_t scheme = text.find(':');
  std::size_t begin = scheme != std::string::npos && text.find_first_of("/\\", scheme) == scheme + 1 ? scheme + 1 : 0;
  begin = std::min(text.find_first_not_of("/\\", begin), text.size());
  std::string_view authority = std::string_view(text).substr(begin);
  authority = authority.substr(0, authority.find_first_of("/\\?#"));
  if (const std::size_t at = authority.rfind('@'); at != std::string_view::npos) authority.remove_prefix(at + 1);
  const std::size_t colon = authority.rfind(':');
  if (colon == std::string_view::npos || authority.find(']', colon) != std::string_view::npos) return false;
  const std::string_view port = authority.substr(colon + 1);
  return !port.empty() && port.find_first_not_of('0') == std::string_view::npos;
}

OwnAddresses own_addresses(const conf::Config& settings) {
  OwnAddresses own;
  const auto add = [&](const std::string& address) {
    if (const auto endpoint = Endpoint::parse(address); endpoint && endpoint->port() != 0) own.add(*endpoint);
  };
  for (const conf::Listener& listener : settings.listeners) add(listener.address);
  if (settings.admin.address) add(*settings.admin.address);
  return own;
}

}  // namespace

tl::expected<PassageJudge, std::string> PassageJudge::compile(const conf::Config& settings) {
  auto access = AccessRules::build(settings.access, settings.dns.nat64_prefixes);
  if (!access) return tl::unexpected(std::move(access).error());
  auto hosts = StaticHosts::build(settings.dns.hosts);
  if (!hosts) return tl::unexpected(std::move(hosts).error());
  return of(settings, *std::move(access), *std::move(hosts));
}

tl::expected<PassageJudge, std::string> PassageJudge::of(const conf::Config& settings, AccessRules access,
                                                         StaticHosts hosts) {
  std::optional<BypassList> direct;
  if (settings.upstream.parent) {
    auto bypass = BypassList::build(settings.upstream.bypass);
    if (!bypass) return tl::unexpected("upstream.bypass: " + bypass.error());
    direct = *std::move(bypass);
  }
  return PassageJudge(std::move(access), std::move(hosts), own_addresses(settings), std::move(direct));
}

Passage PassageJudge::judge(std::string_view raw_url, const filter::CanonicalUrl& url,
                            const filter::AskedPolicy& policy, std::string_view dialled) {
  Passage passage;
  passage.is_tunnel = is_tunnelled(url.scheme);
  passage.is_encrypted = is_encrypted(url.scheme);
  const auto usual = names_port_zero(raw_url) ? std::uint16_t{0} : passage.is_encrypted ? kHttpsPort : kHttpPort;
  const std::string authority = fmt::format("{}:{}", url.host, url.port == 0 ? usual : url.port);
  if (passage.is_tunnel) passage.target = authority;
  const std::string raw = passage.is_tunnel ? authority : fmt::format("{}://{}/", url.scheme, authority);

  RequestHead head;
  head.method = passage.is_tunnel ? Method::connect : Method::get;
  const auto refuse = [&](const HttpError& error) {
    passage.status = facts(error.kind).status;
    passage.error = to_string(error.kind);
    passage.why = error.detail;
    return passage;
  };
  auto target = parse_target(head.method, raw);
  if (!target) return refuse(target.error());
  head.target = *target;
  auto checked = target_check_.request(head, policy, access_);
  if (!checked) return refuse(checked.error());
  if (passage.is_tunnel) passage.verdict = std::move(checked->verdict);
  // A blocked host is not dialled, so its address is not checked.
  if (passage.verdict.decision == filter::Decision::blocked) return passage;
  const auto refusal = refuse_address(dialled.empty() ? checked->host : dialled, checked->port);
  return refusal ? refuse(*refusal) : passage;
}

// The checks that Connector makes before it dials; a parent is not asked for a denied address either.
std::optional<HttpError> PassageJudge::refuse_address(std::string_view host, std::uint16_t port) const {
  const bool to_parent = direct_ && !direct_->contains(host);
  if (host.size() > 2 && host.front() == '[') host = host.substr(1, host.size() - 2);
  const auto literal = Endpoint::parse_ip(host);
  const std::span<const Endpoint> known = literal ? std::span<const Endpoint>(&*literal, 1) : hosts_.find(host);
  bool is_denied = false, is_own = false, is_open = false;
  for (const Endpoint& address : known) {
    const bool own = !to_parent && own_.contains(address.with_port(port));
    const bool denied = !own && !access_.destination_allowed(address.address());
    is_own |= own;
    is_denied |= denied;
    is_open |= !own && !denied;
  }
  if (is_open && !(to_parent && is_denied)) return std::nullopt;
  if (is_own) return HttpError{ErrorKind::loop, "the address is that of the proxy itself"};
  if (is_denied) return HttpError{ErrorKind::destination_denied, "access.deny_destinations"};
  return std::nullopt;
}

std::string passage_text(const Passage& passage) {
  if (!passage.is_tunnel) {
    return passage.status == 0
               ? std::string()
               : fmt::format("refused all the same: status {} {}: {}\n", passage.status, passage.error, passage.why);
  }
  std::string out = fmt::format("through a tunnel: CONNECT {} is ", passage.target);
  if (passage.status != 0) {
    return out + fmt::format("refused, status {} {}: {}\n", passage.status, passage.error, passage.why);
  }
  const filter::Verdict& verdict = passage.verdict;
  out += fmt::format("{} ({})", filter::to_string(verdict.decision), filter::to_string(verdict.reason));
  const bool is_by_filter = verdict.filter != nullptr && verdict.reason != filter::VerdictReason::default_deny;
  if (is_by_filter) out += fmt::format(" by filter {}", verdict.filter->name);
  if (!verdict.expression.empty()) out += fmt::format(": {} {}", static_cast<char>(verdict.kind), verdict.expression);
  if (verdict.decision != filter::Decision::blocked && passage.is_encrypted && !passage.is_decrypted) {
    out += "; entries for URLs cannot be asked inside TLS";
  }
  return out + "\n";
}

}  // namespace bloomwall::proxy
