// The error of a filter, asked of its bits: requests of the worst class with the questions of its 99th percentile, each about
// a host or key that no entry has. The requests come from the series key, so equal builds measure alike.
// A measurement says something only where it meets some hundred false positives; by default it is made where four million
// requests do that (errors from 1e-4 on). Everywhere the header also has the error that the set bits give.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <optional>

#include "filter/build/sizing.h"
#include "filter/file/filter_writer.h"

namespace bloomwall::filter {

// Requests that meet about 400 false positives, or 0 where it would take too many.
std::uint64_t usual_samples(const PredictedErrors& predicted);

// How many of `samples` requests find all they ask for absent; the rest are hits. Not while others insert.
// Ends early, with fewer samples, where `stop` becomes true.
MeasuredError measure_error(FilterWriter& writer, const PredictedErrors& predicted, std::uint64_t samples,
                            const std::function<bool()>& stop = {});

}  // namespace bloomwall::filter
