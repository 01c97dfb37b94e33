// SIGHUP and `bloomwall reload` with files that are good, broken, foreign or half there: the running filter stays until
// a whole new one is ready, and every refusal says which file and why.
// SPDX-License-Identifier: Apache-2.0
#include <fcntl.h>
#include <gtest/gtest.h>
#include <linux/capability.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <thread>

#include "tests/end_to_end/servers.h"
#include "tests/support/scripted_peer.h"

namespace bloomwall::test {
namespace {

constexpr const char* kReloadYaml = R"(
filters: [{name: sample, file: test.bwf}]
access: {deny_destinations: []}
log: {access: {file: off}}
dns: {hosts: {one.example.test: 127.0.0.1, two.example.test: 127.0.0.1}}
)";

class Reload : public testing::Test {
 protected:
  void SetUp() override {
    if (!have_program("curl")) GTEST_SKIP() << "needs curl";
    build("one.example.test\n");
    proxy_ = std::make_unique<Proxy>(folder_, kReloadYaml);
    ASSERT_EQ(status("one.example.test"), "403");
  }
  void build(const std::string& list) { build_filter(file_, list, {"--format", "domains"}); }
  // 403 blocked; 502 passed, since nobody listens on that port.
  std::string status(const std::string& host) const {
    const auto got = run({"curl", "-s", "-o", "/dev/null", "-w", "%{http_code}", "-m", "20", "-x", proxy_->url(),
                          "http://" + host + ":" + std::to_string(closed_port_) + "/"});
    return got.out;
  }
  std::string bytes() const {
    std::ifstream in(file_, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
  }
  // Replaces the file as a careless script would that does not write in place: a new file under the same name.
  void replace(const std::string& content) {
    folder_.write("next", content);
    std::filesystem::rename(folder_.path("next"), file_);
  }
  void expect_refused(const std::string& why) {
    const auto answer = proxy_->reload();
    EXPECT_EQ(answer.status, 1) << why << ": " << answer.out;
    EXPECT_NE(answer.out.find("test.bwf"), std::string::npos) << why << ": " << answer.out;
    EXPECT_EQ(status("one.example.test"), "403") << why << ": the old filter must serve on";
    EXPECT_EQ(status("two.example.test"), "502") << why;
  }

  TempDir folder_;
  const std::string file_ = folder_.path("test.bwf");
  const std::uint16_t closed_port_ = closed_port();
  std::unique_ptr<Proxy> proxy_;
};

TEST_F(Reload, FollowsTheNewFileAndKeepsTheSeries) {
  build("two.example.test\n");
  const auto answer = proxy_->reload();
  EXPECT_EQ(answer.status, 0) << answer.out;
  EXPECT_EQ(status("one.example.test"), "502");
  EXPECT_EQ(status("two.example.test"), "403");
}

// A file that was replaced takes up its room on the disk for as long as somebody has it open; a copy is served.
TEST_F(Reload, LetsGoOfTheFile) {
  const auto open_filters = [&] {
    std::vector<std::string> names;
    std::error_code gone;  // a descriptor that was closed since it was listed
    for (const auto& fd :
         std::filesystem::directory_iterator("/proc/" + std::to_string(proxy_->process().pid()) + "/fd")) {
      const std::string name = std::filesystem::read_symlink(fd, gone).string();
      if (name.starts_with(file_)) names.push_back(name);
    }
    return names;
  };
  for (const char* list : {"two.example.test\n", "one.example.test\n"}) {
    build(list);
    ASSERT_EQ(proxy_->reload().status, 0);
    const auto end = std::chrono::steady_clock::now() + Seconds(10);
    while (!open_filters().empty() && std::chrono::steady_clock::now() < end)
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    EXPECT_EQ(open_filters(), std::vector<std::string>{});
  }
}

TEST_F(Reload, SighupDoesTheSame) {
  build("two.example.test\n");
  const auto seen = proxy_->process().lines();
  proxy_->process().signal(SIGHUP);
  ASSERT_TRUE(proxy_->process().wait_for_line("reload", Seconds(20), seen)) << proxy_->process().output();
  EXPECT_EQ(proxy_->reload().status, 0);  // ordered after the first: when it answers, both are done
  EXPECT_EQ(status("two.example.test"), "403");
}

TEST_F(Reload, RefusesBrokenFilesAndServesOn) {
  const std::string whole = bytes();
  ASSERT_GT(whole.size(), 8192U);
  build("one.example.test\nnewer.example.test\n");
  const std::string newer = bytes();
  replace(whole);
  for (const std::size_t length : {std::size_t{0}, std::size_t{100}, std::size_t{4096}, whole.size() - 1}) {
    replace(whole.substr(0, length));
    expect_refused("truncated to " + std::to_string(length));
  }
  for (const std::size_t at : {std::size_t{3}, std::size_t{200}, std::size_t{5000}, whole.size() - 2}) {
    std::string flipped = newer;  // of what is served behind the header nothing is read
    flipped[at] = static_cast<char>(flipped[at] ^ 0x10);
    replace(flipped);
    expect_refused("bit flipped at " + std::to_string(at));
  }
  replace(std::string(100000, 'x'));
  expect_refused("foreign");
  replace(newer.substr(0, newer.size() / 2) + std::string(newer.size() - newer.size() / 2, '\0'));
  expect_refused("half written");
  std::filesystem::remove(file_);
  expect_refused("missing");
  replace(whole);
  EXPECT_EQ(proxy_->reload().status, 0);
}

TEST_F(Reload, RefusesABrokenConfigurationAndServesOn) {
  folder_.write("bloomwall.yaml", "filters: [{name: sample, file: test.bwf, actoin: block}]\n");
  const auto answer = proxy_->reload();
  EXPECT_EQ(answer.status, 1) << answer.out;
  EXPECT_NE(answer.out.find("actoin"), std::string::npos) << answer.out;
  EXPECT_EQ(status("one.example.test"), "403");
}

TEST_F(Reload, AFileThatShrinksUnderTheProxyChangesNothing) {  // what is too large for a copy: changed_files_test.cc
  std::filesystem::resize_file(file_, 4096);
  EXPECT_EQ(status("one.example.test"), "403");
  EXPECT_EQ(status("two.example.test"), "502");
  EXPECT_FALSE(proxy_->process().wait(Seconds(0)).has_value()) << proxy_->process().output();
}

// A configuration that became a pipe, or lies on a server that is gone: whoever reads it waits for ever.
TEST_F(Reload, OneThatIsStuckDoesNotHoldUpTheEnd) {
  std::filesystem::remove(proxy_->config());
  ASSERT_EQ(::mkfifo(proxy_->config().c_str(), 0600), 0);
  proxy_->process().signal(SIGHUP);
  ASSERT_TRUE(proxy_->process().wait_for_line("reload asked for")) << proxy_->process().output();
  EXPECT_EQ(status("one.example.test"), "403") << "meanwhile it serves";
  proxy_->process().signal(SIGTERM);
  EXPECT_EQ(proxy_->process().wait(Seconds(20)), 0);
  EXPECT_NE(proxy_->process().output().find("the reload in progress does not end"), std::string::npos);
}

// Nothing that a killed process leaves, half a reload and a socket nobody listens on, is in the way of the next.
TEST_F(Reload, KilledInTheMiddleOfOneItStartsAgain) {
  const std::string config = proxy_->config();
  std::filesystem::rename(config, config + ".kept");
  ASSERT_EQ(::mkfifo(config.c_str(), 0600), 0);
  Process asker({bloomwall_program(), "reload", "--config", config + ".kept"});
  const int pipe = ::open(config.c_str(), O_WRONLY | O_CLOEXEC);  // returns once the reload reads it
  ASSERT_GE(pipe, 0);
  proxy_->process().signal(SIGKILL);
  EXPECT_EQ(asker.wait(), 2) << asker.output();
  EXPECT_NE(asker.output().find("went away before it answered"), std::string::npos) << asker.output();
  ::close(pipe);
  std::filesystem::remove(config);
  ASSERT_TRUE(std::filesystem::exists(folder_.path("control.sock")));
  proxy_ = std::make_unique<Proxy>(folder_, kReloadYaml);
  EXPECT_EQ(status("one.example.test"), "403");
  EXPECT_EQ(proxy_->reload().status, 0);
}

// In the child that becomes the proxy: root could raise the limit again.
bool leave_few_descriptors() {
  ::prctl(PR_CAPBSET_DROP, CAP_SYS_RESOURCE, 0, 0, 0);
  const rlimit few{.rlim_cur = 512, .rlim_max = 512};
  return ::setrlimit(RLIMIT_NOFILE, &few) == 0;
}

TEST(ReloadWarning, ThatClientsLackDescriptorsIsSaidOnce) {
  const TempDir folder;
  const std::string yaml = "access: {deny_destinations: []}\nlog: {access: {file: off}}\n";
  const std::string warning = "file descriptors, and this process may have 512";
  Proxy proxy(folder, yaml, Proxy::Admin::off, leave_few_descriptors);
  ASSERT_TRUE(proxy.process().wait_for_line(warning)) << proxy.process().output();
  for (int i = 0; i < 3; ++i) {
    const auto again = proxy.reload();
    EXPECT_EQ(again.status, 0) << again.out;
    EXPECT_EQ(again.out.find(warning), std::string::npos) << again.out;
  }
  const std::string output = proxy.process().output();
  EXPECT_EQ(output.find(warning), output.rfind(warning)) << output;
  proxy.configure(folder, yaml + "limits: {client_connections: 10000}\n");
  EXPECT_NE(proxy.reload().out.find(warning), std::string::npos) << "other numbers are news";
}

TEST_F(Reload, MissingFilterAtStartIs2AndBadConfigurationIs78) {
  const std::string missing = folder_.write("missing.yaml", "filters: [{name: a, file: nowhere.bwf}]\n");
  EXPECT_EQ(run({bloomwall_program(), "run", "--config", missing}).status, 2);
  EXPECT_EQ(run({bloomwall_program(), "check", "--config", missing}).status, 2);
  const std::string wrong = folder_.write("wrong.yaml", "workers: many\n");
  const auto got = run({bloomwall_program(), "run", "--config", wrong});
  EXPECT_EQ(got.status, 78) << got.out;
  EXPECT_NE(got.out.find("wrong.yaml:1:10"), std::string::npos) << got.out;
  EXPECT_EQ(run({bloomwall_program(), "check", "--config", wrong}).status, 78);
}

TEST_F(Reload, NobodyToAskIs2) {
  const std::string other = folder_.write("other.yaml", "admin: {control_socket: nobody.sock}\n");
  EXPECT_EQ(run({bloomwall_program(), "reload", "--config", other}).status, 2);
}

}  // namespace
}  // namespace bloomwall::test
