// The page /setup: how each kind of program is told of the proxy, with the address that the page was asked under. HTML,
// JSON or text as Accept prefers; without script. The JSON:
//   {"proxy":"http://a:3128","pac":"http://a:3128/proxy.pac","environment":{"http_proxy":"..."},"certificate":"/ca"}
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string>

#include "proxy/reply/replies.h"
#include "proxy/reply/setup_lines.h"

namespace bloomwall::proxy {

struct SetupPage {
  ProxyAddress proxy;
  std::span<const std::string> direct = {};  // conf::Pac::direct
  bool asks_login = false;                   // of this client
  bool has_authority = false;                // there is a page /ca
};
void write_setup_page(std::string& out, const SetupPage& page, const ReplyContext& context);

}  // namespace bloomwall::proxy
