// SPDX-License-Identifier: Apache-2.0
#include "filter/builder/range_collector.h"

#include <fmt/format.h>

#include "base/units.h"

namespace bloomwall::filter {
namespace {

constexpr std::size_t kJoinedAtOnce = std::size_t{1} << 18;

}  // namespace

tl::unexpected<Error> RangeCollector::too_many() const {
  return unexpected(
      Error{Errc::limit,
            {},
            fmt::format("more than {} ranges of addresses, joined where they touch; a filter holds no more",
                        format_count(most_))});
}

void RangeCollector::expect_workers(unsigned workers) {
  if (parts_.size() < workers) parts_.resize(workers);
}

void RangeCollector::seen(unsigned worker, const AddressRange& range) {
  Part& part = parts_[worker];
  if (part.joined.size() > most_) return;  // check() says so
  part.fresh.push_back(range);
  if (part.fresh.size() >= kJoinedAtOnce) join(part);
}

void RangeCollector::join(Part& part) {
  part.joined = united(part.joined, RangeSet(part.fresh));
  part.fresh.clear();
  if (part.joined.size() > most_) too_many_.store(true, std::memory_order_relaxed);
}

Result<void> RangeCollector::check() const {
  if (too_many_.load(std::memory_order_relaxed)) return too_many();
  return {};
}

Result<RangeSet> RangeCollector::networks() const {
  RangeSet all;
  for (const Part& part : parts_) {
    if (!part.joined.empty()) all = united(all, part.joined);
    if (!part.fresh.empty()) all = united(all, RangeSet(part.fresh));
    if (all.size() > most_) return too_many();
  }
  return all;
}

void RangeCollector::clear() {
  parts_.clear();
  too_many_ = false;
}

}  // namespace bloomwall::filter
