// SPDX-License-Identifier: Apache-2.0
#include "proxy/tls/origin_sessions.h"

#include <utility>

namespace bloomwall::proxy {

OriginSessions::Kept OriginSessions::take(const std::string& origin, std::int64_t now) {
  const std::scoped_lock lock(mutex_);
  const auto found = by_key_.find(origin);
  if (found == by_key_.end()) return {};
  const auto at = found->second;
  origins_.splice(origins_.begin(), origins_, at);
  for (Kept& kept : at->sessions) {
    if (kept.session == nullptr) continue;
    const bool is_usable = now < kept.until && SSL_SESSION_is_resumable(kept.session.get()) == 1;
    if (is_usable && SSL_SESSION_get_protocol_version(kept.session.get()) < TLS1_3_VERSION) {
      return {SslSessionPtr(SSL_SESSION_dup(kept.session.get())), kept.until};
    }
    Kept taken = std::exchange(kept, {});
    --count_;
    if (is_usable) return taken;
  }
  drop(at);
  return {};
}

void OriginSessions::keep(const std::string& origin, SslSessionPtr session, std::int64_t until) {
  const std::scoped_lock lock(mutex_);
  auto found = by_key_.find(origin);
  if (found == by_key_.end()) {
    origins_.push_front({origin, {}});
    found = by_key_.emplace(origins_.front().key, origins_.begin()).first;
  } else {
    origins_.splice(origins_.begin(), origins_, found->second);
  }
  auto& sessions = found->second->sessions;
  if (sessions.back().session == nullptr) ++count_;
  for (std::size_t i = sessions.size() - 1; i > 0; --i) sessions.at(i) = std::move(sessions.at(i - 1));
  sessions.front() = {std::move(session), until};
  while (count_ > kLimit) drop(std::prev(origins_.end()));
}

void OriginSessions::drop(Origins::iterator origin) {
  for (const Kept& kept : origin->sessions) count_ -= kept.session != nullptr ? 1U : 0U;
  by_key_.erase(origin->key);
  origins_.erase(origin);
}

std::size_t OriginSessions::size() const {
  const std::scoped_lock lock(mutex_);
  return count_;
}

}  // namespace bloomwall::proxy
