// SPDX-License-Identifier: Apache-2.0
#include "proxy/api/tls_api.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace bloomwall::proxy {
namespace {

using namespace std::chrono_literals;
using Kind = TlsRefusals::Kind;

TEST(RefusalsJson, SortsAndMergesWhatWorkersHaveSeen) {
  const TlsRefusals::Time now{std::chrono::hours(100)};
  const std::chrono::system_clock::time_point wall{std::chrono::seconds(1'800'000'000)};
  const IpAddress phone = *IpAddress::parse_host("10.0.0.9"), laptop = *IpAddress::parse_host("10.0.0.10");
  const TlsApi::Rows rows{
      {.client = laptop, .host = "b.test", .kind = Kind::no_ca, .signal = RefusalSignal::eof, .since = now - 5s},
      {.client = phone, .host = "z.test", .kind = Kind::no_ca, .signal = RefusalSignal::alert, .since = now - 9s},
      {.client = laptop, .host = "a.test", .kind = Kind::pins, .signal = RefusalSignal::silent, .since = now - 1s},
      {.client = laptop, .host = "b.test", .kind = Kind::pins, .signal = RefusalSignal::alert, .since = now - 60s},
  };
  const auto answer = nlohmann::json::parse(refusals_json(rows, now, wall));
  const nlohmann::json expected = nlohmann::json::parse(R"([
    {"client":"10.0.0.9","host":"z.test","how":"no_ca","signal":"alert","since":"2027-01-15T07:59:51Z"},
    {"client":"10.0.0.10","host":"a.test","how":"pins","signal":"silent","since":"2027-01-15T07:59:59Z"},
    {"client":"10.0.0.10","host":"b.test","how":"pins","signal":"alert","since":"2027-01-15T07:59:00Z"}])");
  EXPECT_EQ(answer["items"], expected);
  EXPECT_EQ(answer["next"], nullptr);
}

TEST(RefusalsJson, OfNothingIsAnEmptyList) {
  EXPECT_EQ(refusals_json({}, TlsRefusals::Clock::now(), std::chrono::system_clock::now()),
            "{\"items\":[],\"next\":null}\n");
}

}  // namespace
}  // namespace bloomwall::proxy
