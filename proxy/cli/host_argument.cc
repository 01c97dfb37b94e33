// SPDX-License-Identifier: Apache-2.0
#include "proxy/cli/host_argument.h"

namespace bloomwall::proxy {

tl::expected<HostArgument, const char*> HostArgumentReader::read(std::string_view raw) {
  const bool is_ipv6 = !raw.starts_with('[') && raw.find(':') != raw.rfind(':');
  std::string text(raw);  // `url` may point into it
  if (raw.find("://") == std::string_view::npos) text = is_ipv6 ? "https://[" + text + "]" : "https://" + text;
  const filter::CanonicalUrl& url = canonicaliser_.url(text);
  if (url.action == filter::UrlAction::reject) return tl::unexpected(to_string(url.reason));
  HostArgument out{.host = std::string(url.host)};
  if (url.port != 0) out.port = url.port;
  return out;
}

}  // namespace bloomwall::proxy
