// SPDX-License-Identifier: Apache-2.0
#include "proxy/check/settings_check.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <string>

#include "conf/config.h"

namespace bloomwall::proxy {
namespace {

constexpr std::uint64_t kMiB = std::uint64_t{1} << 20;

TEST(MemoryWarning, ComparesConnectionsThatIdleWithTheMemoryForThem) {
  conf::Limits limits;
  limits.client_connections = 20'000;
  limits.buffer_memory = 1024 * kMiB;
  const auto warning = memory_warning(limits);
  ASSERT_TRUE(warning.has_value());
  EXPECT_EQ(
      *warning,
      "limits.buffer_memory: 1GiB is enough for 8340 clients that idle in decrypted TLS, and "
      "limits.client_connections is 20000: beyond that those that idle longest are closed. 2456MiB would be enough "
      "for all");
  limits.buffer_memory = 2456 * kMiB;
  EXPECT_FALSE(memory_warning(limits).has_value()) << "what it asks for is enough";
  limits.buffer_memory = 2455 * kMiB;
  EXPECT_TRUE(memory_warning(limits).has_value());
  limits.client_connections = 100;
  limits.buffer_memory = 16 * kMiB;
  EXPECT_FALSE(memory_warning(limits).has_value());
}

}  // namespace
}  // namespace bloomwall::proxy
