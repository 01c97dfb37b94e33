// Which combinations of labels bloomwall_requests_total can have.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "filter/policy/verdict.h"

namespace bloomwall::proxy {

// The reasons that a decision can have: their series are there from the start, so that the first one is an increase.
inline bool can_be_reason(filter::Decision decision, filter::VerdictReason reason) {
  using filter::Decision;
  switch (reason) {
    case filter::VerdictReason::unlisted:
    case filter::VerdictReason::allow_list:
    case filter::VerdictReason::excepted:
    case filter::VerdictReason::allow_filter:
    case filter::VerdictReason::exception:
    case filter::VerdictReason::refuted:
      return decision == Decision::allowed;
    case filter::VerdictReason::listed:
    case filter::VerdictReason::confirmed:
    case filter::VerdictReason::delta:
    case filter::VerdictReason::filter_lost:
      return decision == Decision::monitored || decision == Decision::blocked;
    case filter::VerdictReason::denied:
    case filter::VerdictReason::default_deny:
      return decision == Decision::blocked;
    case filter::VerdictReason::bad_url:
      return decision == Decision::rejected;
  }
  return false;
}

}  // namespace bloomwall::proxy
