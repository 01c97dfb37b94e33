// Measures the error of a filter's bits: asks requests of the worst class, with as many questions as the prediction
// gives for its 99th percentile, each about a host or key that no entry has. It checks what the bits answer, not how
// many questions a request asks, nor marks and kinds: every question to H is of kind S. The requests are derived from
// the series key, so equal builds measure the same. A measurement needs some hundred false positives to mean anything;
// by default it is made where four million requests give that (errors from 1e-4 on) and the file is small enough to be
// read several times. The header always has the error that the set bits give as well.
// Questions are asked in the order of the pages, some hundred thousand at once, so that pages may be on disk.
// Memory: about 13 MB.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "filter/builder/sizing.h"
#include "filter/file/filter_writer.h"

namespace bloomwall::filter {

inline constexpr std::uint64_t kMostMeasuredBytes = std::uint64_t{1} << 30;  // unless it is asked for

// Requests that meet about 400 false positives, or 0 where it would take too many.
std::uint64_t usual_samples(const PredictedErrors& predicted);
// `asked`, or what is usual for this file.
std::uint64_t samples_for(const std::optional<std::uint64_t>& asked, const FilterDraft& draft,
                          const PredictedErrors& predicted);
// "1.02e-04 (408 of 4,000,000 requests)", or why not; of a header as written.
std::string measured_text(const Header& header);

// How many of `samples` requests meet a false positive in the draft's file. Call it once all pages are written. Ends
// early, with fewer samples, where `stop` returns true. Errors: io.
Result<MeasuredError> measure_error(const FilterDraft& draft, const PredictedErrors& predicted, std::uint64_t samples,
                                    const std::function<bool()>& stop = {});

}  // namespace bloomwall::filter
