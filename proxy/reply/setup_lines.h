// How programs are told of the proxy: a line for each of them, with the proxy's address filled in. Of the page /setup,
// and of `bloomwall env`.
// Pure. What is filled in comes from the configuration, or from a Host field that was checked (letters, digits,
// "-._:[]").
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "proxy/reply/page_texts.h"

namespace bloomwall::proxy {

// Where clients reach the proxy.
struct ProxyAddress {
  std::string host;  // an IPv6 address in brackets
  std::uint16_t port = 0;
  bool is_secure = false;  // TLS to the proxy itself
  std::string authority() const { return host + ":" + std::to_string(port); }
  std::string url() const { return (is_secure ? "https://" : "http://") + authority(); }
  friend bool operator==(const ProxyAddress&, const ProxyAddress&) = default;
};

// As conf::Pac::proxies says it; nothing for an empty text.
std::optional<ProxyAddress> configured_proxy(std::string_view text);

// A file, or a menu by its English name; or words of the page's language.
using SetupPlace = std::variant<std::string, PageText>;
std::string_view text_of(const SetupPlace& place, Language language);

struct SetupWay {
  SetupPlace where = {};  // or a remark; may be empty
  std::string code = {};  // a command, lines of a file, or what is entered there; may be empty
};
struct SetupLine {
  SetupPlace program;
  std::vector<SetupWay> ways;
};
std::vector<SetupLine> setup_systems(const ProxyAddress& proxy);  // devices, desktops, browsers
// `direct`: conf::Pac::direct.
std::vector<SetupLine> setup_tools(const ProxyAddress& proxy, std::span<const std::string> direct);

// Names and values of the environment. In lower and in upper case: curl reads http_proxy in lower case alone, others
// only the upper one.
std::vector<std::pair<std::string, std::string>> proxy_environment(const ProxyAddress& proxy,
                                                                   std::span<const std::string> direct);

}  // namespace bloomwall::proxy
