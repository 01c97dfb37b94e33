// SPDX-License-Identifier: Apache-2.0
#include "proxy/http/rewrite.h"

#include <algorithm>
#include <charconv>
#include <initializer_list>

#include "proxy/http/octets.h"

namespace bloomwall::proxy {
namespace {

constexpr std::string_view kEnd = "\r\n";

void append(std::string& out, std::initializer_list<std::string_view> parts) {
  for (const std::string_view part : parts) out.append(part);
}

void append_number(std::string& out, std::uint64_t number) {
  std::array<char, 20> digits;
  const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), number).ptr;
  out.append(digits.data(), end);
}

void append_field(std::string& out, const Field& field) { append(out, {field.name, ": ", field.value, kEnd}); }

void append_length(std::string& out, std::uint64_t length) {
  out.append("Content-Length: ");
  append_number(out, length);
  out.append(kEnd);
}

std::string_view protocol(Version version) { return version == Version::http10 ? "1.0 " : "1.1 "; }

void append_via(std::string& out, Version received, std::string_view name) {
  if (!name.empty()) append(out, {"Via: ", protocol(received), name, kEnd});
}

void append_authority(std::string& out, const RequestRewrite& how) {
  out.append(how.host);
  if (how.port == 0) return;
  out.push_back(':');
  append_number(out, how.port);
}

void append_target(std::string& out, const RequestHead& head, const RequestRewrite& how) {
  if (how.to_parent) {
    out.append("http://");
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
  out.append(path);
}

// Fields of a request that go on as they came. What is re-made from parsed facts is not among them.
bool passes(const Field& field, const RequestHead& head, const RequestRewrite& how) {
  const bool forget_client = how.forwarded_for == conf::Headers::ForwardedFor::delete_field;
  switch (field.id) {
    case FieldId::connection:
    case FieldId::content_length:
    case FieldId::host:
    case FieldId::keep_alive:
    case FieldId::proxy_authenticate:
    case FieldId::proxy_authentication_info:
    case FieldId::proxy_connection:
    case FieldId::proxy_status:
    case FieldId::proxy_other:
    case FieldId::te:
    case FieldId::transfer_encoding:
      return false;
    case FieldId::proxy_authorization:
      return how.to_parent && how.parent_authorization.empty();
    case FieldId::upgrade:
      return how.forward_upgrade && head.wants_upgrade;
    case FieldId::trailer:
      return !field.nominated && head.framing == BodyFraming::chunked;
    case FieldId::expect:
      return !field.nominated && head.version == Version::http11;
    case FieldId::max_forwards:
      return !field.nominated && !head.max_forwards;
    case FieldId::forwarded:
    case FieldId::x_forwarded_for:
      return !field.nominated && !forget_client;
    case FieldId::via:
      return true;
    case FieldId::other:
    case FieldId::accept:
    case FieldId::date:
    case FieldId::referer:
    case FieldId::user_agent:
      return !field.nominated;
  }
  return false;
}

// Fields of a response that go on as they came.
bool passes(const Field& field, bool from_parent, bool switching, bool chunked) {
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
      return from_parent;
    case FieldId::upgrade:
      return switching;
    case FieldId::trailer:
      return !field.nominated && chunked;
    case FieldId::via:
      return true;
    case FieldId::other:
    case FieldId::accept:
    case FieldId::date:
    case FieldId::expect:
    case FieldId::forwarded:
    case FieldId::host:
    case FieldId::max_forwards:
    case FieldId::proxy_authorization:
    case FieldId::proxy_other:
    case FieldId::proxy_status:
    case FieldId::referer:
    case FieldId::user_agent:
    case FieldId::x_forwarded_for:
      return !field.nominated;
  }
  return false;
}

void append_status_line(std::string& out, const ResponseHead& head) {
  out.append("HTTP/1.1 ");
  append_number(out, static_cast<std::uint64_t>(head.status));
  append(out, {" ", head.reason, kEnd});
}

// Names that mean something only before a body, or that must not be changed behind the back of whoever checked the head
// (RFC 9110 section 6.5.1).
constexpr std::array<std::string_view, 22> kNeverTrailers{"age",
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

bool may_trail(const Field& field) {
  if (field.nominated || (field.id != FieldId::other && field.id != FieldId::proxy_status)) return false;
  return std::none_of(kNeverTrailers.begin(), kNeverTrailers.end(),
                      [&](std::string_view name) { return same_name(name, field.name); });
}

}  // namespace

void write_request_head(std::string& out, const RequestHead& head, const RequestRewrite& how) {
  append(out, {head.method_name, " "});
  append_target(out, head, how);
  out.append(" HTTP/1.1\r\nHost: ");
  append_authority(out, how);
  out.append(kEnd);
  for (const Field& field : head.fields) {
    if (passes(field, head, how)) append_field(out, field);
  }
  if (head.max_forwards) {
    out.append("Max-Forwards: ");
    append_number(out, *head.max_forwards - 1);
    out.append(kEnd);
  }
  if (head.framing == BodyFraming::chunked) out.append("Transfer-Encoding: chunked\r\n");
  if (head.has_content_length) append_length(out, head.content_length);
  append_via(out, head.version, how.via_name);
  if (how.forwarded_for == conf::Headers::ForwardedFor::append) {
    append(out, {"X-Forwarded-For: ", how.client_address, kEnd});
  }
  if (how.to_parent && !how.parent_authorization.empty()) {
    append(out, {"Proxy-Authorization: ", how.parent_authorization, kEnd});
  }
  if (how.forward_upgrade && head.wants_upgrade) {
    out.append("Connection: upgrade\r\n");
  } else if (how.close) {
    out.append("Connection: close\r\n");
  }
  out.append(kEnd);
}

void write_connect_head(std::string& out, const RequestRewrite& how) {
  out.append("CONNECT ");
  append_authority(out, how);
  out.append(" HTTP/1.1\r\nHost: ");
  append_authority(out, how);
  out.append(kEnd);
  if (!how.parent_authorization.empty()) {
    append(out, {"Proxy-Authorization: ", how.parent_authorization, kEnd});
  }
  append_via(out, Version::http11, how.via_name);
  out.append(kEnd);
}

ResponsePlan plan_response(const ResponseHead& head, const ResponseRewrite& how) {
  ResponsePlan plan{head.framing, !how.keep_alive};
  if (head.framing == BodyFraming::chunked || head.framing == BodyFraming::until_close) {
    // Chunked also where the origin just closes: so the client can tell a whole body from a cut one, and keep its connection.
    plan.framing = how.client == Version::http11 ? BodyFraming::chunked : BodyFraming::until_close;
  }
  plan.close = plan.close || plan.framing == BodyFraming::until_close;
  return plan;
}

ResponsePlan write_response_head(std::string& out, const ResponseHead& head, const ResponseRewrite& how) {
  const ResponsePlan plan = plan_response(head, how);
  const bool chunked = plan.framing == BodyFraming::chunked;
  bool dated = false;
  append_status_line(out, head);
  for (const Field& field : head.fields) {
    if (!passes(field, how.from_parent, false, chunked)) continue;
    append_field(out, field);
    dated = dated || field.id == FieldId::date;
  }
  if (!dated) append(out, {"Date: ", how.date, kEnd});
  if (chunked) out.append("Transfer-Encoding: chunked\r\n");
  if (head.has_content_length && head.status != 204) append_length(out, head.content_length);
  append_via(out, head.version, how.via_name);
  if (plan.close) {
    out.append("Connection: close\r\n");
  } else if (how.client == Version::http10) {
    out.append("Connection: keep-alive\r\n");
  }
  out.append(kEnd);
  return plan;
}

void write_interim_head(std::string& out, const ResponseHead& head, const ResponseRewrite& how) {
  if (how.client == Version::http10) return;
  append_status_line(out, head);
  for (const Field& field : head.fields) {
    if (passes(field, how.from_parent, false, false)) append_field(out, field);
  }
  append_via(out, head.version, how.via_name);
  out.append(kEnd);
}

void write_switch_head(std::string& out, const ResponseHead& head, const ResponseRewrite& how) {
  append_status_line(out, head);
  for (const Field& field : head.fields) {
    if (passes(field, how.from_parent, true, false)) append_field(out, field);
  }
  append_via(out, head.version, how.via_name);
  out.append("Connection: upgrade\r\n\r\n");
}

void write_connect_established(std::string& out, std::string_view via_name) {
  out.append("HTTP/1.1 200 Connection established\r\n");
  append_via(out, Version::http11, via_name);
  out.append(kEnd);
}

std::string_view chunk_head(std::uint64_t octets, ChunkHead& buffer) {
  char* const end = std::to_chars(buffer.data(), buffer.data() + buffer.size() - kEnd.size(), octets, 16).ptr;
  std::copy(kEnd.begin(), kEnd.end(), end);
  return {buffer.data(), static_cast<std::size_t>(end - buffer.data()) + kEnd.size()};
}

void write_last_chunk(std::string& out, std::span<const Field> trailers) {
  out.append("0\r\n");
  for (const Field& field : trailers) {
    if (may_trail(field)) append_field(out, field);
  }
  out.append(kEnd);
}

}  // namespace bloomwall::proxy
