// SPDX-License-Identifier: Apache-2.0
#include "conf/forms.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>

#include "base/ip.h"
#include "base/text.h"
#include "base/time_zone.h"
#include "base/units.h"
#include "conf/schedule_text.h"

namespace bloomwall::conf {
namespace {

using Checked = tl::expected<void, std::string>;
Checked good_if(bool good) { return good ? Checked{} : tl::unexpected(std::string()); }

bool is_word(char c) { return is_alpha(c) || is_digit(c); }

bool is_port(std::string_view text, std::uint64_t smallest) {
  const auto port = text.size() <= 5 ? parse_integer(text) : std::nullopt;
  return port && *port >= smallest && *port <= 65535;
}

// "host:port" or "[ip6]:port" taken apart; an IPv6 address without brackets is none.
struct HostPort {
  std::string_view host, port;
  bool bracketed = false;
};
std::optional<HostPort> split(std::string_view text) {
  if (text.starts_with('[')) {
    const auto end = text.find("]:");
    if (end == std::string_view::npos) return std::nullopt;
    return HostPort{text.substr(1, end - 1), text.substr(end + 2), true};
  }
  const auto colon = text.find(':');
  if (colon == std::string_view::npos || text.find(':', colon + 1) != std::string_view::npos) return std::nullopt;
  return HostPort{text.substr(0, colon), text.substr(colon + 1)};
}

bool is_ip_port(std::string_view text, std::uint64_t smallest_port) {
  const auto parts = split(text);
  if (!parts || !is_port(parts->port, smallest_port)) return false;
  const bool is_v6 = parts->host.find(':') != std::string_view::npos;
  return is_v6 == parts->bracketed && IpAddress::parse(parts->host);
}

Checked check_listen_address(std::string& value) {
  if (value.starts_with(':')) return good_if(is_port(std::string_view(value).substr(1), 0));
  return good_if(is_ip_port(value, 0));
}

// A path must fit into a sockaddr_un, whose end is a NUL.
Checked check_answers_address(std::string& value) {
  constexpr std::string_view kUnix = "unix:";
  constexpr std::size_t kMostPath = 107;
  if (!value.starts_with(kUnix)) return check_listen_address(value);
  const std::string_view path = std::string_view(value).substr(kUnix.size());
  if (path.size() > kMostPath) return tl::unexpected(std::string("the path of a unix socket has at most 107 octets"));
  return good_if(path.size() > 1 && path.starts_with('/') && !path.ends_with('/'));
}

// A longer one would be cut behind its names (kMostTableText).
Checked check_found_text(std::string& value) {
  const auto is_shown = [](char c) { return c >= ' ' && c < 0x7f; };
  return good_if(!value.empty() && value.size() <= 500 && value.front() != ' ' && std::ranges::all_of(value, is_shown));
}

Checked check_dns_server(std::string& value) { return good_if(is_ip(value) || is_ip_port(value, 1)); }

Checked check_host_port(std::string& value) {
  const auto parts = split(value);
  if (!parts || !is_port(parts->port, 1)) return good_if(false);
  return good_if(is_ip_port(value, 1) || (!parts->bracketed && is_host_name(parts->host)));
}

Checked check_pac_proxy(std::string& value) {
  constexpr std::string_view kSecure = "https://";
  make_lower(value);
  const bool is_secure = value.starts_with(kSecure);
  std::string address = value.substr(is_secure ? kSecure.size() : 0);
  return check_host_port(address);
}

Checked check_network(std::string& value) {
  const std::size_t slash = std::min(value.find('/'), value.size());
  const auto address = IpAddress::parse_host(std::string_view(value).substr(0, slash));
  if (!address) return good_if(false);
  const auto network = IpNetwork::parse(value);
  if (!network) {
    const bool is_v6 = value.find(':') != std::string::npos;
    return tl::unexpected(fmt::format("the length behind / goes from 0 to {}", is_v6 ? 128 : 32));
  }
  if (network->base == *address) return {};
  return tl::unexpected(fmt::format("bits are set beyond the prefix; the network is {}", network->text()));
}

Checked check_destination(std::string& value) {
  constexpr std::string_view kGroups[] = {"loopback",  "private",     "link_local", "shared",
                                          "multicast", "unspecified", "reserved"};
  if (std::ranges::find(kGroups, value) != std::end(kGroups)) return {};
  return check_network(value);
}

Checked check_nat64_prefix(std::string& value) {
  constexpr std::string_view kLengths[] = {"/32", "/40", "/48", "/56", "/64", "/96"};
  const auto slash = value.find('/');
  if (value.find(':') == std::string::npos || slash == std::string::npos) return good_if(false);
  if (std::ranges::find(kLengths, std::string_view(value).substr(slash)) == std::end(kLengths)) return good_if(false);
  return check_network(value);
}

Checked check_host_name(std::string& value) {
  make_lower(value);
  return good_if(is_host_name(value));
}

// A name whose last label is a number is an address in one of its spellings (WHATWG URL, "ends in a number").
bool ends_in_number(std::string_view name) {
  if (const auto dot = name.rfind('.'); dot != std::string_view::npos) name.remove_prefix(dot + 1);
  return name.starts_with("0x") ? std::ranges::all_of(name.substr(2), is_hex) : std::ranges::all_of(name, is_digit);
}

Checked check_resolved_name(std::string& value) {
  if (auto checked = check_host_name(value); !checked) return checked;
  return good_if(!ends_in_number(value));
}

// What is half a network is none, and no name either: a name that ends in a number is an address to some.
Checked check_bypass(std::string& value) {
  const bool like_network =
      value.find_first_of(":/") != std::string::npos || value.find_first_not_of("0123456789.") == std::string::npos;
  return like_network ? check_network(value) : check_host_name(value);
}

Checked check_label(std::string& value) {
  const auto allowed = [](char c) { return is_word(c) || c == '.' || c == '_' || c == '-'; };
  return good_if(!value.empty() && value.size() <= 64 && std::ranges::all_of(value, allowed));
}

// Names come from a users file or a directory: any octets but those that separate there.
bool is_login_name(std::string_view text, std::size_t most, std::string_view never) {
  const auto forbidden = [&](char c) {
    return static_cast<unsigned char>(c) < 0x20 || c == 0x7f || never.find(c) != std::string_view::npos;
  };
  return !text.empty() && text.size() <= most && trim(text) == text && std::ranges::none_of(text, forbidden);
}
Checked check_user(std::string& value) { return good_if(is_login_name(value, 255, ":")); }
Checked check_user_group(std::string& value) { return good_if(is_login_name(value, 64, ":,")); }

Checked check_device_name(std::string& value) { return good_if(is_login_name(value, 64, "")); }

Checked check_certificate_name(std::string& value) {
  const std::string_view kind = std::string_view(value).substr(0, value.find(':'));
  const bool is_known = kind == "cn" || kind == "dns" || kind == "uri" || kind == "email";
  if (!is_known || kind.size() == value.size()) return good_if(false);
  if (kind == "dns") make_lower(value);
  const auto is_control = [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; };
  const std::string_view name = std::string_view(value).substr(kind.size() + 1);
  return good_if(!name.empty() && name.size() <= 255 && std::ranges::none_of(name, is_control));
}
Checked check_scheme(std::string& value) {
  make_lower(value);
  return good_if(value == "negotiate" || value == "basic");
}
Checked check_argument(std::string& value) {
  const auto is_control = [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; };
  return good_if(!value.empty() && value.size() <= 4096 && std::ranges::none_of(value, is_control));
}

Checked check_realm(std::string& value) {
  const auto allowed = [](char c) { return is_word(c) || c == ' ' || c == '.' || c == '_' || c == '-'; };
  const bool is_sized = !value.empty() && value.size() <= 64;
  return good_if(is_sized && value.front() != ' ' && value.back() != ' ' && std::ranges::all_of(value, allowed));
}

Checked check_token(std::string& value) {
  constexpr std::string_view kMarks = "!#$%&'*+-.^_`|~";
  const auto allowed = [&](char c) { return is_word(c) || kMarks.find(c) != std::string_view::npos; };
  return good_if(!value.empty() && value.size() <= 64 && std::ranges::all_of(value, allowed));
}

// What may stand in a URL, with braces for the places that are filled in.
bool is_url(std::string_view text, std::string_view scheme) {
  constexpr std::string_view kNever = "\"<>\\^`|";
  const auto allowed = [&](char c) { return c > ' ' && c < 0x7f && kNever.find(c) == std::string_view::npos; };
  return text.starts_with(scheme) && text.size() > scheme.size() && text.size() <= 2000 &&
         std::ranges::all_of(text, allowed);
}
bool is_http_url(std::string_view text) { return is_url(text, "https://") || is_url(text, "http://"); }

bool is_mail_address(std::string_view text) {
  const auto at = text.find('@');
  return at != std::string_view::npos && at > 0 && is_url(text, "") && is_host_name(text.substr(at + 1));
}

Checked check_contact(std::string& value) {
  return good_if(value.empty() || is_http_url(value) || is_mail_address(value));
}
Checked check_report_url(std::string& value) {
  return good_if(value.empty() || is_http_url(value) || is_url(value, "mailto:"));
}
Checked check_key_hash(std::string& value) {
  make_lower(value);
  return good_if(value.size() == 64 && std::ranges::all_of(value, is_hex));
}
Checked check_http_url(std::string& value) { return good_if(value.empty() || is_http_url(value)); }
Checked check_list_url(std::string& value) {
  return good_if(is_http_url(value) && value.find('#') == std::string::npos);
}
Checked check_certificates_url(std::string& value) {
  if (value.find("://") == std::string::npos)
    return good_if(value.starts_with('/') && value.find('\0') == std::string::npos);
  const std::string_view rest = std::string_view(value).substr(value.find("://") + 3);
  const bool has_login = rest.substr(0, rest.find('/')).find('@') != std::string_view::npos;
  return has_login ? Checked(tl::unexpected(std::string("a login would show in logs"))) : check_list_url(value);
}
Checked check_list_format(std::string& value) {
  constexpr std::string_view kNames =
      "auto domains hosts wildcard adblock dnsmasq unbound rpz squidguard-domains squidguard-urls "
      "squidguard-expressions urls csv privoxy mixed networks json-lines";
  for (std::string_view rest = kNames, name; !(name = next_word(rest)).empty();) {
    if (name == value) return {};
  }
  return tl::unexpected(fmt::format("there are {}", kNames));
}
bool has_controls(std::string_view text) {
  return std::ranges::any_of(text, [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; });
}
Checked check_category(std::string& value) {
  const bool is_path = !value.starts_with('/') && !value.ends_with('/') && value.find("//") == std::string::npos;
  return good_if(!value.empty() && value.size() <= 200 && is_path && !has_controls(value));
}
Checked check_column(std::string& value) {
  return good_if(!value.empty() && value != "0" && value.size() <= 200 && !has_controls(value));
}
Checked check_canary(std::string& value) { return is_http_url(value) ? Checked{} : check_host_name(value); }
Checked check_update_proxy(std::string& value) {
  if (value == "direct") return {};
  if (!is_http_url(value)) return good_if(false);
  std::string rest = value.substr(value.find("://") + 3);
  if (rest.ends_with('/')) rest.pop_back();
  return check_host_port(rest);
}
Checked check_ip(std::string& value) { return good_if(is_ip(value)); }

Checked check_times(std::string& value) {
  const auto range = parse_time_range(value);
  return range ? Checked{} : tl::unexpected(range.error());
}
Checked check_dates(std::string& value) {
  const auto range = parse_date_range(value);
  return range ? Checked{} : tl::unexpected(range.error());
}
Checked check_zone(std::string& value) { return good_if(value != "system" && TimeZone::find(value).has_value()); }
Checked check_time_zone(std::string& value) { return value == "system" ? Checked{} : check_zone(value); }

}  // namespace

bool is_ip(std::string_view text) { return IpAddress::parse(text).has_value(); }

bool is_of_this_host(std::string_view address) {
  const auto parts = split(address);
  const auto ip = parts ? IpAddress::parse(parts->host) : std::nullopt;
  if (!ip) return false;
  return ip->is_v4() ? ip->octets[12] == 127 : ip == IpAddress::parse("::1");
}

bool is_host_name(std::string_view text) {
  if (text.empty() || text.size() > 253) return false;
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find('.', begin), text.size());
    const std::string_view label = text.substr(begin, end - begin);
    const auto allowed = [](char c) { return is_word(c) || c == '-' || c == '_'; };
    if (label.empty() || label.size() > 63 || !std::ranges::all_of(label, allowed)) return false;
    begin = end + 1;
  }
  return true;
}

const Form kListenAddress{"ip:port, [ip6]:port or :port, such as 127.0.0.1:3128", check_listen_address};
const Form kAnswersAddress{"ip:port, [ip6]:port, :port or unix:/path, such as 127.0.0.1:3130", check_answers_address};
const Form kFoundText{"an action of Postfix's access(5): 1 to 500 printable characters of ASCII", check_found_text};
const Form kDnsServer{"ip, ip:port or [ip6]:port", check_dns_server};
const Form kHostPort{"host:port, such as proxy.example.com:3128", check_host_port};
const Form kPacProxy{"host:port, or https://host:port of a listener with tls", check_pac_proxy};
const Form kNetwork{"an address or a network, such as 10.0.0.0/8 or fd00::/8", check_network};
const Form kDestination{
    "loopback, private, link_local, shared, multicast, unspecified, reserved, an address or a network",
    check_destination};
const Form kNat64Prefix{"an IPv6 network of 32, 40, 48, 56, 64 or 96 bits, such as 64:ff9b:1::/48", check_nat64_prefix};
const Form kBypass{"a host name in ASCII (xn-- for others), an address or a network", check_bypass};
const Form kHostName{"a host name in ASCII (xn-- for others)", check_host_name};
const Form kResolvedName{"a host name in ASCII (xn-- for others), not an address", check_resolved_name};
const Form kIp{"an IP address", check_ip};
const Form kLabel{"1 to 64 of A-Z a-z 0-9 . _ -", check_label};
const Form kEngine{"an engine of safe_search_map", check_label};
const Form kUser{"the name of a user: 1 to 255 octets, no colon, no blank at either end", check_user};
const Form kUserGroup{"a group of users: 1 to 64 octets, no colon or comma, no blank at either end", check_user_group};
const Form kDeviceName{"a name for people: 1 to 64 octets, no blank at either end", check_device_name};
const Form kRealm{"1 to 64 letters, digits, blanks or .-_", check_realm};
const Form kCertificateName{"cn:NAME, dns:NAME, uri:URI or email:NAME", check_certificate_name};
const Form kScheme{"negotiate or basic", check_scheme};
const Form kArgument{"a path and its arguments", check_argument};
const Form kToken{"1 to 64 letters, digits or !#$%&'*+-.^_`|~", check_token};
const Form kContact{"a mail address, an http(s) URL or \"\"", check_contact};
const Form kReportUrl{"an http(s) URL, a mailto URL or \"\"", check_report_url};
const Form kKeyHash{"the SHA-256 of a public key in 64 hexadecimal digits", check_key_hash};
const Form kHttpUrl{"an http(s) URL or \"\"", check_http_url};
const Form kListUrl{"an https URL, an http URL with sha256, or a path", check_list_url};
const Form kCertificatesUrl{"an http(s) URL or an absolute path", check_certificates_url};
const Form kListFormat{"auto or a format, such as hosts or adblock", check_list_format};
const Form kCategory{"the name of a category as its folder has it, such as adult or hobby/cooking", check_category};
const Form kColumn{"the number of a column from 1, or its name in the header", check_column};
const Form kSha256{"64 hexadecimal digits", check_key_hash};
const Form kCanary{"a host name in ASCII (xn-- for others) or an http(s) URL", check_canary};
const Form kUpdateProxy{"direct, or http:// or https:// with host:port", check_update_proxy};
const Form kTimes{"days and times such as mon-fri 08:00-12:30, fri 22:00-06:00 or sat,sun", check_times};
const Form kDates{"dates such as 2026-12-24, 2026-12-21..2027-01-08 or 12-24", check_dates};
const Form kZone{"a time zone such as Europe/Berlin", check_zone};
const Form kTimeZone{"system, or a time zone such as Europe/Berlin", check_time_zone};

}  // namespace bloomwall::conf
