// Filters are swapped by SIGHUP while clients ask, tunnels move data and a download runs: nothing may be lost or
// changed, and verdicts follow the new file. BLOOMWALL_FULL_LOAD=1 runs it at full size: 1,000 clients, 100 tunnels, 1
// GiB, filters of 100 MB, 20 swaps; otherwise a tenth of that and less.
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <signal.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "tests/end_to_end/load.h"
#include "tests/end_to_end/servers.h"

namespace bloomwall::test {
namespace {

struct Scale {
  unsigned clients, tunnels, swaps;
  std::uint64_t download, padding;  // bytes; entries that give the filter its size
};

Scale scale() {
  return std::getenv("BLOOMWALL_FULL_LOAD") != nullptr ? Scale{1000, 100, 20, std::uint64_t{1} << 30, 27'000'000}
                                                       : Scale{100, 20, 6, std::uint64_t{32} << 20, 20'000};
}

constexpr const char* kSwapYaml = R"(
filters: [{name: swapped, file: live.bwf}]
access: {connect_ports: [], deny_destinations: []}
log: {access: {file: off}}
dns: {hosts: {innocent.example.test: 127.0.0.1, echo.example.test: 127.0.0.1, a.example.test: 127.0.0.1, b.example.test: 127.0.0.1}}
)";

// A filter of the wanted size that lists `name`.
void build_padded(const std::string& file, const std::string& name, std::uint64_t padding) {
  const auto command = "(echo " + name + "; seq -f 'h%.0f.padding.test' " + std::to_string(padding) + ") | '" +
                       filter_program() + "' build --format domains -o '" + file + "' -";
  const auto built = run({"sh", "-c", command}, {}, Seconds(600));
  ASSERT_EQ(built.status, 0) << built.out;
}

void write_pattern(const std::string& file, std::uint64_t size) {
  std::ofstream out(file, std::ios::binary);
  std::string block(1 << 20, '\0');
  for (std::uint64_t at = 0; at < size; at += block.size()) {
    for (std::size_t i = 0; i < block.size(); ++i) block[i] = static_cast<char>(pattern(at + i));
    out.write(block.data(), static_cast<std::streamsize>(block.size()));
  }
}

TEST(SwapUnderLoad, LosesNothingAndVerdictsFollow) {
  if (!have_program("curl") || !have_program("nginx")) GTEST_SKIP() << "needs curl and nginx";
  const Scale size = scale();
  const TempDir folder;
  build_padded(folder.path("a.bwf"), "a.example.test", size.padding);
  build_padded(folder.path("b.bwf"), "b.example.test", size.padding);
  const auto publish = [&](const std::string& which) {  // whole and new under the name that is served
    std::filesystem::create_hard_link(folder.path(which + ".bwf"), folder.path("next"));
    std::filesystem::rename(folder.path("next"), folder.path("live.bwf"));
  };
  publish("a");
  const Nginx nginx(folder);
  const std::string body(1024, 's');
  folder.write("nginx/root/small.txt", body);
  write_pattern(folder.path("nginx/root/big.bin"), size.download);
  const EchoServer echo;
  Proxy proxy(folder, kSwapYaml);

  const std::string origin = "http://innocent.example.test:" + std::to_string(nginx.port());
  Load load({.proxy = proxy.port(),
             .small_url = origin + "/small.txt",
             .small_body = body,
             .big_url = origin + "/big.bin",
             .big_bytes = size.download,
             .echo_authority = "echo.example.test:" + std::to_string(echo.port()),
             .clients = size.clients,
             .tunnels = size.tunnels});
  const auto blocked = [&](const std::string& name) {
    return run({"curl", "-s", "-o", "/dev/null", "-w", "%{http_code}", "-m", "30", "-x", proxy.url(),
                "http://" + name + ".example.test:" + std::to_string(nginx.port()) + "/small.txt"})
               .out == "403";
  };
  for (unsigned swap = 0; swap < size.swaps; ++swap) {
    const std::string now = swap % 2 == 0 ? "b" : "a", before = swap % 2 == 0 ? "a" : "b";
    publish(now);
    proxy.process().signal(SIGHUP);
    const auto answer = proxy.reload();  // ordered after the signal: when it answers, the swap has happened
    ASSERT_EQ(answer.status, 0) << answer.out;
    EXPECT_TRUE(blocked(now)) << "swap " << swap;
    EXPECT_FALSE(blocked(before)) << "swap " << swap;
  }
  const LoadReport report = load.stop();
  EXPECT_EQ(report.failure_count, 0U) << testing::PrintToString(report.failures);
  EXPECT_GT(report.requests, size.clients);
  EXPECT_GT(report.tunnel_bytes, 0U);
  EXPECT_EQ(report.download_bytes, size.download);
  std::printf("%u swaps of %ju bytes: %ju requests, %ju tunnel bytes, %ju bytes downloaded, %ju failures\n", size.swaps,
              std::filesystem::file_size(folder.path("live.bwf")), report.requests, report.tunnel_bytes,
              report.download_bytes, report.failure_count);
}

}  // namespace
}  // namespace bloomwall::test
