// A verdict that may outlive the policy it came from: what is needed of the filter that matched is copied, where one did.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <utility>

#include "filter/policy/policy.h"

namespace bloomwall::proxy {

class KeptVerdict : public filter::Verdict {
 public:
  KeptVerdict() = default;
  KeptVerdict(filter::Verdict verdict) : filter::Verdict(std::move(verdict)) {  // NOLINT: they are one and the same
    if (filter == nullptr) return;
    matched_ = std::make_unique<filter::FilterSpec>();  // its files are left out
    matched_->name = filter->name;
    matched_->action = filter->action;
    matched_->status = filter->status;
    filter = matched_.get();
  }

  // Another verdict that the same request needs: the worse of the two counts, and of two that allow it the one that has a reason.
  void join(KeptVerdict other) {
    if (rank(other) > rank(*this)) std::swap(other, *this);
    questions += other.questions;
    host_has_marks |= other.host_has_marks;
  }

 private:
  static int rank(const filter::Verdict& verdict) {
    if (verdict.decision == filter::Decision::blocked) return 3;
    if (verdict.decision == filter::Decision::monitored) return 2;
    return verdict.reason == filter::VerdictReason::unlisted ? 0 : 1;
  }
  std::unique_ptr<filter::FilterSpec> matched_;
};

}  // namespace bloomwall::proxy
