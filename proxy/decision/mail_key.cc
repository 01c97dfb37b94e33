// SPDX-License-Identifier: Apache-2.0
#include "proxy/decision/mail_key.h"

#include <algorithm>

#include "base/ip.h"
#include "base/text.h"

namespace bloomwall::proxy {
namespace {

std::string_view literal_host(std::string_view domain) {
  if (!domain.starts_with('[') || !domain.ends_with(']')) return domain;
  domain = domain.substr(1, domain.size() - 2);
  constexpr std::string_view kIpv6Tag = "IPv6:";
  if (equals_ignoring_case(domain.substr(0, kIpv6Tag.size()), kIpv6Tag)) domain.remove_prefix(kIpv6Tag.size());
  return domain;
}

// "john \"x\" doe" with its quotes and backslashes: the octets that it stands for (RFC 5321 section 4.1.2).
std::string unquoted(std::string_view local) {
  if (local.size() < 2 || !local.starts_with('"') || !local.ends_with('"')) return std::string(local);
  std::string out;
  for (std::size_t at = 1; at + 1 < local.size(); ++at) {
    if (local[at] == '\\' && at + 2 < local.size()) ++at;
    out += local[at];
  }
  return out;
}

std::string plain_of(std::string_view key, std::size_t at) {
  std::string plain = at == std::string_view::npos ? std::string() : unquoted(key.substr(0, at)).append("@");
  plain += at == std::string_view::npos ? key : key.substr(at + 1);
  if (plain.size() > 1 && plain.ends_with('.')) plain.pop_back();
  std::ranges::transform(plain, plain.begin(), to_lower);
  return plain == key ? std::string() : plain;
}

}  // namespace

MailKey read_mail_key(std::string_view key) {
  const std::size_t at = key.rfind('@');
  const bool has_domain = at != std::string_view::npos;
  return {.key = key,
          .host = literal_host(has_domain ? key.substr(at + 1) : key),
          .must_name_host = has_domain || (is_old_route(key) && key.find('.') != std::string_view::npos),
          .plain = plain_of(key, at)};
}

std::string plain_under(const MailKey& read, std::string_view canonical) {
  const auto is_ascii = [](char c) { return static_cast<unsigned char>(c) < 0x80; };
  if (std::ranges::all_of(read.host, is_ascii)) return read.plain;
  const std::string_view local = read.plain.empty() ? read.key : std::string_view(read.plain);
  const std::size_t at = local.rfind('@');
  return std::string(at == std::string_view::npos ? std::string_view() : local.substr(0, at + 1)).append(canonical);
}

bool is_old_route(std::string_view host) { return host.find_first_of("!%") != std::string_view::npos; }

bool is_short_address(std::string_view host, std::string_view canonical) {
  if (host.find(':') != std::string_view::npos) return false;  // of IPv6, which has no short forms
  if (host.ends_with('.')) host.remove_suffix(1);
  return IpAddress::parse(canonical) && !IpAddress::parse(host);
}

}  // namespace bloomwall::proxy
