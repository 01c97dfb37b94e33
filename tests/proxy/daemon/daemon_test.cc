// The whole daemon inside the test: signals, systemd, control socket, admin address, logs, with real files and sockets.
// SPDX-License-Identifier: Apache-2.0
#include "proxy/daemon/daemon.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <chrono>
#include <fstream>
#include <future>
#include <iterator>
#include <memory>
#include <sstream>
#include <thread>

#include "proxy/api/http_server.h"
#include "proxy/cli/commands.h"
#include "proxy/daemon/signals.h"
#include "proxy/log/log.h"
#include "tests/support/loop_thread.h"
#include "tests/support/notify_socket.h"
#include "tests/support/scripted_peer.h"
#include "tests/support/site.h"
#include "tests/support/test_certificate.h"

namespace bloomwall::proxy {
namespace {

using namespace std::chrono_literals;
using test::LoopThread;
using test::NotifySocket;
using test::ScriptedListener;
using test::ScriptedPeer;
using test::Site;

constexpr const char* kSettings = R"(
admin: {address: "127.0.0.1:0", control_socket: c.sock}
log: {file: daemon.log, access: {file: access.log}}
access: {connect_ports: [], deny_destinations: []}
dns: {hosts: {listed.example.test: 127.0.0.1, other.example.test: 127.0.0.1}}
timeouts: {announce: 0}
)";

class DaemonTest : public testing::Test {
 protected:
  void TearDown() override {
    if (!served_.valid()) return;
    signal(SIGINT);
    EXPECT_EQ(served_.wait_for(20s), std::future_status::ready);
  }
  void start() {
    served_ = std::async(std::launch::async, [this] {
      std::istringstream in;
      std::ostringstream out;
      return run_serve({config_}, {.in = in, .out = out, .err = messages_});
    });
  }
  void start_and_wait() {
    start();
    ASSERT_NE(systemd_.wait_for("READY=1"), "") << log();
    port_ = port_behind("listening on 127.0.0.1:");
    admin_port_ = port_behind("admin on 127.0.0.1:");
  }
  int exit_status() {
    if (served_.wait_for(20s) != std::future_status::ready) return -1;
    return served_.get();
  }
  static void signal(int number) { ::kill(::getpid(), number); }
  std::string read(const std::string& name) const {
    std::ifstream in(site_.dir.path() / name, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
  }
  std::string log() const {
    flush_log(20s);
    return read("daemon.log");
  }
  std::uint16_t port_behind(const std::string& mark) const {
    const std::string text = log();
    const auto at = text.find(mark);
    EXPECT_NE(at, std::string::npos) << text;
    return at == std::string::npos ? std::uint16_t{0}
                                   : static_cast<std::uint16_t>(std::stoi(text.substr(at + mark.size())));
  }
  std::string admin(const std::string& path) const {
    auto peer = ScriptedPeer::connect(admin_port_);
    peer.send("GET " + path + " HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n");
    return peer.read_to_end();
  }
  // 403: blocked. 502: passed, since nobody listens there.
  std::string status_of(const std::string& host) const {
    auto peer = ScriptedPeer::connect(port_);
    const std::string authority = host + ":" + std::to_string(closed_);
    peer.send("GET http://" + authority + "/ HTTP/1.1\r\nHost: " + authority + "\r\nConnection: close\r\n\r\n");
    return peer.read_to_end().substr(9, 3);
  }
  std::pair<int, std::string> reload() const {
    std::istringstream in;
    std::ostringstream out, err;
    const int status = run_reload({config_}, {.in = in, .out = out, .err = err});
    return {status, out.str() + err.str()};
  }
  std::pair<int, std::string> health() const {
    std::istringstream in;
    std::ostringstream out;
    const int status = run_health({config_}, {.in = in, .out = out, .err = out});
    return {status, out.str()};
  }
  // An open tunnel through the proxy, with a byte through it.
  ScriptedPeer tunnel(ScriptedListener& origin, std::optional<ScriptedPeer>& other_end) const {
    auto peer = ScriptedPeer::connect(port_);
    peer.send("CONNECT " + origin.authority() + " HTTP/1.1\r\nHost: " + origin.authority() + "\r\n\r\n");
    EXPECT_NE(peer.read_head().find(" 200 "), std::string::npos);
    other_end.emplace(origin.accept());
    peer.send("a");
    other_end->expect("a");
    return peer;
  }

  const bool blocked_ = (block_signals(), true);  // first: every thread from here on inherits it
  Site site_;
  const std::filesystem::path config_ = site_.configure(kSettings);
  const NotifySocket systemd_;
  const std::uint16_t closed_ = test::closed_port();
  std::ostringstream messages_;
  std::future<int> served_;
  std::uint16_t port_ = 0, admin_port_ = 0;
};

TEST_F(DaemonTest, ServesUntilItIsTold) {
  start_and_wait();
  EXPECT_EQ(status_of("listed.example.test"), "403");
  EXPECT_EQ(status_of("other.example.test"), "502");
  EXPECT_NE(admin("/readyz").find(" 200 "), std::string::npos);
  EXPECT_NE(admin("/metrics").find("bloomwall_filter_entries{filter=\"ads\"} 2\n"), std::string::npos);
  signal(SIGTERM);
  EXPECT_EQ(systemd_.wait_for("STOPPING=1"), "STOPPING=1\nSTATUS=draining");
  EXPECT_EQ(exit_status(), 0);
  EXPECT_FALSE(std::filesystem::exists(site_.dir.path() / "c.sock"));
  EXPECT_NE(read("access.log").find("listed.example.test"), std::string::npos) << "written out before the end";
}

TEST_F(DaemonTest, AFirstLoadThatFailsIsTheEnd) {
  std::filesystem::remove(site_.dir.path() / "ads.bwf");
  start();
  EXPECT_EQ(exit_status(), 2);
  EXPECT_NE(read("daemon.log").find("ads.bwf"), std::string::npos);
  std::string all;
  for (std::string message; !(message = systemd_.next(0ms)).empty();) all += message;
  EXPECT_EQ(all.find("READY=1"), std::string::npos) << all;
}

TEST_F(DaemonTest, AListenerThatIsTakenIsTheEnd) {
  const ScriptedListener other;
  site_.dir.write("bloomwall.yaml", "listeners: [{address: \"" + other.authority() +
                                        "\"}]\nadmin: {address: null, control_socket: null}\nlog: {file: daemon.log, "
                                        "access: {file: off}}\n");
  start();
  EXPECT_EQ(exit_status(), 2);
  EXPECT_NE(read("daemon.log").find("listeners[0] " + other.authority() + ": Address already in use"),
            std::string::npos);
  EXPECT_NE(messages_.str().find("daemon.log says why it ended"), std::string::npos) << messages_.str();
}

TEST_F(DaemonTest, RequestsNeverGoToItsAdminAddress) {
  start_and_wait();
  auto peer = ScriptedPeer::connect(port_);
  const std::string authority = "127.0.0.1:" + std::to_string(admin_port_);
  peer.send("GET http://" + authority + "/metrics HTTP/1.1\r\nHost: " + authority + "\r\nConnection: close\r\n\r\n");
  EXPECT_NE(peer.read_to_end().find("proxy_loop_detected"), std::string::npos);
}

TEST_F(DaemonTest, AReloadThatAnotherInstanceAnswersIsNoSuccess) {
  start_and_wait();
  std::filesystem::copy_file(config_, site_.dir.path() / "second.yaml");
  std::istringstream in;
  std::ostringstream out;
  EXPECT_EQ(run_reload({site_.dir.path() / "second.yaml"}, {.in = in, .out = out, .err = out}), 1);
  EXPECT_NE(out.str().find("bloomwall.yaml and not "), std::string::npos) << out.str();
  EXPECT_EQ(reload().first, 0);
}

TEST_F(DaemonTest, SighupTellsSystemdAndServesTheNewFile) {
  start_and_wait();
  site_.make_filter({"S other.example.test"});
  signal(SIGHUP);
  EXPECT_NE(systemd_.wait_for("RELOADING=1"), "");
  EXPECT_NE(systemd_.wait_for("READY=1").find("generation 2: 1 filter (1 entry)"), std::string::npos);
  EXPECT_EQ(status_of("other.example.test"), "403");
  EXPECT_EQ(status_of("listed.example.test"), "502");
}

TEST_F(DaemonTest, AReloadThatFailsChangesNothingAndSaysWhy) {
  start_and_wait();
  site_.dir.write("ads.bwf", "not a filter");
  const auto [status, said] = reload();
  EXPECT_EQ(status, 1);
  EXPECT_NE(said.find("ads.bwf"), std::string::npos) << said;
  EXPECT_NE(said.find("generation 1 stays in use"), std::string::npos) << said;
  EXPECT_EQ(status_of("listed.example.test"), "403");
  EXPECT_NE(admin("/metrics").find("bloomwall_filter_reload_total{result=\"failure\"} 1\n"), std::string::npos);
  site_.make_filter({"S other.example.test"});
  EXPECT_EQ(reload().first, 0);
  EXPECT_EQ(status_of("listed.example.test"), "502");
}

TEST_F(DaemonTest, WhatNeedsARestartIsNamed) {
  start_and_wait();
  site_.dir.write("bloomwall.yaml",
                  "listeners: [{address: \"127.0.0.1:0\"}, {address: \"[::1]:0\"}]\nworkers: 7\n"
                  "filters: [{name: ads, file: ads.bwf}]\n" +
                      std::string(kSettings));
  const auto [status, said] = reload();
  EXPECT_EQ(status, 0);
  EXPECT_NE(said.find("takes effect after a restart only: listeners, workers"), std::string::npos) << said;
  EXPECT_NE(log().find("warning reload: takes effect after a restart only"), std::string::npos);
}

TEST_F(DaemonTest, ACertificateThatIsOutOfDateIsToldOf) {
  test::make_certificate(site_.dir.path(), "proxy", "proxy.test");
  site_.dir.write("bloomwall.yaml",
                  "listeners: [{address: \"127.0.0.1:0\", tls: {certificate: proxy.crt, key: proxy.key}}]\n" +
                      std::string(kSettings));
  start_and_wait();
  EXPECT_NE(log().find("start: listeners[0].tls: the certificate expires on"), std::string::npos) << log();
  test::make_certificate(site_.dir.path(), "proxy", "proxy.test", -30s);
  for (int i = 0; i < 2; ++i) {
    const auto [status, said] = reload();
    EXPECT_EQ(status, 0) << said;
    EXPECT_NE(said.find("listeners[0].tls: the certificate has expired on"), std::string::npos) << said;
  }
}

TEST_F(DaemonTest, LogsAreReopenedOnSigusr1AndSighup) {
  start_and_wait();
  status_of("listed.example.test");
  for (const int number : {SIGUSR1, SIGHUP}) {
    for (const char* name : {"access.log", "daemon.log"}) {
      std::filesystem::rename(site_.dir.path() / name, site_.dir.path() / (std::string(name) + ".1"));
    }
    signal(number);
    // Signals and the control socket are served by one loop, in order of their coming within a turn or the next.
    EXPECT_EQ(reload().first, 0);
    EXPECT_EQ(reload().first, 0);
    status_of("listed.example.test");
    EXPECT_TRUE(std::filesystem::exists(site_.dir.path() / "access.log")) << number;
    EXPECT_NE(log().find("generation"), std::string::npos) << number;
  }
}

TEST_F(DaemonTest, LogSettingsFollowAReload) {
  start_and_wait();
  site_.configure(R"(
admin: {address: "127.0.0.1:0", control_socket: c.sock}
log: {level: debug, file: other.log, access: {file: other-access.log}}
)");
  EXPECT_EQ(reload().first, 0);
  EXPECT_EQ(reload().first, 0);
  log();
  EXPECT_NE(read("other.log").find("generation 3"), std::string::npos);
  EXPECT_TRUE(log::wanted(log::Level::debug));
}

TEST_F(DaemonTest, HealthSaysWhetherItServes) {
  const auto [nobody, why] = health();
  EXPECT_EQ(nobody, 2);
  EXPECT_NE(why.find("no bloomwall listens there"), std::string::npos) << why;
  start_and_wait();
  EXPECT_EQ(health(), (std::pair<int, std::string>(0, "serving\n")));
  ScriptedListener origin;
  std::optional<ScriptedPeer> other_end;
  const auto client = tunnel(origin, other_end);
  signal(SIGTERM);
  EXPECT_NE(systemd_.wait_for("EXTEND_TIMEOUT_USEC"), "");
  EXPECT_EQ(health(), (std::pair<int, std::string>(1, "draining\n")));
  signal(SIGINT);
}

TEST_F(DaemonTest, DrainingWaitsForTunnelsAndASecondTermDoesNot) {
  start_and_wait();
  ScriptedListener origin;
  std::optional<ScriptedPeer> other_end;
  auto client = tunnel(origin, other_end);
  signal(SIGTERM);
  EXPECT_NE(systemd_.wait_for("EXTEND_TIMEOUT_USEC"), "");
  const std::string ready = admin("/readyz");
  EXPECT_NE(ready.find(" 503 "), std::string::npos) << ready;
  EXPECT_TRUE(ready.ends_with("draining\n")) << ready;
  EXPECT_EQ(reload().first, 1) << "no reload while draining";
  client.send("still here");
  other_end->expect("still here");
  EXPECT_EQ(served_.wait_for(0ms), std::future_status::timeout);
  signal(SIGTERM);
  EXPECT_EQ(exit_status(), 0);
}

// The configuration is a pipe, so that the test decides how long reading it lasts.
TEST_F(DaemonTest, AReloadThatTheEndOvertakesSaysSo) {
  start_and_wait();
  ScriptedListener origin;
  std::optional<ScriptedPeer> other_end;
  auto client = tunnel(origin, other_end);
  const std::string text = read("bloomwall.yaml");
  std::filesystem::copy_file(config_, site_.dir.path() / "copy.yaml");
  const std::filesystem::path fifo = site_.dir.path() / "fifo";
  ASSERT_EQ(::mkfifo(fifo.c_str(), 0600), 0);
  ASSERT_EQ(reload().first, 0) << "before which the files were looked at";
  std::filesystem::rename(fifo, config_);
  auto asked = std::async(std::launch::async, [&] {
    std::istringstream in;
    std::ostringstream out;
    run_reload({site_.dir.path() / "copy.yaml"}, {.in = in, .out = out, .err = out});
    return out.str();
  });
  const int pipe = ::open(config_.c_str(), O_WRONLY | O_CLOEXEC);  // returns once it is being read
  ASSERT_GE(pipe, 0);
  signal(SIGTERM);
  EXPECT_NE(systemd_.wait_for("STOPPING=1"), "");
  EXPECT_EQ(::write(pipe, text.data(), text.size()), static_cast<ssize_t>(text.size()));
  ::close(pipe);
  ASSERT_EQ(asked.wait_for(20s), std::future_status::ready);
  EXPECT_NE(asked.get().find("bloomwall is stopping"), std::string::npos);
  client.send("still here");
  other_end->expect("still here");
  signal(SIGTERM);
  EXPECT_EQ(exit_status(), 0);
}

TEST_F(DaemonTest, DrainingEndsWithTheLastTunnel) {
  start_and_wait();
  ScriptedListener origin;
  std::optional<ScriptedPeer> other_end;
  auto client = tunnel(origin, other_end);
  signal(SIGTERM);
  EXPECT_NE(systemd_.wait_for("STOPPING=1"), "");
  client.close();
  other_end->expect_end();
  other_end->close();
  EXPECT_EQ(exit_status(), 0);
}

TEST_F(DaemonTest, TheEndIsAnnouncedBeforeListenersClose) {
  std::string settings = kSettings;
  settings.replace(settings.find("announce: 0"), 11, "announce: 1h");
  site_.configure(settings);
  start_and_wait();
  signal(SIGTERM);
  EXPECT_NE(systemd_.wait_for("STOPPING=1"), "");
  const std::string ready = admin("/readyz");
  EXPECT_NE(ready.find(" 503 "), std::string::npos) << ready;
  EXPECT_EQ(status_of("listed.example.test"), "403") << "still accepted";
  auto kept = ScriptedPeer::connect(port_);
  kept.send("GET http://listed.example.test/ HTTP/1.1\r\nHost: listed.example.test\r\n\r\n");
  EXPECT_NE(kept.read_to_end().find("\r\nConnection: close\r\n"), std::string::npos);
  signal(SIGTERM);
  EXPECT_EQ(exit_status(), 0);
}

TEST_F(DaemonTest, AfterTheAnnouncementItDrainsAndSaysWhatWasCut) {
  std::string settings = kSettings;
  settings.replace(settings.find("announce: 0"), 11, "announce: 200ms, drain: 200ms");
  site_.configure(settings);
  start_and_wait();
  ScriptedListener origin;
  std::optional<ScriptedPeer> other_end;
  auto client = tunnel(origin, other_end);
  signal(SIGTERM);
  client.expect_end();
  EXPECT_EQ(exit_status(), 0);
  EXPECT_NE(read("daemon.log").find("draining for at most 200ms"), std::string::npos) << read("daemon.log");
  EXPECT_NE(read("daemon.log").find("1 tunnels and 0 requests were still in progress and were cut"), std::string::npos);
}

TEST_F(DaemonTest, SigintEndsNow) {
  start_and_wait();
  ScriptedListener origin;
  std::optional<ScriptedPeer> other_end;
  const auto client = tunnel(origin, other_end);
  signal(SIGINT);
  EXPECT_EQ(exit_status(), 0);
}

TEST_F(DaemonTest, ASocketThatCannotBeMadeIsAWarning) {
  site_.dir.write("c.sock", "in the way");
  start_and_wait();
  EXPECT_NE(log().find("warning admin.control_socket"), std::string::npos) << log();
}

TEST_F(DaemonTest, TheControlSocketOfAnotherInstanceIsTakenOverOnceThatHasEnded) {
  LoopThread loop;
  std::unique_ptr<HttpServer> other;
  loop.call([&] {
    auto opened = HttpServer::open_unix(loop.io, site_.dir.path() / "c.sock", HttpRoutes({}, std::nullopt), {});
    ASSERT_TRUE(opened.has_value()) << opened.error();
    other = *std::move(opened);
  });
  start_and_wait();
  EXPECT_NE(log().find("c.sock: Address already in use"), std::string::npos) << log();
  loop.call([&] { other.reset(); });
  test::comes_true([&] { return log().find("c.sock can be used now") != std::string::npos; });
  EXPECT_EQ(reload().first, 0) << log();
}

TEST_F(DaemonTest, TheWatchdogIsFed) {
  ::setenv("WATCHDOG_USEC", "400000", 1);
  start_and_wait();
  EXPECT_NE(systemd_.wait_for("WATCHDOG=1"), "");
  EXPECT_NE(systemd_.wait_for("WATCHDOG=1"), "");
  ::unsetenv("WATCHDOG_USEC");
}

TEST_F(DaemonTest, ABrokenConfigurationOrLogIsSaidOnStderr) {
  site_.configure("workers: many\n");
  start();
  EXPECT_EQ(exit_status(), 78);
  EXPECT_NE(messages_.str().find("bloomwall.yaml:3:10: workers"), std::string::npos) << messages_.str();
  site_.configure("log: {file: nowhere/daemon.log}\n");
  start();
  EXPECT_EQ(exit_status(), 2);
  site_.configure("log: {file: daemon.log, access: {file: nowhere/access.log}}\n");
  start();
  EXPECT_EQ(exit_status(), 2);
  EXPECT_NE(messages_.str().find("log.access.file: "), std::string::npos) << messages_.str();
}

}  // namespace
}  // namespace bloomwall::proxy
