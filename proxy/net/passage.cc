// SPDX-License-Identifier: Apache-2.0
#include "proxy/net/passage.h"

#include <fmt/format.h>

#include <algorithm>
#include <span>
#include <utility>

#include "proxy/net/addresses.h"

namespace bloomwall::proxy {
namespace {

constexpr std::uint16_t kHttpPort = 80;
constexpr std::uint16_t kHttpsPort = 443;

// What clients do with the scheme once they have a proxy. ws:// goes through a tunnel as well, in the clear.
bool is_encrypted(std::string_view scheme) { return scheme == "https" || scheme == "wss"; }
bool is_tunnelled(std::string_view scheme) { return is_encrypted(scheme) || scheme == "ws"; }

}  // namespace

tl::expected<PassageJudge, std::string> PassageJudge::compile(const conf::Config& settings) {
  auto access = AccessRules::build(settings.access);
  if (!access) return tl::unexpected(std::move(access).error());
  auto hosts = StaticHosts::build(settings.dns.hosts);
  if (!hosts) return tl::unexpected(std::move(hosts).error());
  return PassageJudge(*std::move(access), *std::move(hosts));
}

Passage PassageJudge::judge(const filter::CanonicalUrl& url, const filter::Policy& policy) {
  Passage passage;
  passage.is_tunnel = is_tunnelled(url.scheme);
  passage.is_encrypted = is_encrypted(url.scheme);
  const auto usual = passage.is_encrypted ? kHttpsPort : kHttpPort;
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
  auto judgement = judge_.request(head, policy, access_);
  if (!judgement) return refuse(judgement.error());
  if (passage.is_tunnel) passage.verdict = std::move(judgement->verdict);
  // Whatever is blocked by its host is not dialled.
  if (passage.verdict.decision != filter::Decision::blocked && is_denied(judgement->host)) {
    return refuse({ErrorKind::destination_denied, "access.deny_destinations"});
  }
  return passage;
}

bool PassageJudge::is_denied(std::string_view host) const {
  if (host.size() > 2 && host.front() == '[') host = host.substr(1, host.size() - 2);
  const auto literal = Endpoint::parse_ip(host);
  const std::span<const Endpoint> known = literal ? std::span<const Endpoint>(&*literal, 1) : hosts_.find(host);
  return !known.empty() && std::ranges::none_of(known, [&](const Endpoint& address) {
    return access_.destination_allowed(rule_address(address));
  });
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
  if (verdict.filter != nullptr) out += fmt::format(" by filter {}", verdict.filter->name);
  if (!verdict.expression.empty()) out += fmt::format(": {} {}", static_cast<char>(verdict.kind), verdict.expression);
  if (verdict.decision != filter::Decision::blocked && passage.is_encrypted) {
    out += "; entries for URLs cannot be asked inside TLS";
  }
  return out + "\n";
}

}  // namespace bloomwall::proxy
