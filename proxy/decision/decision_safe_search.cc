// Under which names search engines are dialled, and what leads past these (declared in decision.h).
// SPDX-License-Identifier: Apache-2.0
#include "proxy/decision/decision.h"

namespace bloomwall::proxy {

SafeSearch::Found Decider::safe_search(const ClientInfo& client, const User* user, std::string_view host) const {
  if (snapshot_->safe_search == nullptr) return {};
  return safe_search_of(group_of(client, user), host);
}

SafeSearch::Found Decider::safe_search_of(std::size_t group, std::string_view host) const {
  return snapshot_->safe_search == nullptr ? SafeSearch::Found() : snapshot_->safe_search->find(group, host);
}

// Its host, or the name in its ClientHello, is dialled at another name by now.
bool Decider::is_unsafe(const TunnelContext& tunnel) const {
  if (snapshot_->safe_search == nullptr) return false;
  const std::size_t group = group_of(tunnel.client, tunnel.user.get());
  if (!groups()->ends_tunnels(group)) return false;
  const ClientInfo::Inside* const inside = tunnel.client.inside.get();
  const std::string_view own = tunnel.dialled.empty() ? tunnel.host : tunnel.dialled;
  const std::string_view dialled = inside == nullptr ? own : inside->dialled_name();
  for (const std::string_view host : {tunnel.host, tunnel.server_name}) {
    const SafeSearch::Found found = safe_search_of(group, host);
    if (found && found.dialled != dialled) return true;
  }
  return false;
}

}  // namespace bloomwall::proxy
