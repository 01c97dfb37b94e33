// SPDX-License-Identifier: Apache-2.0
#include "filter/cli/progress.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>

namespace bloomwall::filter {
namespace {

struct ProgressCase {
  const char* name;
  BuildPhase phase;
  KeyStream::Figures stream;
  const char* want;
};

class StreamProgress : public testing::TestWithParam<ProgressCase> {};

TEST_P(StreamProgress, SaysWhatIsGoingOn) {
  const ProgressCase& c = GetParam();
  BuildProgress progress{.phase = c.phase, .input = {}, .stream = c.stream};
  if (c.phase == BuildPhase::streaming) {
    progress.input.name = "ads.txt";
    progress.input.position = {.done = 120'000'000, .total = 1'200'000'000};
  }
  EXPECT_EQ(text_of(progress, 2), c.want);
}

INSTANTIATE_TEST_SUITE_P(
    Phases, StreamProgress,
    testing::Values(
        ProgressCase{"BeforeTheFirstRound",
                     BuildPhase::streaming,
                     {},
                     "reading ads.txt: 120.0 MB of 1.2 GB (10 %), 60.0 MB/s, 18 s left"},
        ProgressCase{"InTheFirstRound",
                     BuildPhase::streaming,
                     {.in_round = true, .parts_done = 1, .parts = 4, .bytes_written = 1'000'000},
                     "reading ads.txt: 120.0 MB of 1.2 GB (10 %), 60.0 MB/s, 18 s left; round 1: 25 %, 1.0 MB written"},
        ProgressCase{"BetweenRounds",
                     BuildPhase::streaming,
                     {.rounds = 1, .parts_done = 4, .parts = 4, .bytes_written = 4'000'000},
                     "reading ads.txt: 120.0 MB of 1.2 GB (10 %), 60.0 MB/s, 18 s left; 1 round done, 4.0 MB written"},
        ProgressCase{"InTheLastRound",
                     BuildPhase::writing,
                     {.rounds = 2, .in_round = true, .parts_done = 3, .parts = 4, .bytes_written = 11'000'000},
                     "writing; round 3: 75 %, 11.0 MB written"}),
    [](const auto& test) { return std::string(test.param.name); });

TEST(BuildProgressLine, ShowsWarningsAtOnceAndEverywhere) {
  for (const bool terminal : {false, true}) {
    std::istringstream in;
    std::ostringstream out, err;
    const Streams io{.in = in, .out = out, .err = err, .err_is_terminal = terminal};
    {
      BuildProgressLine line(io);
      line.show({.phase = BuildPhase::streaming, .input = {}, .stream = {}, .warning = "too \x1b many"});
      EXPECT_THAT(err.str(), testing::HasSubstr("bloomwall-filter: warning: too \\x1B many\n"));
    }
    EXPECT_EQ(out.str(), "");
  }
}

}  // namespace
}  // namespace bloomwall::filter
