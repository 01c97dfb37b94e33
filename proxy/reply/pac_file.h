// The file that tells browsers which requests go to the proxy (proxy auto-config), written from `pac` of the
// configuration. Directly go loopback, names without a dot, what pac.direct names, and the proxy's own pages under its
// address; all else, with the self host, goes to the proxy. Only addresses that stand in a URL are compared with
// networks: no name is ever looked up.
// The language is ECMAScript 3, for every engine there is. Its texts come from the configuration and from a Host field
// that was checked; they are escaped all the same.
// Pure; linear. Checked by pactester (tests/self_page_test.py).
// Source: "Navigator Proxy Auto-Config File Format", Netscape 1996; MDN, Proxy Auto-Configuration (PAC) file.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace bloomwall::proxy {

inline constexpr std::string_view kPacType = "application/x-ns-proxy-autoconfig";

struct PacFile {
  std::vector<std::string> proxies;     // "PROXY host:port" or "HTTPS host:port", in the order they are tried in
  std::span<const std::string> direct;  // conf::Pac::direct
  std::string_view self_host;           // conf::SelfPage::host
};
std::string pac_text(const PacFile& file);
// As conf::Pac::proxies says it: "https://a:3129" is "HTTPS a:3129", and "a:3128" is "PROXY a:3128".
std::string pac_proxy(std::string_view configured);

}  // namespace bloomwall::proxy
