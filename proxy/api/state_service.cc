// SPDX-License-Identifier: Apache-2.0
#include "proxy/api/state_service.h"

namespace bloomwall::proxy {

StateService::StateService(EventLoop& loop, StateStore store)
    : loop_(loop),
      state_(store.state()),
      is_kept_(store.is_kept()),
      is_usable_(store.fault().empty()),
      are_exports_stale_(store.are_exports_stale()),
      thread_(std::move(store)) {
  tokens_.set(state_->tokens);
}

std::vector<std::string> StateService::warnings() const {
  if (is_kept_) return {};
  return {"it is gone after a restart or an upgrade: there is no state_dir to keep it in"};
}

void StateService::adopt(const StatePtr& state) {
  if (state->tokens != state_->tokens) tokens_.set(state->tokens);
  state_ = state;
}

}  // namespace bloomwall::proxy
