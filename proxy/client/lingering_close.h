// The last part of a client's connection. One that is closed while octets from the client lie unread is reset by the
// kernel, and the reset may overtake the answer; programs that are still sending then never read it. So our side ends
// first, and what still comes is dropped, as long as it goes on coming, for timeouts.body and kMostDropping at most,
// and kMostDropped of it: programs that write a whole upload before they read find the answer then. Also judges whether
// a client takes what waits for it, which it owes to be kept. Thread: the worker's.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "conf/config.h"
#include "proxy/exchange/exchange_progress.h"
#include "proxy/io/transport.h"

namespace bloomwall::proxy {

class LingeringClose {
 public:
  static constexpr Milliseconds kWait{2000};
  static constexpr Milliseconds kMostDropping{10'000};
  static constexpr std::uint64_t kMostDropped = std::uint64_t{64} << 20U;  // octets

  // Ends our side. `is_last`: the client knows that nothing follows, and has said all that it will. `untold`: without
  // TLS's word for it. False: it may be closed.
  bool begin(Transport& client, bool is_last, bool untold = false);
  bool drop(std::size_t octets);                   // have come. False: too many
  bool may_close(const Transport& drained) const;  // all was sent

  void watch(const Transport& client);  // from now on
  // A slow client is not idle as long as the octets that wait for it move fast enough, whatever it sends meanwhile.
  // Returns when to call again; nothing: close.
  std::optional<Milliseconds> wait_for(const Transport& client, bool is_lingering, const conf::Config& settings);

 private:
  RateCheck rate_;
  Milliseconds begun_at_{0};
  std::uint64_t dropped_ = 0;
  bool has_dropped_ = false;  // since wait_for() was called last
  bool close_when_drained_ = false;
};

}  // namespace bloomwall::proxy
