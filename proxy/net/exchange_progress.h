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
#include "proxy/net/rate_check.h"

namespace bloomwall::proxy {

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
