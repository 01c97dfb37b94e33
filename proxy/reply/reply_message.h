// The frame of every answer the proxy makes itself: status line, the fields all of them carry, body with exact length.
// Used by replies.h.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

#include "proxy/reply/replies.h"

namespace bloomwall::proxy {

struct ReplyMessage {
  int status = 500;
  std::string_view reason = {};        // phrase of the status line, visible ASCII; empty: that of the status
  std::string_view proxy_error = {};   // type of RFC 9209 section 2.3; empty: no Proxy-Status
  std::string_view details = {};       // of Proxy-Status; escaped here; empty: none
  std::string_view content_type = {};  // empty: no body at all
  std::string_view body = {};
  std::string_view language = {};     // "de"; empty: of none, and the request's Accept did not matter
  std::string_view more_fields = {};  // whole lines with CRLF, made by the caller of safe text
  bool is_page = false;               // HTML: with a Content-Security-Policy that forbids everything but its own style
  std::string_view form_action = {};  // where forms of a page may be sent to: a source of CSP; empty: nowhere
  bool close = false;
};
void write_reply_message(std::string& out, const ReplyMessage& reply, const ReplyContext& context);

}  // namespace bloomwall::proxy
