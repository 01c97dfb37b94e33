// SPDX-License-Identifier: Apache-2.0
#include "filter/builder/key_store.h"

#include <numeric>

namespace bloomwall::filter {

std::uint64_t KeySummary::total() const { return std::accumulate(distinct.begin(), distinct.end(), std::uint64_t{0}); }

void set_counts(Header& header, const KeySummary& summary) {
  for (std::size_t i = 0; i < kKindCount; ++i) {
    header.kinds[i].keys = summary.distinct[i];
  }
  header.compatible = summary.estimated ? header.compatible | kEstimatedCounts : header.compatible & ~kEstimatedCounts;
  header.hosts = summary.hosts;
  header.marks = summary.marks;
  header.mark_mask = summary.mark_mask;
  header.min_labels = summary.min_labels;
  header.max_labels = summary.max_labels;
  header.max_depth = summary.max_depth;
  header.path_questions = summary.path_questions;
}

}  // namespace bloomwall::filter
