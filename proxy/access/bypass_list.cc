// SPDX-License-Identifier: Apache-2.0
#include "proxy/access/bypass_list.h"

#include <algorithm>
#include <utility>

#include "base/text.h"

namespace bloomwall::proxy {

tl::expected<BypassList, std::string> BypassList::build(const std::vector<std::string>& entries) {
  BypassList list;
  std::vector<std::string> networks;
  for (const std::string& entry : entries) {
    if (Cidr::parse(entry)) {
      networks.push_back(entry);
    } else if (!entry.empty() && entry.find('/') == std::string::npos) {
      std::string domain = entry;
      make_lower(domain);
      list.domains_.insert(std::move(domain));
    } else {
      return tl::unexpected(entry);
    }
  }
  auto built = CidrSet::build(networks);
  if (!built) return tl::unexpected(built.error());
  list.networks_ = *std::move(built);
  return list;
}

bool BypassList::contains(std::string_view host) const {
  if (domains_.empty() && networks_.empty()) return false;
  if (const auto address = Address::parse(host)) return networks_.contains(*address);
  for (std::string_view rest = host; !rest.empty();) {
    if (domains_.find(rest) != domains_.end()) return true;
    rest.remove_prefix(std::min(rest.find('.'), rest.size() - 1) + 1);
  }
  return false;
}

}  // namespace bloomwall::proxy
