// SPDX-License-Identifier: Apache-2.0
#include "proxy/reply/pac_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdint>

#include "base/ip.h"
#include "base/text.h"
#include "base/units.h"
#include "proxy/http/escape.h"

namespace bloomwall::proxy {
namespace {

constexpr std::string_view kPacFunctions = R"(
function isBelow(host, domain) {
  return host == domain || host.substring(host.length - domain.length - 1) == "." + domain;
}

// Of an IPv6 address as browsers spell it. An empty one is a zero.
function groupsOf(address) {
  var halves = address.split("::"), left = halves[0].split(":"), right = halves.length > 1 ? halves[1].split(":") : [];
  while (halves.length > 1 && left.length + right.length < 8) left.push("0");
  return left.concat(right);
}

// Not every browser has isInNetEx().
function isInNetwork6(host, network) {
  var parts = network.split("/"), of = groupsOf(host), wanted = groupsOf(parts[0]), bits, i, unused;
  for (bits = Number(parts[1]), i = 0; bits > 0; bits -= 16, ++i) {
    unused = Math.max(0, 16 - bits);
    if (parseInt(of[i], 16) >> unused != parseInt(wanted[i], 16) >> unused) return false;
  }
  return true;
}

function FindProxyForURL(url, host) {
  var i;
  host = host.toLowerCase().replace(/^\[|\]$/g, "").replace(/\.$/, "");
  if (host == selfHost) return proxies;
  for (i = 0; i < ownPages.length; ++i) {
    if (url.substring(0, ownPages[i].length) == ownPages[i]) return "DIRECT";
  }
  if (host.indexOf(":") >= 0) {
    if (host == "::1") return "DIRECT";
    for (i = 0; i < networks6.length; ++i) {
      if (isInNetwork6(host, networks6[i])) return "DIRECT";
    }
    return proxies;
  }
  if (/^[0-9]+\.[0-9]+\.[0-9]+\.[0-9]+$/.test(host)) {
    for (i = 0; i < networks.length; ++i) {
      if (isInNet(host, networks[i][0], networks[i][1])) return "DIRECT";
    }
    return proxies;
  }
  if (host.indexOf(".") < 0) return "DIRECT";
  for (i = 0; i < domains.length; ++i) {
    if (isBelow(host, domains[i])) return "DIRECT";
  }
  return proxies;
}
)";

std::string js_string(std::string_view text) {
  std::string out = "\"";
  append_json(out, text);
  return out.append("\"");
}

// "255.240.0.0" of 12.
std::string mask_of(std::uint64_t prefix) {
  const std::uint32_t bits = prefix == 0 ? 0 : ~std::uint32_t{0} << (32 - prefix);
  return fmt::format("{}.{}.{}.{}", bits >> 24U, bits >> 16U & 255U, bits >> 8U & 255U, bits & 255U);
}

// A JavaScript array.
class Items {
 public:
  void add(std::string_view item) { text_.append(text_.empty() ? "" : ", ").append(item); }
  std::string text() const { return "[" + text_ + "]"; }

 private:
  std::string text_;
};

struct DirectItems {
  Items domains, networks, networks6;
  void add(std::string_view entry) {
    const std::string_view address = entry.substr(0, entry.find('/'));
    if (address.find(':') != std::string_view::npos) {
      return networks6.add(
          js_string(address.size() == entry.size() ? std::string(entry) + "/128" : std::string(entry)));
    }
    if (!IpAddress::parse(address)) return domains.add(js_string(entry));
    const std::string_view digits = address.size() == entry.size() ? "32" : entry.substr(address.size() + 1);
    const std::uint64_t prefix = std::min<std::uint64_t>(parse_integer(digits).value_or(32), 32);
    networks.add(fmt::format("[{}, {}]", js_string(address), js_string(mask_of(prefix))));
  }
};

// Under which the proxy is asked for its own pages: "http://a:3128/".
std::string own_page(std::string_view proxy) {
  const bool is_secure = proxy.starts_with("HTTPS ");
  return fmt::format("{}://{}/", is_secure ? "https" : "http", proxy.substr(proxy.find(' ') + 1));
}

}  // namespace

std::string pac_proxy(std::string_view configured) {
  constexpr std::string_view kSecure = "https://";
  return configured.starts_with(kSecure) ? fmt::format("HTTPS {}", configured.substr(kSecure.size()))
                                         : fmt::format("PROXY {}", configured);
}

std::string pac_text(const PacFile& file) {
  DirectItems direct;
  direct.networks.add(R"(["127.0.0.0", "255.0.0.0"])");
  direct.domains.add(js_string("localhost"));
  for (const std::string& entry : file.direct) direct.add(entry);
  Items own;
  std::string proxies;
  for (const std::string& proxy : file.proxies) {
    own.add(js_string(own_page(proxy)));
    proxies.append(proxies.empty() ? "" : "; ").append(proxy);
  }
  return fmt::format(
      "// Made by the proxy from its configuration (pac).\nvar proxies = {};\nvar selfHost = {};\nvar ownPages = {};\n"
      "var domains = {};\nvar networks = {};\nvar networks6 = {};\n{}",
      js_string(proxies), js_string(file.self_host), own.text(), direct.domains.text(), direct.networks.text(),
      direct.networks6.text(), kPacFunctions);
}

}  // namespace bloomwall::proxy
