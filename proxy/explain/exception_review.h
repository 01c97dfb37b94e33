// What a new exception can do by what is served: whether it may be made at all, which filters it has to name, and what
// its maker should be told. Asked when one is made or shown.
// Each question costs some verdicts. Pure; no clock is read. Threads: any.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "filter/policy/overrides.h"

namespace bloomwall::proxy {

struct Edition;    // proxy/decision/snapshot.h
class TokenTable;  // proxy/state/tokens.h

class ExceptionReview {
 public:
  // Both must outlive it. `served`: its pointers may be null, then nothing is refused and nothing is warned of.
  // `tokens`: as in NameReview.
  ExceptionReview(const Edition& served, const TokenTable* tokens) : served_(served), tokens_(tokens) {}

  // Why it cannot be taken; empty: it can. It is refused for a group that does not exist, and where it allows what a
  // filter with `exceptions: refused` blocks.
  std::string refusal(const filter::Override& made) const;
  // Adds to made.filters each other filter that would block its entry all the same, for this group (empty: for all), or
  // that lists some of this network, to which the entry leads. False: the entry is blocked because it is on no list
  // (groups[].otherwise), so no filter can be named.
  bool widen(filter::Override& made, const std::string& group,
             const std::optional<filter::AddressRange>& network) const;
  // Filters that do not exist, and effects that it cannot have: one line each.
  std::vector<std::string> warnings(const filter::Override& made) const;
  // Why it has no effect any more (NameReview::fault_of()); empty: it may have one.
  std::string fault(const filter::Override& made) const;

 private:
  const Edition& served_;
  const TokenTable* const tokens_;
};

}  // namespace bloomwall::proxy
