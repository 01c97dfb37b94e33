// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "proxy/cli/lasting_text.h"

namespace bloomwall::proxy {
namespace {

TEST(PeopleTimes, AreOfTheWallClockAndEventsHaveTheirSeconds) {
  const PeopleTime time(*TimeZone::find("Europe/Berlin"));
  EXPECT_EQ(time.text(std::string("2026-01-31T12:00:00Z")), "2026-01-31 13:00 (Europe/Berlin)");
  EXPECT_EQ(time.event_text("2026-01-31T12:00:00Z"), "2026-01-31 13:00:00 (Europe/Berlin)");
  EXPECT_EQ(time.event_text("2026-07-31T12:00:07.250Z"), "2026-07-31 14:00:07 (Europe/Berlin)");
  EXPECT_EQ(time.event_text("-"), "-");
}

}  // namespace
}  // namespace bloomwall::proxy
