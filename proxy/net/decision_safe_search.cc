// Under which names search engines are dialled, and what leads past these (declared in decision.h).
// SPDX-License-Identifier: Apache-2.0
#include "proxy/net/decision.h"

namespace bloomwall::proxy {

SafeSearch::Found Decider::safe_search(const ClientInfo& client, const User* user, std::string_view host) const {
  if (snapshot_->safe_search == nullptr) return {};
  return snapshot_->safe_search->find(group_of(client, user), host);
}

// A tunnel leads where it was dialled, whatever is asked for in it.
bool Decider::is_unsafe_inside(const RequestContext& request, std::string_view host) const {
  const ClientInfo::Inside& inside = *request.client.inside;
  const SafeSearch::Found found = safe_search(request.client, request.user, host);
  return found && found.dialled != inside.dialled_name();
}

// Its host, or the name in its ClientHello, is dialled at another name by now.
bool Decider::is_unsafe(const TunnelContext& tunnel) const {
  if (snapshot_->safe_search == nullptr || !groups()->ends_tunnels(group_of(tunnel.client, tunnel.user.get())))
    return false;
  const ClientInfo::Inside* const inside = tunnel.client.inside.get();
  const std::string_view own = tunnel.dialled.empty() ? tunnel.host : tunnel.dialled;
  const std::string_view dialled = inside == nullptr ? own : inside->dialled_name();
  for (const std::string_view host : {tunnel.host, tunnel.server_name}) {
    const SafeSearch::Found found = safe_search(tunnel.client, tunnel.user.get(), host);
    if (found && found.dialled != dialled) return true;
  }
  return false;
}

}  // namespace bloomwall::proxy
