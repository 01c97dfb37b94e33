// SPDX-License-Identifier: Apache-2.0

#include "proxy/http/rewrite.h"

#include <algorithm>
#include <array>
#include <charconv>

#include "proxy/http/escape.h"
#include "proxy/http/serialise.h"

namespace bloomwall::proxy {
namespace {

void append_authority(std::string& out, const RequestRewrite& how) {
  out.append(how.host);
  append_port(out, how.port);
}

// As it came, but for octets that no URL has: strict servers refuse those, and to the others both spellings are one.
void append_path(std::string& out, std::string_view path) {
  unsigned high = 0;
  for (const char c : path) high |= static_cast<unsigned char>(c);
  if (high < 0x80) {
    out.append(path);
    return;
  }
  for (const char c : path) {
    if (static_cast<unsigned char>(c) < 0x80) {
      out.push_back(c);
    } else {
      append_percent_encoded(out, {&c, 1});
    }
  }
}

void append_target(std::string& out, const RequestHead& head, const RequestRewrite& how) {
  if (how.to_parent) {
    out.append(prefix_of(Scheme::http));
    append_authority(out, how);
  }
  const std::string_view path = head.target.path_and_query;
  const bool asterisk = head.target.form == TargetForm::asterisk || (path.empty() && head.method == Method::options);
  if (asterisk) {
    // Towards a parent an empty path says the same, and the last proxy makes it "*".
    if (!how.to_parent) out.push_back('*');
    return;
  }
  if (path.empty() || path.front() == '?') out.push_back('/');
  append_path(out, path);
}

// Fields of a request that go on as they came. What is re-made from parsed facts is not among them.
bool passes(const Field& field, const RequestHead& head, const RequestRewrite& how) {
  const bool forget_client = how.forwarded_for == conf::Headers::ForwardedFor::delete_field;
  switch (field.id) {
    case FieldId::connection:
    case FieldId::content_length:
    case FieldId::host:
    case FieldId::http2_settings:
    case FieldId::keep_alive:
    case FieldId::proxy_authenticate:
    case FieldId::proxy_authentication_info:
    case FieldId::proxy_connection:
    case FieldId::proxy_status:
    case FieldId::proxy_other:
    case FieldId::transfer_encoding:
      return false;
    case FieldId::te:  // "trailers", and not about this connection alone as in HTTP/1
      return head.version == Version::http2;
    case FieldId::proxy_authorization:
      return how.to_parent && !how.drop_credentials && how.parent_authorization.empty();
    case FieldId::upgrade:
      return how.forward_upgrade && head.wants_upgrade;
    case FieldId::trailer:
      return !field.nominated && head.framing == BodyFraming::chunked;
    case FieldId::expect:
      return !field.nominated && head.version != Version::http10;
    case FieldId::max_forwards:
      return !field.nominated && !head.max_forwards;
    case FieldId::forwarded:  // beside an address that is added to X-Forwarded-For it would say something else
      return !field.nominated && how.forwarded_for == conf::Headers::ForwardedFor::off;
    case FieldId::x_forwarded_for:
      return !field.nominated && !forget_client;
    case FieldId::via:
      return true;
    case FieldId::other:
    case FieldId::accept:
    case FieldId::date:
    case FieldId::referer:
    case FieldId::sec_websocket_key:
    case FieldId::user_agent:
      return !field.nominated;
  }
  return false;
}

}  // namespace

void write_request_head(std::string& out, const RequestHead& head, const RequestRewrite& how) {
  append(out, {head.method_name, " "});
  append_target(out, head, how);
  out.append(" HTTP/1.1\r\nHost: ");
  append_authority(out, how);
  out.append(kLineEnd);
  for (const Field& field : head.fields) {
    if (passes(field, head, how)) append_field(out, field);
  }
  if (head.max_forwards) {
    out.append("Max-Forwards: ");
    append_number(out, *head.max_forwards - 1);
    out.append(kLineEnd);
  }
  if (head.framing == BodyFraming::chunked) out.append("Transfer-Encoding: chunked\r\n");
  if (head.has_content_length) append_length(out, head.content_length);
  append_via(out, head.version, how.via_name);
  if (how.forwarded_for == conf::Headers::ForwardedFor::append) {
    append_field(out, "X-Forwarded-For", how.client_address);
  }
  if (how.to_parent && !how.parent_authorization.empty()) {
    append_field(out, "Proxy-Authorization", how.parent_authorization);
  }
  if (how.forward_upgrade && head.wants_upgrade) {
    out.append("Connection: upgrade\r\n");
  } else if (how.close) {
    out.append("Connection: close\r\n");
  }
  out.append(kLineEnd);
}

void write_connect_head(std::string& out, const RequestRewrite& how) {
  out.append("CONNECT ");
  append_authority(out, how);
  out.append(" HTTP/1.1\r\nHost: ");
  append_authority(out, how);
  out.append(kLineEnd);
  if (!how.parent_authorization.empty()) {
    append_field(out, "Proxy-Authorization", how.parent_authorization);
  }
  append_via(out, Version::http11, how.via_name);
  out.append(kLineEnd);
}

// The response head that goes on, chunk frames and trailers.

namespace {

// Fields of a response that go on as they came.
bool passes(const Field& field, const ResponseRewrite& how, bool switching, bool trailers) {
  if (how.hide_alternatives && same_name(field.name, "alt-svc")) return false;
  if (field.id == FieldId::proxy_other && same_name(field.name, "proxy-support")) return false;
  if (how.hide_pins &&
      (same_name(field.name, "public-key-pins") || same_name(field.name, "public-key-pins-report-only"))) {
    return false;
  }
  switch (field.id) {
    case FieldId::connection:
    case FieldId::content_length:
    case FieldId::keep_alive:
    case FieldId::proxy_connection:
    case FieldId::te:
    case FieldId::transfer_encoding:
      return false;
    case FieldId::proxy_authenticate:
    case FieldId::proxy_authentication_info:
      return how.from_parent;
    case FieldId::upgrade:
      return switching;
    case FieldId::trailer:
      return !field.nominated && trailers;
    case FieldId::via:
      return true;
    case FieldId::other:
    case FieldId::accept:
    case FieldId::date:
    case FieldId::expect:
    case FieldId::forwarded:
    case FieldId::host:
    case FieldId::http2_settings:
    case FieldId::max_forwards:
    case FieldId::proxy_authorization:
    case FieldId::proxy_other:
    case FieldId::proxy_status:
    case FieldId::referer:
    case FieldId::sec_websocket_key:
    case FieldId::user_agent:
    case FieldId::x_forwarded_for:
      return !field.nominated;
  }
  return false;
}

void append_status_line(std::string& out, const ResponseHead& head) {
  out.append("HTTP/1.1 ");
  append_number(out, static_cast<std::uint64_t>(head.status));
  append(out, {" ", head.reason, kLineEnd});
}

// Fields that must not stand in trailers: they are needed before the body, or were checked in the head (RFC 9110
// section 6.5.1).
constexpr std::array<std::string_view, 23> kNeverTrailers{"age",
                                                          "alt-svc",
                                                          "authorization",
                                                          "cache-control",
                                                          "content-encoding",
                                                          "content-range",
                                                          "content-type",
                                                          "cookie",
                                                          "date",
                                                          "expires",
                                                          "if-match",
                                                          "if-none-match",
                                                          "if-range",
                                                          "location",
                                                          "pragma",
                                                          "range",
                                                          "retry-after",
                                                          "set-cookie",
                                                          "vary",
                                                          "warning",
                                                          "www-authenticate",
                                                          "if-modified-since",
                                                          "if-unmodified-since"};

// `head`: of the same message.
bool is_nominated(const Field& trailer, std::span<const Field> head) {
  return std::any_of(head.begin(), head.end(), [&](const Field& field) {
    return field.id == FieldId::connection && has_element(field.value, trailer.name);
  });
}

}  // namespace

bool may_trail(const Field& field) {
  if (field.nominated || (field.id != FieldId::other && field.id != FieldId::proxy_status)) return false;
  return std::none_of(kNeverTrailers.begin(), kNeverTrailers.end(),
                      [&](std::string_view name) { return same_name(name, field.name); });
}

ResponsePlan plan_response(const ResponseHead& head, const ResponseRewrite& how) {
  ResponsePlan plan{head.framing, !how.keep_alive};
  if (head.framing == BodyFraming::chunked || head.framing == BodyFraming::until_close) {
    // Chunked also where the origin's body ends with its connection: the client can tell a complete body from a
    // truncated one, and its connection stays open.
    const bool stays = how.keeps_until_close && head.framing == BodyFraming::until_close;
    plan.framing = how.client != Version::http10 && !stays ? BodyFraming::chunked : BodyFraming::until_close;
  }
  plan.close = plan.close || plan.framing == BodyFraming::until_close;
  return plan;
}

ResponsePlan write_response_head(std::string& out, const ResponseHead& head, const ResponseRewrite& how) {
  const ResponsePlan plan = plan_response(head, how);
  const bool chunked = plan.framing == BodyFraming::chunked;
  const bool trails = how.takes_trailers && (chunked || how.client == Version::http2);
  bool dated = false;
  append_status_line(out, head);
  for (const Field& field : head.fields) {
    if (!passes(field, how, false, trails)) continue;
    append_field(out, field);
    dated = dated || field.id == FieldId::date;
  }
  if (!dated) append_field(out, "Date", how.date);
  if (how.clear_alternatives) append_field(out, "Alt-Svc", "clear");
  if (chunked) out.append("Transfer-Encoding: chunked\r\n");
  if (head.has_content_length && head.status != 204) append_length(out, head.content_length);
  append_via(out, head.version, how.via_name);
  const bool supports_sessions = how.supports_sessions && !plan.close;
  if (supports_sessions) append_field(out, "Proxy-Support", "Session-Based-Authentication");
  if (plan.close) {
    out.append("Connection: close\r\n");
  } else if (how.client == Version::http10) {
    out.append(supports_sessions ? "Connection: keep-alive, Proxy-Support\r\n" : "Connection: keep-alive\r\n");
  } else if (supports_sessions) {
    out.append("Connection: Proxy-Support\r\n");
  }
  out.append(kLineEnd);
  return plan;
}

void write_interim_head(std::string& out, const ResponseHead& head, const ResponseRewrite& how) {
  if (how.client == Version::http10) return;
  append_status_line(out, head);
  for (const Field& field : head.fields) {
    if (passes(field, how, false, false)) append_field(out, field);
  }
  append_via(out, head.version, how.via_name);
  out.append(kLineEnd);
}

void write_switch_head(std::string& out, const ResponseHead& head, const ResponseRewrite& how) {
  append_status_line(out, head);
  for (const Field& field : head.fields) {
    if (passes(field, how, true, false)) append_field(out, field);
  }
  append_via(out, head.version, how.via_name);
  out.append("Connection: upgrade\r\n\r\n");
}

void write_connect_established(std::string& out, std::string_view via_name) {
  out.append("HTTP/1.1 200 Connection established\r\n");
  append_via(out, Version::http11, via_name);
  out.append(kLineEnd);
}

std::string_view chunk_head(std::uint64_t octets, ChunkHead& buffer) {
  char* const end = std::to_chars(buffer.data(), buffer.data() + buffer.size() - kLineEnd.size(), octets, 16).ptr;
  std::copy(kLineEnd.begin(), kLineEnd.end(), end);
  return {buffer.data(), static_cast<std::size_t>(end - buffer.data()) + kLineEnd.size()};
}

void write_last_chunk(std::string& out, std::span<const Field> trailers, std::span<const Field> head) {
  out.append("0\r\n");
  for (const Field& field : trailers) {
    if (may_trail(field) && !is_nominated(field, head)) append_field(out, field);
  }
  out.append(kLineEnd);
}

}  // namespace bloomwall::proxy
