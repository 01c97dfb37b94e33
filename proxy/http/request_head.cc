// SPDX-License-Identifier: Apache-2.0
#include "proxy/http/request_head.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "proxy/http/field_parser.h"
#include "proxy/http/framing.h"
#include "proxy/http/octets.h"

namespace bloomwall::proxy {
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
  const std::size_t first = line.find(' ');
  const std::size_t last = line.rfind(' ');
  if (first == std::string_view::npos || first == last) return bad_request("a request line that has not three parts");
  head.method_name = line.substr(0, first);
  if (!is_token(head.method_name)) return bad_request("a method that is no token");
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
  if (!authority) return bad_request("a Host that is no authority");
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

bool may_start_request(std::string_view text) {
  return text.empty() || is(octets::token, text.front()) || text == "\r";
}

std::optional<HttpError> parse_request_head(std::string_view text, std::size_t most_fields, RequestHead& head) {
  reset(head);
  head.bytes = text.size();
  const std::size_t line_end = text.find("\r\n");
  if (const MaybeError error = parse_request_line(text.substr(0, line_end), head)) return error;
  const auto second = parse_fields(text.substr(line_end + 2), most_fields, head.fields);
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
