// SPDX-License-Identifier: Apache-2.0
#include "proxy/net/kept_verdict.h"

#include <utility>

#include "filter/policy/policy.h"

namespace bloomwall::proxy {
namespace {

int rank(const filter::Verdict& verdict) {
  if (verdict.decision == filter::Decision::blocked) return 3;
  if (verdict.decision == filter::Decision::monitored) return 2;
  return verdict.reason == filter::VerdictReason::unlisted ? 0 : 1;
}

}  // namespace

KeptVerdict::KeptVerdict() = default;
KeptVerdict::KeptVerdict(filter::Verdict verdict) : filter::Verdict(std::move(verdict)) {
  if (filter == nullptr) return;
  matched_ = std::make_unique<filter::FilterSpec>();  // its files are left out
  matched_->name = filter->name;
  matched_->action = filter->action;
  matched_->status = filter->status;
  filter = matched_.get();
}
KeptVerdict::~KeptVerdict() = default;
KeptVerdict::KeptVerdict(KeptVerdict&&) noexcept = default;
KeptVerdict& KeptVerdict::operator=(KeptVerdict&&) noexcept = default;

void KeptVerdict::join(KeptVerdict other) {
  const bool is_exempt = no_decrypt && (other.no_decrypt || !other.host_has_marks);
  if (rank(other) > rank(*this)) std::swap(other, *this);
  if (group.empty()) group = std::move(other.group);
  questions += other.questions;
  host_has_marks |= other.host_has_marks;
  host_has_blocking_marks |= other.host_has_blocking_marks;
  no_decrypt = is_exempt;
}

}  // namespace bloomwall::proxy
