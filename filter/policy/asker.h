// Who asks, where that matters to a verdict: overrides may be for some clients, users or groups alone (overrides.h).
// Borrowed by the questions that it is given to.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "filter/url/address.h"

namespace bloomwall::filter {

struct Asker {
  std::optional<IpAddress> client = {};  // nothing: not known
  std::string_view user = {};            // as it logged in; empty: nobody did
  std::string_view group = {};           // of the configuration; empty: it has none
  std::int64_t at = 0;                   // overrides count as at this instant, seconds since 1970; 0: now
};

// A policy as one asker sees it. Borrows the policy; cheap to copy.
class Policy;
struct AskedPolicy {
  AskedPolicy(const Policy& its_policy, const Asker& its_asker = {})  // NOLINT: most questions are anybody's
      : policy(its_policy), asker(its_asker) {}
  const Policy& policy;
  Asker asker;
};

}  // namespace bloomwall::filter
