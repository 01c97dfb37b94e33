// Keys of TLS session tickets, one set per process, for abbreviated handshakes of returning clients. Kept over reloads,
// so that a reload does not cost a full handshake per client; rotated every day, so that a stolen key opens one day's
// sessions. Tickets of the previous keys are still accepted and replaced. Clients whose TLS is intercepted have keys of
// their own, which are rotated every hour.
// Threads: any; reading the current keys is lock-free.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <openssl/ssl.h>

#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>

namespace bloomwall::proxy {

class TicketKeys {
 public:
  using Clock = std::chrono::steady_clock;
  static constexpr std::chrono::hours kLifetime{24};
  struct Key {
    std::array<unsigned char, 16> name{};
    std::array<unsigned char, 32> cipher{}, mac{};
    Clock::time_point made;
  };
  struct Pair {
    Key current, before;
  };

  explicit TicketKeys(Clock::time_point now, Clock::duration lifetime = kLifetime);
  // Those that count at this time; makes new ones where the last have had their day.
  std::shared_ptr<const Pair> at(Clock::time_point now);

  enum class Use : std::uint8_t { listeners, intercepted };
  static constexpr std::chrono::hours kInterceptedLifetime{1};
  // Makes sessions of this context use the process's keys for this.
  static void install(SSL_CTX* context, Use use = Use::listeners);

 private:
  Clock::duration lifetime_;
  std::atomic<std::shared_ptr<const Pair>> pair_;
};

}  // namespace bloomwall::proxy
