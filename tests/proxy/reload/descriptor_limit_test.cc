// SPDX-License-Identifier: Apache-2.0
#include "proxy/reload/descriptor_limit.h"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/resource.h>

#include "base/units.h"

namespace bloomwall::proxy {
namespace {

TEST(DescriptorLimit, TwoForEachClientAndSomeForTheRest) {
  conf::Config settings;
  settings.workers = 4;
  settings.limits.client_connections = 1000;
  settings.limits.pooled_connections = 0;
  const std::uint64_t base = descriptors_for(settings);
  EXPECT_GT(base, 2000U);
  EXPECT_LT(base, 3100U);
  settings.limits.client_connections = 1001;
  EXPECT_EQ(descriptors_for(settings), base + 2);
  settings.filters.resize(3);
  EXPECT_EQ(descriptors_for(settings), base + 2 + 6) << "old and new ones during a reload";
  settings.filters[1].exact = "/f.bwx";
  EXPECT_EQ(descriptors_for(settings), base + 2 + 8) << "exact sides likewise";
  settings.limits.pooled_connections = 401;
  EXPECT_EQ(descriptors_for(settings), base + 2 + 8 + 404) << "idle ones; each of four workers rounds its share up";
}

TEST(DescriptorLimit, IsToldWithWhatItMeans) {
  conf::Config settings;
  settings.workers = 1;
  settings.limits.client_connections = 20'000;
  const std::uint64_t needed = descriptors_for(settings);
  EXPECT_EQ(descriptors_text(settings, needed),
            fmt::format("file descriptors at full load: {0}; a process started from here may have {0}: enough",
                        format_count(needed)));
  const std::string too_few = descriptors_text(settings, 1'024);
  conf::Config fitted = settings;
  fit_clients(fitted, 1'024);
  EXPECT_TRUE(
      too_few.ends_with(fmt::format(" may have 1,024: too few, {} clients would be served (LimitNOFILE, ulimit -n)",
                                    fitted.limits.client_connections)))
      << too_few;
}

TEST(DescriptorLimit, ClientsAreLoweredToWhatFitsAndBothNumbersAreSaid) {
  conf::Config settings;
  settings.workers = 1;
  settings.limits.client_connections = 20'000;
  EXPECT_EQ(fit_clients(settings, descriptors_for(settings)), std::nullopt);
  EXPECT_EQ(settings.limits.client_connections, 20'000U);
  const auto sentence = fit_clients(settings, 1024);
  ASSERT_TRUE(sentence.has_value());
  const std::uint32_t fits = settings.limits.client_connections;
  EXPECT_LT(fits, 512U);
  EXPECT_GT(fits, 300U);
  EXPECT_LE(descriptors_for(settings), 1024U);
  EXPECT_NE(sentence->find("client_connections: 20000"), std::string::npos) << *sentence;
  EXPECT_NE(sentence->find("at most " + std::to_string(fits) + " clients are served"), std::string::npos) << *sentence;
}

TEST(DescriptorLimit, IdleConnectionsGiveWayToClients) {
  conf::Config settings;
  settings.workers = 3;
  settings.limits.client_connections = 1000;
  settings.limits.pooled_connections = 0;
  const std::uint64_t enough = descriptors_for(settings) + 300;
  settings.limits.pooled_connections = 4096;
  const auto sentence = fit_clients(settings, enough);
  ASSERT_TRUE(sentence.has_value());
  EXPECT_EQ(settings.limits.client_connections, 1000U) << *sentence;
  EXPECT_LT(settings.limits.pooled_connections, 300U);
  EXPECT_GT(settings.limits.pooled_connections, 200U);
  EXPECT_EQ(settings.limits.pooled_connections % 3, 0U);
  EXPECT_LE(descriptors_for(settings), enough);
  EXPECT_NE(sentence->find("pooled_connections: 4096"), std::string::npos) << *sentence;
}

TEST(DescriptorLimit, AtLeastOneClientIsServed) {
  conf::Config settings;
  EXPECT_TRUE(fit_clients(settings, 3).has_value());
  EXPECT_EQ(settings.limits.client_connections, 1U);
}

TEST(DescriptorLimit, AFewServeAFew) {
  for (const unsigned workers : {1U, 2U, 64U}) {
    conf::Config settings;
    settings.workers = workers;
    EXPECT_TRUE(fit_clients(settings, 256).has_value());
    EXPECT_GE(settings.limits.client_connections, 50U) << workers;
  }
}

TEST(DescriptorLimit, IsRaisedAndNeverLowered) {
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &before), 0);
  const rlimit low{256, before.rlim_max};
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &low), 0);
  EXPECT_EQ(raise_descriptor_limit(300), 300U);
  EXPECT_EQ(raise_descriptor_limit(100), 300U);
  EXPECT_GE(raise_descriptor_limit(before.rlim_max), before.rlim_max);
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &before), 0);
}

}  // namespace
}  // namespace bloomwall::proxy
