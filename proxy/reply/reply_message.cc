// SPDX-License-Identifier: Apache-2.0
#include "proxy/reply/reply_message.h"

#include <fmt/format.h>

#include <iterator>
#include <string>

#include "proxy/http/escape.h"
#include "proxy/http/octets.h"

namespace bloomwall::proxy {
namespace {

// Longer explanations stay in the log and on the page: some clients refuse long header lines.
constexpr std::size_t kMostDetails = 300;
constexpr int kNoContent = 204;  // has no Content-Length: RFC 9110 section 8.6

// A bare item of RFC 8941: an sf-token begins with a letter, a field token need not; then it is an sf-string.
void append_item(std::string& out, std::string_view name) {
  const char first = name.empty() ? '0' : lower(name.front());
  if (first >= 'a' && first <= 'z' && is_token(name)) {
    out.append(name);
  } else {
    append_sf_string(out, name);
  }
}

void append_proxy_status(std::string& out, const ReplyMessage& reply, const ReplyContext& context) {
  if (reply.proxy_error.empty()) return;
  out.append("Proxy-Status: ");
  const ParentRefusal* const parent = context.parent;
  if (parent != nullptr && !parent->proxy_status.empty()) out.append(parent->proxy_status).append(", ");
  append_item(out, context.proxy_name);
  if (parent == nullptr) {
    out.append("; error=").append(reply.proxy_error);
  } else {
    out.append("; received-status=").append(std::to_string(parent->status));
  }
  if (!reply.details.empty()) {
    out.append("; details=");
    append_sf_string(out, reply.details.substr(0, kMostDetails));
  }
  out.append("\r\n");
}

void append_connection(std::string& out, const ReplyMessage& reply, const ReplyContext& context) {
  if (reply.close || context.close) {
    out.append("Connection: close\r\n");
  } else if (context.client == Version::http10) {
    out.append("Connection: keep-alive\r\n");
  }
}

}  // namespace

void write_reply_message(std::string& out, const ReplyMessage& reply, const ReplyContext& context) {
  fmt::format_to(std::back_inserter(out), "HTTP/1.1 {} {}\r\nDate: {}\r\n", reply.status,
                 reply.reason.empty() ? reason_phrase(reply.status) : reply.reason, http_date(context.now));
  if (!reply.content_type.empty()) {
    out.append("Content-Type: ").append(reply.content_type).append("\r\nX-Content-Type-Options: nosniff\r\n");
  }
  if (!reply.language.empty()) {
    out.append("Content-Language: ").append(reply.language).append("\r\nVary: Accept, Accept-Language\r\n");
  }
  if (reply.status != kNoContent) {
    fmt::format_to(std::back_inserter(out), "Content-Length: {}\r\n", reply.body.size());
  }
  out.append("Cache-Control: no-store\r\n");
  append_proxy_status(out, reply, context);
  if (reply.is_page) {
    fmt::format_to(std::back_inserter(out),
                   "Content-Security-Policy: default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; "
                   "form-action {}; frame-ancestors 'none'\r\nReferrer-Policy: no-referrer\r\n",
                   reply.form_action.empty() ? "'none'" : reply.form_action);
  }
  out.append(reply.more_fields);
  append_connection(out, reply, context);
  out.append("\r\n");
  if (context.method != Method::head) out.append(reply.body);
}

}  // namespace bloomwall::proxy
