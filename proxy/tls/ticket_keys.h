// The keys of session tickets, of the whole process: what lets a client come back without a handshake. Kept over reloads,
// so that each of them does not cost a handshake a client; new ones every day, so that a stolen key opens one day's sessions.
// A ticket of the keys before is taken once more and replaced.
// Threads: any; a lock-free look at the keys of the day.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <openssl/ssl.h>

#include <array>
#include <atomic>
#include <chrono>
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

  explicit TicketKeys(Clock::time_point now);
  // Those that count at this time; makes new ones where the last have had their day.
  std::shared_ptr<const Pair> at(Clock::time_point now);

  // Makes sessions of this context use the process's keys.
  static void install(SSL_CTX* context);

 private:
  std::atomic<std::shared_ptr<const Pair>> pair_;
};

}  // namespace bloomwall::proxy
