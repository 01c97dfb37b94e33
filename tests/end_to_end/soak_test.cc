// Everything at once for a long time: clients, tunnels, downloads, TLS that the proxy ends (full and resumed
// handshakes, block pages), all by a user whose group has a schedule, and every second a new filter by SIGHUP and an
// exception. Nothing may be lost or changed, and what the proxy holds in memory stays flat. BLOOMWALL_SOAK_SECONDS says
// how long (`./dev soak`: ten minutes and more); without it a few seconds, which prove that it runs.
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <signal.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <thread>

#include "tests/end_to_end/load.h"
#include "tests/end_to_end/servers.h"
#include "tests/end_to_end/tls_load.h"

namespace bloomwall::test {
namespace {

#ifdef BLOOMWALL_SANITIZED
constexpr bool kMemoryIsOurs = false;  // a sanitizer's own memory would be measured
#else
constexpr bool kMemoryIsOurs = true;
#endif

constexpr const char* kSoakYaml = R"(
filters: [{name: swapped, file: live.bwf}]
access: {connect_ports: [], deny_destinations: []}
log: {access: {file: access.log, format: json}}
dns: {hosts: {innocent.example.test: 127.0.0.1, echo.example.test: 127.0.0.1, marked.example.test: 127.0.0.1}}
tls_inspection: {mode: urls, ca: {certificate: ca.crt, key: ca.key}, never: [], verify: {ca_file: nginx/cert.pem}}
authentication: {require: [127.0.0.0/8], users_file: users, cache: 2s}
state_dir: state
schedules: [{name: week, times: [mon-sun 00:00-24:00]}]
groups:
- {name: soaked, users: [alice], filters: {swapped: {week: block, otherwise: "off"}}}
- {name: others, filters: {swapped: monitor}}
)";
// alice, whose password is "open sesame" (bcrypt, cost 4).
constexpr const char* kUsers = "alice:$2b$04$abcdefghijklmnopqrstuu/LVz6MZlItEy42I2juLihZ66HnQx/cy\n";
constexpr const char* kCredentials = "Proxy-Authorization: Basic YWxpY2U6b3BlbiBzZXNhbWU=\r\n";
constexpr std::uint64_t kDownload = std::uint64_t{8} << 20;

unsigned soak_seconds() {
  const char* const text = std::getenv("BLOOMWALL_SOAK_SECONDS");
  const int seconds = text == nullptr ? 0 : std::atoi(text);  // NOLINT(cert-err34-c): anything else is 0
  return seconds > 0 ? static_cast<unsigned>(seconds) : 3;
}

// KiB. "RssAnon:" is what is the process's own; mapped filters and programs are in "VmRSS:" only.
std::uint64_t memory_of(pid_t pid, const std::string& kind) {
  std::ifstream status("/proc/" + std::to_string(pid) + "/status");
  for (std::string word; status >> word;) {
    std::uint64_t size = 0;
    if (word == kind && status >> size) return size;
  }
  return 0;
}

class Soak : public testing::Test {
 protected:
  void SetUp() override {
    if (!have_program("nginx")) GTEST_SKIP() << "needs nginx";
    for (const char* name : {"a", "b"}) {
      build_filter(folder_.path(std::string(name) + ".bwf"),
                   std::string(name) + ".example.test\nhttp://marked.example.test/listed/\n", {"--format", "mixed"});
    }
    publish("a");
    nginx_ = std::make_unique<Nginx>(folder_);
    folder_.write("nginx/root/small.txt", body_);
    std::string big(kDownload, '\0');
    for (std::size_t i = 0; i < big.size(); ++i) big[i] = static_cast<char>(pattern(i));
    folder_.write("nginx/root/big.bin", big);
    folder_.write("users", kUsers);
    std::filesystem::create_directory(folder_.path("state"));
    const auto made = run({bloomwall_program(), "ca", "init", "--out", folder_.path()});
    ASSERT_EQ(made.status, 0) << made.out;
    proxy_ = std::make_unique<Proxy>(folder_, kSoakYaml);
  }
  void publish(const std::string& which) const {  // whole and new under the name that is served
    std::filesystem::create_hard_link(folder_.path(which + ".bwf"), folder_.path("next"));
    std::filesystem::rename(folder_.path("next"), folder_.path("live.bwf"));
  }
  LoadPlan plan() const {
    const std::string origin = "http://innocent.example.test:" + std::to_string(nginx_->port());
    return {.proxy = proxy_->port(),
            .small_url = origin + "/small.txt",
            .small_body = body_,
            .big_url = origin + "/big.bin",
            .big_bytes = kDownload,
            .echo_authority = "echo.example.test:" + std::to_string(echo_.port()),
            .fields = kCredentials,
            .clients = 50,
            .tunnels = 10};
  }
  TlsLoadPlan tls_plan() const {
    return {.proxy = proxy_->port(),
            .host = "marked.example.test",
            .port = nginx_->tls_port(),
            .roots = folder_.path("ca.crt"),
            .path = "/small.txt",
            .listed_path = "/listed/page.html",
            .body = body_,
            .fields = kCredentials,
            .clients = 8};
  }
  // In force for half a minute.
  void except() const {
    const std::string host = "host" + std::to_string(swaps_) + ".example.test";
    const auto answer = run({bloomwall_program(), swaps_ % 2 == 0 ? "allow" : "deny", host, "--for", "30s", "--why",
                             "soak", "--config", proxy_->config()});
    EXPECT_EQ(answer.status, 0) << answer.out;
  }
  // One load from beginning to end, with a swap and an exception a second; then what is left in memory.
  std::uint64_t round(unsigned seconds) {
    const auto end = std::chrono::steady_clock::now() + Seconds(seconds);
    Load load(plan());
    TlsLoad tls_load(tls_plan());
    while (std::chrono::steady_clock::now() < end) {
      publish(++swaps_ % 2 == 0 ? "a" : "b");
      const auto next = std::chrono::steady_clock::now() + Seconds(1);
      proxy_->process().signal(SIGHUP);
      const auto answer = proxy_->reload();
      EXPECT_EQ(answer.status, 0) << answer.out;
      except();
      std::this_thread::sleep_until(std::min(next, end));
    }
    const LoadReport report = load.stop();
    EXPECT_EQ(report.failure_count, 0U) << testing::PrintToString(report.failures);
    EXPECT_EQ(report.download_bytes, kDownload);
    requests_ += report.requests;
    const TlsLoadReport tls = tls_load.stop();
    EXPECT_EQ(tls.failure_count, 0U) << testing::PrintToString(tls.failures);
    EXPECT_GT(tls.blocked, 0U);
    EXPECT_GT(tls.resumed, 0U);
    intercepted_ += tls.full + tls.resumed;
    return memory_of(proxy_->process().pid(), "RssAnon:");
  }

  const TempDir folder_;
  const std::string body_ = std::string(1024, 's');
  const EchoServer echo_;
  std::unique_ptr<Nginx> nginx_;
  std::unique_ptr<Proxy> proxy_;
  unsigned swaps_ = 0;
  std::uint64_t requests_ = 0, intercepted_ = 0;
};

TEST_F(Soak, NothingIsLostAndMemoryStaysFlat) {
  const unsigned seconds = soak_seconds();
  const unsigned rounds = std::clamp(seconds / 10, 3U, 60U), each = std::max(seconds / rounds, 1U);
  std::uint64_t warm = 0, most = 0, resident = 0;
  for (unsigned i = 0; i < rounds; ++i) {
    const std::uint64_t held = round(each);
    ASSERT_GT(held, 0U) << proxy_->process().output();
    (i < rounds / 3 ? warm : most) = std::max(i < rounds / 3 ? warm : most, held);
    if (i < rounds / 3) resident = memory_of(proxy_->process().pid(), "VmRSS:");
    if (HasFailure()) break;
  }
  std::printf(
      "soak: %u s, %u swaps, %ju requests, %ju intercepted connections, %ju KiB of its own when warm (%ju resident), "
      "at most %ju later\n",
      each * rounds, swaps_, requests_, intercepted_, warm, resident, most);
  const bool long_enough = seconds >= 60;  // a few seconds warm nothing up
  if (kMemoryIsOurs && long_enough) {
    EXPECT_LE(most, warm + resident / 20) << "grown by more than 5 % of what was resident when it was warm";
  }
  proxy_->process().signal(SIGTERM);
  EXPECT_EQ(proxy_->process().wait(), 0) << proxy_->process().output();
}

}  // namespace
}  // namespace bloomwall::test
