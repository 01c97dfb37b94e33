// SPDX-License-Identifier: Apache-2.0
#include "proxy/upstream/parent_proxy.h"

#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <utility>

#include "base/encoding.h"
#include "proxy/http/octets.h"
#include "proxy/http/request.h"

namespace bloomwall::proxy {
namespace {

constexpr std::size_t kMostCredentials = 1024;  // octets

tl::expected<std::string, std::string> read_credentials(const std::filesystem::path& file) {
  const auto failure = [&](std::string_view why) {
    return tl::unexpected(fmt::format("upstream.credentials_file: {}: {}", file.string(), why));
  };
  std::ifstream in(file, std::ios::binary);
  std::string text(kMostCredentials + 1, '\0');
  in.read(text.data(), static_cast<std::streamsize>(text.size()));
  if (!in.eof() && !in.good()) return failure("cannot be read");
  text.resize(static_cast<std::size_t>(in.gcount()));
  if (text.size() > kMostCredentials) return failure("longer than 1024 octets");
  if (text.ends_with('\n')) text.pop_back();
  if (text.ends_with('\r')) text.pop_back();
  const bool one_line = std::none_of(text.begin(), text.end(), [](char c) { return (c >= 0 && c < ' ') || c == 0x7f; });
  if (!one_line || text.find(':') == std::string::npos || text.front() == ':')
    return failure("not one line user:password");
  return text;
}

std::string lower_case(std::string_view text) {
  std::string out(text);
  std::transform(out.begin(), out.end(), out.begin(), lower);
  return out;
}

}  // namespace

tl::expected<std::optional<ParentProxy>, std::string> ParentProxy::compile(const conf::Upstream& upstream) {
  if (!upstream.parent) return std::optional<ParentProxy>{};
  const auto authority = parse_authority(*upstream.parent);
  if (!authority || authority->port == 0) {
    return tl::unexpected(fmt::format("upstream.parent: expected host:port, got {}", *upstream.parent));
  }
  ParentProxy parent;
  std::string_view host = authority->host;
  if (host.front() == '[') host = host.substr(1, host.size() - 2);
  parent.host = lower_case(host);
  parent.port = authority->port;
  if (upstream.tls) {
    auto tls = TlsContext::for_peers(upstream.ca_file);
    if (!tls) return tl::unexpected(fmt::format("upstream.ca_file: {}", tls.error()));
    parent.tls = *std::move(tls);
  }
  if (!upstream.credentials_file.empty()) {
    auto credentials = read_credentials(upstream.credentials_file);
    if (!credentials) return tl::unexpected(credentials.error());
    parent.authorization = "Basic " + to_base64(*credentials);
  }
  auto bypass = BypassList::build(upstream.bypass);
  if (!bypass) return tl::unexpected(fmt::format("upstream.bypass: no domain or network: {}", bypass.error()));
  parent.bypass = *std::move(bypass);
  return std::optional<ParentProxy>(std::move(parent));
}

}  // namespace bloomwall::proxy
