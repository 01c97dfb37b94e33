// Everything at once for a long time: clients, tunnels, downloads, TLS that the proxy ends (full and resumed
// handshakes, block pages), all by a user whose group has a schedule, an open dashboard, and every second a new filter
// by SIGHUP and an exception. Lists are updated every few seconds; in the first round and in the last ones the program
// is upgraded. Nothing may be lost or changed, and what the proxy holds in memory stays flat. BLOOMWALL_SOAK_SECONDS
// says how long (`./dev soak`: ten minutes and more); without it a few seconds, which prove that it runs.
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <optional>
#include <thread>

#include "tests/end_to_end/dashboard_load.h"
#include "tests/end_to_end/load.h"
#include "tests/end_to_end/servers.h"
#include "tests/end_to_end/tls_load.h"
#include "tests/support/scripted_peer.h"

namespace bloomwall::test {
namespace {

#ifdef BLOOMWALL_SANITIZED
constexpr bool kMemoryIsOurs = false;  // a sanitizer's own memory would be measured
#else
constexpr bool kMemoryIsOurs = true;
#endif

constexpr const char* kSoakYaml = R"(
filters:
- {name: swapped, file: live.bwf}
- {name: updated, file: updated.bwf, sources: [{url: list.txt}]}
update: {folder: lists}
query_log: {record: all}
timeouts: {announce: 0, drain: 60s}
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

// Exit status of a process whose parent is gone; nothing where it still runs after a minute. It is ours: SetUp().
std::optional<int> end_of(pid_t pid) {
  const int pidfd = static_cast<int>(::syscall(SYS_pidfd_open, pid, 0));
  pollfd ready{pidfd, POLLIN, 0};
  const int events = ::poll(&ready, 1, 60'000);
  ::close(pidfd);
  int status = 0;
  if (events != 1 || ::waitpid(pid, &status, 0) != pid) return std::nullopt;
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

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
    ::prctl(PR_SET_CHILD_SUBREAPER, 1);  // successors of the proxy become children of this process
    write_list();
    build_filter(folder_.path("updated.bwf"), "first.example.test\n");
    proxy_ = std::make_unique<Proxy>(folder_, kSoakYaml, Proxy::Admin::on);
    pid_ = proxy_->process().pid();
    const auto token = command({"token", "add", "soak", "--role", "admin", "--for", "1d"});
    token_ = token.out.substr(0, token.out.find('\n'));
  }
  void TearDown() override {
    proxy_.reset();
    ::prctl(PR_SET_CHILD_SUBREAPER, 0);
  }
  Finished command(std::vector<std::string> words) const {
    words.insert(words.begin(), bloomwall_program());
    words.insert(words.end(), {"--config", proxy_->config()});
    Finished done = run(words);
    EXPECT_EQ(done.status, 0) << words[1] << ": " << done.out;
    return done;
  }
  void write_list() const {
    std::string list;
    for (unsigned i = 0; i < 1000; ++i) list += "listed" + std::to_string(swaps_ + i) + ".example.test\n";
    folder_.write("next.txt", list);
    std::filesystem::rename(folder_.path("next.txt"), folder_.path("list.txt"));
  }
  void update() const {
    write_list();
    command({"update", "updated"});
  }
  // The successor's number is in pid_; the old one ends once the load has.
  pid_t upgrade() {
    command({"upgrade"});
    ScriptedPeer peer = ScriptedPeer::connect(proxy_->admin_port());
    peer.send("GET /api/v1/status HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\nAuthorization: Bearer " + token_ +
              "\r\n\r\n");
    const std::string answer = peer.read_to_end();
    const auto at = answer.find("\"pid\":");
    const pid_t old = pid_;
    if (at == std::string::npos) {
      ADD_FAILURE() << answer;
    } else {
      pid_ = std::stoi(answer.substr(at + 6));
    }
    EXPECT_NE(pid_, old);
    return old;
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
            .tunnels = 10,
            .reconnects = true};
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
    command({swaps_ % 2 == 0 ? "allow" : "deny", "host" + std::to_string(swaps_) + ".example.test", "--for", "30s",
             "--why", "soak"});
  }
  // One load from beginning to end, with a swap and an exception a second; then what is left in memory.
  std::uint64_t round(unsigned seconds, bool upgrades) {
    const auto end = std::chrono::steady_clock::now() + Seconds(seconds);
    Load load(plan());
    TlsLoad tls_load(tls_plan());
    DashboardLoad dashboard(proxy_->admin_port(), token_);
    const pid_t old = upgrades ? upgrade() : -1;
    for (unsigned i = 0; std::chrono::steady_clock::now() < end; ++i) {
      publish(++swaps_ % 2 == 0 ? "a" : "b");
      const auto next = std::chrono::steady_clock::now() + Seconds(1);
      ::kill(pid_, SIGHUP);
      command({"reload"});
      except();
      if (i % 5 == 0) update();
      std::this_thread::sleep_until(std::min(next, end));
    }
    check(load.stop(), tls_load.stop(), dashboard.stop());
    if (upgrades) {
      EXPECT_EQ(old == proxy_->process().pid() ? proxy_->process().wait() : end_of(old), 0);
    }
    return memory_of(pid_, "RssAnon:");
  }
  void check(const LoadReport& report, const TlsLoadReport& tls, const DashboardReport& dashboard) {
    EXPECT_EQ(report.failure_count, 0U) << testing::PrintToString(report.failures);
    EXPECT_EQ(report.download_bytes, kDownload);
    requests_ += report.requests;
    EXPECT_EQ(tls.failure_count, 0U) << testing::PrintToString(tls.failures);
    EXPECT_GT(tls.blocked, 0U);
    EXPECT_GT(tls.resumed, 0U);
    intercepted_ += tls.full + tls.resumed;
    EXPECT_EQ(dashboard.failure_count, 0U) << testing::PrintToString(dashboard.failures);
    EXPECT_GT(dashboard.answers, 0U);
    EXPECT_GT(dashboard.lines, 0U);
    shown_ += dashboard.lines;
    answers_ += dashboard.answers;
  }

  const TempDir folder_;
  const std::string body_ = std::string(1024, 's');
  const EchoServer echo_;
  std::unique_ptr<Nginx> nginx_;
  std::unique_ptr<Proxy> proxy_;
  pid_t pid_ = -1;  // of the proxy that serves
  std::string token_;
  unsigned swaps_ = 0;
  std::uint64_t requests_ = 0, intercepted_ = 0, answers_ = 0, shown_ = 0;
};

TEST_F(Soak, NothingIsLostAndMemoryStaysFlat) {
  const unsigned seconds = soak_seconds();
  const unsigned rounds = std::clamp(seconds / 10, 3U, 60U), each = std::max(seconds / rounds, 1U);
  std::uint64_t warm = 0, most = 0, resident = 0;
  for (unsigned i = 0; i < rounds; ++i) {
    const std::uint64_t held = round(each, i == 0 || i + rounds / 6 + 1 >= rounds);
    ASSERT_GT(held, 0U) << proxy_->process().output();
    (i < rounds / 3 ? warm : most) = std::max(i < rounds / 3 ? warm : most, held);
    if (i < rounds / 3) resident = memory_of(pid_, "VmRSS:");
    if (HasFailure()) break;
  }
  std::printf(
      "soak: %u s, %u swaps, %ju requests, %ju intercepted connections, %ju answers of the API, %ju lines of streams, "
      "%ju KiB of its own when warm (%ju resident), at most %ju later\n",
      each * rounds, swaps_, requests_, intercepted_, answers_, shown_, warm, resident, most);
  const bool long_enough = seconds >= 60;  // a few seconds warm nothing up
  if (kMemoryIsOurs && long_enough) {
    EXPECT_LE(most, warm + resident / 20) << "grown by more than 5 % of what was resident when it was warm";
  }
  ::kill(pid_, SIGTERM);
  EXPECT_EQ(end_of(pid_), 0) << proxy_->process().output();
}

}  // namespace
}  // namespace bloomwall::test
