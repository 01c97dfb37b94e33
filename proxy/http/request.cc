// SPDX-License-Identifier: Apache-2.0

#include "proxy/http/request.h"

#include <algorithm>
#include <array>
#include <limits>
#include <utility>

#include "proxy/http/body_reader.h"
#include "proxy/http/fields.h"
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
  if (!split->port.empty() && !parse_port(split->port, authority.port)) return refuse("an invalid port");
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

namespace {

using MaybeError = std::optional<HttpError>;
constexpr std::size_t kLongestMethod = 64;

// "HTTP/1.x": minor versions above 1 are spoken to as 1.1 (RFC 9110 section 2.5).
MaybeError parse_version(std::string_view text, Version& version) {
  if (text.size() != 8 || !text.starts_with("HTTP/") || text[6] != '.' || !is(octets::digit, text[5]) ||
      !is(octets::digit, text[7])) {
    return bad_request("malformed HTTP version");
  }
  if (text[5] != '1') return HttpError{ErrorKind::version_unsupported, "a major version other than 1"};
  version = text[7] == '0' ? Version::http10 : Version::http11;
  return std::nullopt;
}

MaybeError parse_request_line(std::string_view line, RequestHead& head) {
  if (line == "PRI * HTTP/2.0") return HttpError{ErrorKind::http2_preface, "HTTP/2 without TLS"};
  const std::size_t first = line.find(' ');
  const std::size_t last = line.rfind(' ');
  if (first == std::string_view::npos || first == last) return bad_request("a request line without three parts");
  head.method_name = line.substr(0, first);
  if (!is_token(head.method_name)) return bad_request("a method that is not a token");
  if (head.method_name.size() > kLongestMethod) return HttpError{ErrorKind::not_implemented, "an endless method"};
  head.method = method_of(head.method_name);
  if (const MaybeError error = parse_version(line.substr(last + 1), head.version)) return error;
  const auto target = parse_target(head.method, line.substr(first + 1, last - first - 1));
  if (!target) return target.error();
  head.target = *target;
  return std::nullopt;
}

MaybeError read_host(RequestHead& head) {
  std::size_t lines = 0;
  std::string_view value;
  for (const Field& field : head.fields) {
    if (field.id != FieldId::host) continue;
    ++lines;
    value = field.value;
  }
  if (lines > 1) return bad_request("several Host fields");
  if (lines == 0) {
    return head.version == Version::http11 ? MaybeError(bad_request("HTTP/1.1 without Host")) : std::nullopt;
  }
  if (value.empty()) return std::nullopt;
  const auto authority = parse_authority(value);
  if (!authority) return bad_request("a Host that is not an authority");
  head.host = *authority;
  return std::nullopt;
}

MaybeError read_request_framing(RequestHead& head, const SecondReading& second) {
  const auto framing = request_framing(head.fields, head.version);
  if (!framing) return framing.error();
  const bool chunked = framing->kind == BodyFraming::chunked;
  if (chunked != second.chunked || framing->has_length != second.has_length || framing->length != second.length) {
    return bad_request("framing that can be read in two ways");
  }
  if (head.method == Method::connect && framing->kind != BodyFraming::none) return bad_request("CONNECT with a body");
  head.framing = framing->kind;
  head.content_length = framing->length;
  head.has_content_length = framing->has_length;
  return std::nullopt;
}

// The Upgrade protocol that may be forwarded: WebSocket, requested as in RFC 6455 section 4.1. Any other protocol after
// a 101 (h2c, TLS) could carry requests that the proxy does not see; so exactly one protocol in one field line is
// accepted, independently of how an origin parses lists.
std::string_view asked_protocol(const RequestHead& head) {
  std::string_view protocol;
  std::size_t lines = 0;
  bool has_key = false;
  for (const Field& field : head.fields) {
    has_key = has_key || (field.id == FieldId::sec_websocket_key && !field.value.empty() && !field.nominated);
    if (field.id != FieldId::upgrade) continue;
    ++lines;
    if (field.nominated) protocol = field.value;
  }
  const bool asks = lines == 1 && same_name(protocol, "websocket") && has_key && head.method == Method::get &&
                    head.version == Version::http11 && head.framing == BodyFraming::none;
  return asks ? protocol : std::string_view();
}

// What the Connection options ask for. HTTP/1.0 clients of proxies say Proxy-Connection.
void read_request_wishes(RequestHead& head) {
  Persistence asked;
  for (const Field& field : head.fields) {
    if (field.id == FieldId::connection || field.id == FieldId::proxy_connection) {
      asked.note(field.value);
    } else if (field.id == FieldId::te) {
      head.takes_trailers = head.takes_trailers || has_element(field.value, "trailers");
    } else if (field.id == FieldId::expect) {
      head.expect_continue =
          head.expect_continue || (head.version == Version::http11 && same_name(field.value, "100-continue"));
    }
  }
  head.keep_alive = !asked.close && (head.version == Version::http11 || asked.keep_alive);
  head.upgrade = asked_protocol(head);
  head.wants_upgrade = !head.upgrade.empty();
}

MaybeError read_max_forwards(RequestHead& head) {
  if (head.method != Method::trace && head.method != Method::options) return std::nullopt;
  for (const Field& field : head.fields) {
    if (field.id != FieldId::max_forwards) continue;
    if (head.max_forwards) return bad_request("several Max-Forwards fields");
    if (field.value.empty() || !all(octets::digit, field.value)) return bad_request("malformed Max-Forwards");
    constexpr std::uint64_t kMost = std::numeric_limits<std::uint32_t>::max();
    head.max_forwards = static_cast<std::uint32_t>(std::min(parse_length(field.value).value_or(kMost), kMost));
  }
  return std::nullopt;
}

void reset(RequestHead& head) {
  std::vector<Field> fields = std::move(head.fields);
  head = RequestHead();
  head.fields = std::move(fields);
}

}  // namespace

namespace {

// Whether a field of this name says nothing that the proxy or a server could act on before it reads the value.
bool holds_text(std::string_view name) {
  switch (field_id(name)) {
    case FieldId::other:
    case FieldId::accept:
    case FieldId::date:
    case FieldId::referer:
    case FieldId::user_agent:
      return is_token(name);
    default:
      return false;
  }
}

// Programs send back cookies with the control octets that a site has put there. Blanks say the same to a reader that
// takes them (RFC 9110 section 5.5), and nothing else to one for which some of them end a line. NUL stays, which ends
// the text for some. True if any was found.
bool blank_values(std::string& text, std::size_t at) {
  bool any = false;
  for (std::size_t end; (end = text.find("\r\n", at)) != std::string::npos; at = end + 2) {
    const std::size_t colon = text.find(':', at);
    if (colon >= end || !holds_text(std::string_view(text).substr(at, colon - at))) continue;
    for (std::size_t i = colon + 1; i < end; ++i) {
      if (!is_control(text[i]) || text[i] == '\0' || text[i] == '\t') continue;
      text[i] = ' ';
      any = true;
    }
  }
  return any;
}

}  // namespace

bool may_start_request(std::string_view text) {
  return text.empty() || is(octets::token, text.front()) || text == "\r";
}

std::optional<HttpError> parse_request_head(std::string& text, std::size_t most_fields, RequestHead& head) {
  reset(head);
  head.bytes = text.size();
  const std::size_t line_end = text.find("\r\n");
  const std::string_view section = std::string_view(text).substr(line_end + 2);
  if (const MaybeError error = parse_request_line(std::string_view(text).substr(0, line_end), head)) return error;
  auto second = parse_fields(section, most_fields, head.fields);
  if (!second && blank_values(text, line_end + 2)) second = parse_fields(section, most_fields, head.fields);
  if (!second) {
    const bool many = second.error() == FieldError::too_many || second.error() == FieldError::too_many_options;
    return HttpError{many ? ErrorKind::head_too_large : ErrorKind::bad_request, to_string(second.error())};
  }
  if (!mark_nominated(head.fields))
    return HttpError{ErrorKind::head_too_large, to_string(FieldError::too_many_options)};
  if (const MaybeError error = read_host(head)) return error;
  if (const MaybeError error = read_request_framing(head, *second)) return error;
  read_request_wishes(head);
  return read_max_forwards(head);
}

}  // namespace bloomwall::proxy
