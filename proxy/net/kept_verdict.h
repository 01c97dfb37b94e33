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

 private:
  std::unique_ptr<filter::FilterSpec> matched_;
};

}  // namespace bloomwall::proxy
