// The page that a run leaves behind: what was promised, what was measured, on which machine, by which command.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "bench/ten_billion/phase.h"
#include "bench/ten_billion/proof.h"
#include "filter/file/header.h"

namespace bloomwall::bench {

struct Check {
  std::string promise, measured;
  bool holds = false;
};

struct Section {  // more to tell, in its own words
  std::string title, text;
};

struct ResultPage {
  std::string command;
  std::uint64_t seed = 0;
  std::vector<Check> checks;
  std::vector<PhaseCost> phases;
  std::vector<Section> more;
};

// Promises per request: at most so many wrong verdicts.
inline constexpr double kPromisedError = 1e-4;

std::string markdown(const ResultPage& page, const UrlSeries& series, const filter::Header& header,
                     const ProofResult& proof);

}  // namespace bloomwall::bench
