// The request head that goes on (declared in rewrite.h).
// SPDX-License-Identifier: Apache-2.0
#include "proxy/http/escape.h"
#include "proxy/http/rewrite.h"
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

}  // namespace bloomwall::proxy
