// Whether an exchange moves. Nothing may stand still for ever, and what moves must move fast enough
// (limits.least_rate). Progress is what the peer's TCP has acknowledged (SIOCOUTQ): the event loop hears of a writable
// socket only when a third of the send buffer is free, which may take minutes with a slow reader.
// Cost: two system calls a check, a few checks a minute.
// Thread: the worker's.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>

#include "proxy/http/http_error.h"
#include "proxy/io/timer_wheel.h"

namespace bloomwall::proxy {

// Checks the minimum transfer rate: limits.least_rate. Every octet restarts an idle timeout, so without this check a
// body at one octet per minute (slowloris) would hold its connections for days.
// Called from time to time; a call less than a period after the last one that counted has no result. Thread: the
// owner's.
class RateCheck {
 public:
  // `moved`: octets in all so far. Differences count, so it may wrap.
  void begin(std::uint64_t moved) {
    since_ = monotonic_now();
    from_ = moved;
  }
  // Whether less than `least` octets a second have moved since the last begin() or counting look, at least `period`
  // ago.
  bool fell_short(std::uint64_t moved, std::uint64_t least, Milliseconds period) {
    const Milliseconds passed = monotonic_now() - since_;
    if (least == 0 || passed < period) return false;
    const std::uint64_t wanted = least * static_cast<std::uint64_t>(passed.count()) / 1000;
    const auto gone = static_cast<std::int64_t>(moved - from_);
    begin(moved);
    return gone < 0 || static_cast<std::uint64_t>(gone) < wanted;
  }

 private:
  Milliseconds since_{0};
  std::uint64_t from_ = 0;
};

class Download;
class OriginLink;
class Upload;
struct ExchangeContext;

class ExchangeProgress {
 public:
  ExchangeProgress(const ExchangeContext& context, const OriginLink& link, const Upload& upload,
                   const Download& download)
      : context_(context), link_(link), upload_(upload), download_(download) {
    rate_.begin(0);
  }
  // Nobody gave a final answer yet; the origin did.
  enum class Phase : std::uint8_t { awaiting, answering };
  // Why it must end, and who is at fault. Else `again` says when to ask next.
  std::optional<HttpError> find_stall(Phase phase, Milliseconds& again);
  // When to ask while others have deadlines.
  Milliseconds often() const;

 private:
  struct Sent {
    std::uint64_t waiting, taken;  // octets: sent but not acknowledged yet; acknowledged
  };
  Sent sent() const;
  bool is_being_taken(const Sent& sent);
  Milliseconds last_progress(Phase phase) const;
  bool is_too_slow(Phase phase, const Sent& sent);
  bool is_conversation(Phase phase) const;
  bool owes_octets(Phase phase) const;
  HttpError late_answer() const;
  HttpError stalled_answer(bool is_slow) const;

  const ExchangeContext& context_;
  const OriginLink& link_;
  const Upload& upload_;
  const Download& download_;
  RateCheck rate_;
  std::uint64_t taken_ = 0;   // at the last check
  Milliseconds taken_at_{0};  // of the last check that found progress
};

}  // namespace bloomwall::proxy
