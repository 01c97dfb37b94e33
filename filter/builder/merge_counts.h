// Inside `merge`: whether filters can be merged, and the counts of the merged one.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "filter/builder/key_sketch.h"
#include "filter/file/filter_file.h"
#include "filter/file/filter_writer.h"
#include "filter/file/prediction.h"

namespace bloomwall::filter {

using MergeInputs = std::vector<std::unique_ptr<FilterFile>>;

// Error `usage`, naming the file and what differs from the first one, or of the first one from `like`, whose key is not
// looked at.
Result<void> check_mergeable(const MergeInputs& inputs, const std::optional<Header>& like);

// The counts of all of them in a copy of the first one's header: sums, ranges (none where one of them knows none),
// marks. Distinct keys are sums too, which takes what is in several of them for different; see estimate_counts.
Header sum_counts(const MergeInputs& inputs);

// Widens marks, label and depth ranges and kinds, as the sketches give them, to all that the headers allow.
void keep_gates_open(Header& header, const Header& sums);

// Of all inputs together; nothing where one of them has none. Errors: bad_section.
Result<std::optional<EntrySketches>> merge_sketches(const MergeInputs& inputs);

// The ranges of addresses of all of them. Error `limit` where a file can't hold so many.
Result<RangeSet> united_networks(const MergeInputs& inputs);

// Distinct keys from the error that the set bits give: counts of one section are scaled until they predict it. Good to
// 1 % or so for P and R; to some 10 % for hosts, as it depends on how marks spread over them. Where hardly any bits are
// set, from their number, to a few per cent. Errors: io.
Result<void> estimate_counts(Header& header, const FilterDraft& draft,
                             const std::vector<FilterDraft::SectionFacts>& facts);

}  // namespace bloomwall::filter
