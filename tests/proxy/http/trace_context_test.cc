// SPDX-License-Identifier: Apache-2.0
#include "proxy/http/trace_context.h"

#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <vector>

namespace bloomwall::proxy {
namespace {

struct TraceRow {
  std::string_view name, field, trace;
};

class TraceContext : public testing::TestWithParam<TraceRow> {};

TEST_P(TraceContext, GivesTheIdOrNothing) {
  const TraceRow& row = GetParam();
  const std::vector<char> exact(row.field.begin(), row.field.end());
  EXPECT_EQ(trace_id_of({exact.data(), exact.size()}), row.trace);
}

INSTANTIATE_TEST_SUITE_P(
    Rows, TraceContext,
    testing::Values(
        TraceRow{"AsTheStandardHasIt", "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
                 "4bf92f3577b34da6a3ce929d0e0e4736"},
        TraceRow{"NotSampled", "00-0000000000000000000000000000000a-00f067aa0ba902b7-00",
                 "0000000000000000000000000000000a"},
        TraceRow{"AVersionToComeWithMore", "cc-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01-what",
                 "4bf92f3577b34da6a3ce929d0e0e4736"},
        TraceRow{"AVersionToComeWithoutADash", "cc-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01.what", ""},
        TraceRow{"MoreThanVersionZeroHas", "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01-what", ""},
        TraceRow{"TheForbiddenVersion", "ff-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01", ""},
        TraceRow{"ATraceOfZeros", "00-00000000000000000000000000000000-00f067aa0ba902b7-01", ""},
        TraceRow{"AParentOfZeros", "00-4bf92f3577b34da6a3ce929d0e0e4736-0000000000000000-01", ""},
        TraceRow{"CapitalLetters", "00-4BF92F3577B34DA6A3CE929D0E0E4736-00f067aa0ba902b7-01", ""},
        TraceRow{"NoDigits", "00-4bf92f3577b34da6a3ce929d0e0e473\"-00f067aa0ba902b7-01", ""},
        TraceRow{"OtherDashes", "00_4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01", ""},
        TraceRow{"TooShort", "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-0", ""}, TraceRow{"Empty", "", ""}),
    [](const auto& each) { return std::string(each.param.name); });

}  // namespace
}  // namespace bloomwall::proxy
