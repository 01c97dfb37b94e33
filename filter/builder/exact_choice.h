// Where the fingerprints of P end: two keys of a page with the same 35 bits can't be told apart, so that below an error
// of about 1e-7 a URL takes ever more pages, 390 bits at 1e-8 and 3,900 at 1e-9. An exact side, whose 48 bits are
// independent of those, reaches the same error with a filter of a looser one. Pure; as long as size_for_error().
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "filter/builder/sizing.h"

namespace bloomwall::filter {

// The size that an exact side of so many keys will have, within 5 %.
std::uint64_t exact_side_bytes(std::uint64_t keys);

struct ExactChoice {
  double fpr = 0;  // for the bits, as --fpr takes it
  std::uint64_t file_bytes = 0, exact_bytes = 0;
  double error = 0;  // of both together: a request that the bits stop by mistake, and that the exact side confirms
  std::uint64_t bytes() const { return file_bytes + exact_bytes; }
};

// A filter with an exact side that meets `target`, where `sizing` (nothing: out of reach) has URL keys at that end and
// is larger than both files together by a tenth or more.
std::optional<ExactChoice> exact_choice(const Demand& demand, double target, const std::optional<Sizing>& sizing);

// "the 35 bits of a URL key end here: ...; `--fpr 1e-04 --exact-side` ...", for people.
std::string exact_choice_text(const ExactChoice& choice, double target, const std::optional<Sizing>& sizing);

}  // namespace bloomwall::filter
