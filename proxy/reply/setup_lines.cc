// SPDX-License-Identifier: Apache-2.0
#include "proxy/reply/setup_lines.h"

#include <fmt/format.h>

#include "base/text.h"
#include "base/units.h"

namespace bloomwall::proxy {
namespace {

// What no program should ask the proxy for.
std::string no_proxy_of(std::span<const std::string> direct) {
  std::string out = "localhost,127.0.0.1,::1";
  for (const std::string& entry : direct) out.append(",").append(entry);
  return out;
}

}  // namespace

std::string_view text_of(const SetupPlace& place, Language language) {
  if (const auto* const text = std::get_if<PageText>(&place)) return page_text(*text, language);
  return std::get<std::string>(place);
}

std::optional<ProxyAddress> configured_proxy(std::string_view text) {
  constexpr std::string_view kSecure = "https://";
  const bool is_secure = text.starts_with(kSecure);
  if (is_secure) text.remove_prefix(kSecure.size());
  const std::size_t colon = text.rfind(':');
  if (colon == std::string_view::npos) return std::nullopt;
  const auto port = parse_integer(text.substr(colon + 1));
  if (!port || *port > 65535) return std::nullopt;
  return ProxyAddress{std::string(text.substr(0, colon)), static_cast<std::uint16_t>(*port), is_secure};
}

std::vector<std::pair<std::string, std::string>> proxy_environment(const ProxyAddress& proxy,
                                                                   std::span<const std::string> direct) {
  const std::string url = proxy.url(), none = no_proxy_of(direct);
  return {{"http_proxy", url},  {"https_proxy", url}, {"no_proxy", none},         {"HTTP_PROXY", url},
          {"HTTPS_PROXY", url}, {"NO_PROXY", none},   {"NODE_USE_ENV_PROXY", "1"}};
}

std::vector<SetupLine> setup_systems(const ProxyAddress& proxy) {
  const std::string pac = proxy.url() + "/proxy.pac";
  const std::string chromium_policy =
      fmt::format(R"({{"ProxySettings": {{"ProxyMode": "pac_script", "ProxyPacUrl": "{}"}}}})", pac);
  const std::string firefox_policy =
      fmt::format(R"({{"policies": {{"Proxy": {{"Mode": "autoConfig", "AutoConfigURL": "{}"}}}}}})", pac);
  const std::string windows_services =
      fmt::format(R"(netsh winhttp set advproxy setting-scope=machine )"
                  R"(settings={{"Proxy":"","ProxyBypass":"","AutoconfigUrl":"{}","AutoDetect":false}})",
                  pac);
  const SetupWay apps{.where = PageText::setup_apps};
  return {
      {"Windows",
       {{"Settings > Network & internet > Proxy > Use setup script", pac},
        {PageText::setup_services, windows_services},
        {PageText::setup_policy, chromium_policy}}},
      {"macOS",
       {{PageText::setup_terminal, fmt::format("networksetup -setautoproxyurl Wi-Fi {}", pac)},
        {"System Settings > Network > Details > Proxies > Automatic proxy configuration", pac}}},
      {"GNOME",
       {{PageText::setup_terminal, fmt::format("gsettings set org.gnome.system.proxy mode auto\n"
                                               "gsettings set org.gnome.system.proxy autoconfig-url {}",
                                               pac)}}},
      {"KDE", {{"System Settings > Proxy > Use proxy auto configuration URL", pac}}},
      {"Android", {{"Settings > Wi-Fi > (the network) > Proxy > Proxy Auto-Config", pac}, apps}},
      {"iOS, iPadOS", {{"Settings > Wi-Fi > (i) > Configure Proxy > Automatic", pac}, apps}},
      {"Firefox",
       {{"Settings > Network Settings > Automatic proxy configuration URL", pac}, {"policies.json", firefox_policy}}},
      {"Chrome, Chromium, Edge",
       {{.where = PageText::setup_of_system},
        {"/etc/chromium/policies/managed/proxy.json", chromium_policy},
        {PageText::setup_once, fmt::format("chromium --proxy-pac-url={}", pac)}}},
  };
}

std::vector<SetupLine> setup_tools(const ProxyAddress& proxy, std::span<const std::string> direct) {
  const std::string url = proxy.url(), none = no_proxy_of(direct);
  std::string environment;
  for (const auto& [name, value] : proxy_environment(proxy, direct)) {
    environment += fmt::format("{}export {}={}", environment.empty() ? "" : "\n", name, value);
  }
  const std::string docker =
      fmt::format(R"({{"proxies": {{"http-proxy": "{0}", "https-proxy": "{0}", "no-proxy": "{1}"}}}})", url, none);
  const std::string containers = fmt::format(
      R"({{"proxies": {{"default": {{"httpProxy": "{0}", "httpsProxy": "{0}", "noProxy": "{1}"}}}}}})", url, none);
  return {
      {PageText::setup_environment, {{PageText::setup_many, environment}}},
      {"apt",
       {{"/etc/apt/apt.conf.d/80proxy",
         fmt::format("Acquire::http::Proxy \"{0}\";\nAcquire::https::Proxy \"{0}\";", url)}}},
      {"git", {{"", fmt::format("git config --global http.proxy {}", url)}}},
      {"npm", {{"", fmt::format("npm config set proxy {0}\nnpm config set https-proxy {0}", url)}}},
      {"pip",
       {{"", fmt::format("pip config set global.proxy {}", url)},
        {PageText::setup_once, fmt::format("pip --proxy {} install ...", url)}}},
      {"Docker", {{"/etc/docker/daemon.json", docker}, {PageText::setup_containers, containers}}},
      {"Go", {{.where = PageText::setup_go}}},
      {"Java",
       {{"",
         fmt::format("java -Dhttp.proxyHost={0} -Dhttp.proxyPort={1} -Dhttps.proxyHost={0} -Dhttps.proxyPort={1} ...",
                     proxy.host, proxy.port)},
        {PageText::setup_java_login, "-Djdk.http.auth.tunneling.disabledSchemes="}}},
      {"Node.js", {{PageText::setup_node, "NODE_USE_ENV_PROXY=1"}}},
  };
}

}  // namespace bloomwall::proxy
