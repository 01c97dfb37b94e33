// SPDX-License-Identifier: Apache-2.0
#include "proxy/http/request.h"

#include <algorithm>
#include <array>
#include <utility>

#include "proxy/http/octets.h"

namespace bloomwall::proxy {
namespace {

tl::unexpected<HttpError> refuse(std::string_view why) { return tl::unexpected(HttpError{ErrorKind::bad_target, why}); }

// Digits alone, 1..65535; leading zeros as in any decimal number.
bool parse_port(std::string_view text, std::uint16_t& port) {
  if (text.empty() || !all(octets::digit, text)) return false;
  std::uint32_t value = 0;
  for (const char c : text) {
    value = value * 10 + static_cast<std::uint32_t>(c - '0');
    if (value > 65535) return false;
  }
  port = static_cast<std::uint16_t>(value);
  return port != 0;
}

bool is_ip_literal_octet(char c) { return is(octets::hex, c) || c == ':' || c == '.'; }

// Splits "host[:port]"; `port` empty with `colon` set is "host:".
struct Split {
  std::string_view host, port;
  bool colon = false;
};
tl::expected<Split, HttpError> split_authority(std::string_view text) {
  Split split;
  if (text.empty()) return refuse("no host");
  std::size_t end = 0;
  if (text.front() == '[') {
    end = text.find(']');
    if (end == std::string_view::npos) return refuse("an unclosed bracket in the host");
    const std::string_view literal = text.substr(1, end - 1);
    if (literal.empty() || !std::all_of(literal.begin(), literal.end(), is_ip_literal_octet)) {
      return refuse("brackets around something other than an IPv6 address");
    }
    ++end;
  } else {
    end = std::min(text.find(':'), text.size());
    if (end == 0) return refuse("no host");
    if (!all(octets::reg_name, text.substr(0, end))) return refuse("an octet that no host has");
  }
  split.host = text.substr(0, end);
  text.remove_prefix(end);
  if (text.empty()) return split;
  if (text.front() != ':') return refuse("something between host and port");
  split.colon = true;
  split.port = text.substr(1);
  return split;
}

// What stands before "://" if it is a scheme.
bool is_scheme(std::string_view text) {
  if (text.empty() || is(octets::digit, text.front())) return false;
  return std::all_of(text.begin(), text.end(), [](char c) {
    const char low = lower(c);
    return (low >= 'a' && low <= 'z') || is(octets::digit, c) || c == '+' || c == '-' || c == '.';
  });
}

tl::expected<Target, HttpError> parse_absolute(std::string_view raw) {
  Target target{.form = TargetForm::absolute, .raw = raw};
  const std::size_t colon = raw.find("://");
  if (colon == std::string_view::npos || !is_scheme(raw.substr(0, colon))) return refuse("no absolute URL");
  target.scheme = raw.substr(0, colon);
  std::string_view rest = raw.substr(colon + 3);
  const auto end =
      static_cast<std::size_t>(std::ranges::find_if(rest, [](char c) { return c == '/' || c == '?'; }) - rest.begin());
  std::string_view authority = rest.substr(0, end);
  target.path_and_query = rest.substr(end);
  if (const std::size_t at = authority.rfind('@'); at != std::string_view::npos) authority.remove_prefix(at + 1);
  const auto parsed = parse_authority(authority);
  if (!parsed) return tl::unexpected(parsed.error());
  target.authority = *parsed;
  return target;
}

constexpr std::array kMethods{
    std::pair{std::string_view("GET"), Method::get},
    std::pair{std::string_view("POST"), Method::post},
    std::pair{std::string_view("CONNECT"), Method::connect},
    std::pair{std::string_view("HEAD"), Method::head},
    std::pair{std::string_view("PUT"), Method::put},
    std::pair{std::string_view("OPTIONS"), Method::options},
    std::pair{std::string_view("PATCH"), Method::patch},
    std::pair{std::string_view("TRACE"), Method::trace},
    std::pair{std::string_view("DELETE"), Method::delete_resource},
};

}  // namespace

Method method_of(std::string_view token) {
  for (const auto& [name, method] : kMethods) {
    if (name == token) return method;
  }
  return Method::other;
}

bool is_idempotent(Method method) {
  switch (method) {
    case Method::get:
    case Method::head:
    case Method::put:
    case Method::delete_resource:
    case Method::options:
    case Method::trace:
      return true;
    case Method::post:
    case Method::connect:
    case Method::patch:
    case Method::other:
      return false;
  }
  return false;
}

tl::expected<Authority, HttpError> parse_connect_authority(std::string_view text) {
  const auto split = split_authority(text);
  if (!split) return tl::unexpected(split.error());
  Authority authority{split->host, 0};
  if (!split->colon || !parse_port(split->port, authority.port)) return refuse("CONNECT needs a port from 1 to 65535");
  return authority;
}

tl::expected<Authority, HttpError> parse_authority(std::string_view text) {
  const auto split = split_authority(text);
  if (!split) return tl::unexpected(split.error());
  Authority authority{split->host, 0};
  if (!split->port.empty() && !parse_port(split->port, authority.port)) return refuse("a port that is none");
  return authority;
}

tl::expected<Target, HttpError> parse_target(Method method, std::string_view raw) {
  if (raw.empty() || !is_target_text(raw)) return refuse("an octet that no request target has");
  if (method == Method::connect) {
    const auto authority = parse_connect_authority(raw);
    if (!authority) return tl::unexpected(authority.error());
    return Target{.form = TargetForm::authority, .raw = raw, .authority = *authority};
  }
  if (raw.front() == '/') return Target{.form = TargetForm::origin, .raw = raw, .path_and_query = raw};
  if (raw == "*") {
    if (method != Method::options) return refuse("\"*\" is a target for OPTIONS alone");
    return Target{.form = TargetForm::asterisk, .raw = raw};
  }
  return parse_absolute(raw);
}

}  // namespace bloomwall::proxy
