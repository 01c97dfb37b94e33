// A delta that `bloomwall-filter update` writes, served by the running proxy after a SIGHUP: no rebuild, no restart.
// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <filesystem>

#include "tests/end_to_end/servers.h"
#include "tests/support/scripted_peer.h"

namespace bloomwall::test {
namespace {

using testing::HasSubstr;

constexpr int kListedNames = 300;

std::string yaml(const std::string& more) {
  return "filters: [{name: sample, file: test.bwf, delta: test.delta" + more +
         "}]\n"
         "access: {deny_destinations: []}\n"
         "log: {access: {file: off}}\n"
         "dns: {hosts: {goes.example.test: 127.0.0.1, comes.example.test: 127.0.0.1, h7.example.test: 127.0.0.1}}\n";
}

class ServedDelta : public testing::Test {
 protected:
  void SetUp() override {
    if (!have_program("curl")) GTEST_SKIP() << "needs curl";
    build();
    ASSERT_EQ(update({"--add", list("first.example.test\n")}).status, 0);
    proxy_ = std::make_unique<Proxy>(folder_, yaml(""), Proxy::Admin::on);
    ASSERT_EQ(status("goes.example.test/"), "403");
    ASSERT_EQ(status("comes.example.test/"), "502");
  }
  void build(const std::string& more = {}) const {
    std::string text = more + "goes.example.test\nhttp://comes.example.test/listed/\n";
    for (int i = 0; i < kListedNames; ++i) text += "h" + std::to_string(i) + ".example.test\n";
    build_filter(file_, text, {"--format", "urls"});
  }
  std::string list(const std::string& text) { return folder_.write("list" + std::to_string(++lists_), text); }
  Finished update(const std::vector<std::string>& more) const {
    std::vector<std::string> argv{filter_program(), "update", file_, "--delta", delta_};
    argv.insert(argv.end(), more.begin(), more.end());
    return run(argv);
  }
  // 403 blocked; 502 passed, since nobody listens on that port.
  std::string status(const std::string& host_and_path) const {
    const auto slash = host_and_path.find('/');
    return run({"curl", "-s", "--path-as-is", "-o", "/dev/null", "-w", "%{http_code}", "-m", "20", "-x", proxy_->url(),
                "http://" + host_and_path.substr(0, slash) + ":" + std::to_string(closed_port_) +
                    host_and_path.substr(slash)})
        .out;
  }
  // Returns once the log says that the reload is done.
  void hang_up() const {
    const std::size_t seen = proxy_->process().lines();
    proxy_->process().signal(SIGHUP);
    ASSERT_TRUE(proxy_->process().wait_for_line(" is served: ", Seconds(20), seen)) << proxy_->process().output();
  }
  std::string metrics() const {
    return run({"curl", "-s", "-m", "20", "http://127.0.0.1:" + std::to_string(proxy_->admin_port()) + "/metrics"}).out;
  }

  TempDir folder_;
  const std::string file_ = folder_.path("test.bwf"), delta_ = folder_.path("test.delta");
  const std::uint16_t closed_port_ = closed_port();
  int lists_ = 0;
  std::unique_ptr<Proxy> proxy_;
};

// The delta names each reading of an ambiguous URL; what was typed is blocked, and free again once it was taken away.
TEST_F(ServedDelta, AmbiguousUrlsAreAddedAndTakenAwayAsTyped) {
  const std::vector<std::string> paths{"/a%3fb",          "/x/%252e%252e/y", "/a%2f..%2fb",
                                       "/x%255c..%255cy", "/a//../b",        "/%2f"};
  std::string text = "plain.example.test\n";
  for (const std::string& path : paths) text += "http://comes.example.test" + path + "\n";
  const auto query = [&](const std::string& url) {
    return run({filter_program(), "query", file_, "--delta", delta_, url}).status;
  };
  const std::string both = list(text);
  for (const bool adds : {true, false}) {
    const auto updated = update({adds ? "--add" : "--remove", both});
    ASSERT_EQ(updated.status, 0) << updated.out;
    hang_up();
    for (const std::string& path : paths) {
      EXPECT_EQ(status("comes.example.test" + path), adds ? "403" : "502") << path;
      EXPECT_EQ(query("http://comes.example.test" + path), adds ? 1 : 0) << path;
    }
  }
}

TEST_F(ServedDelta, AddsAndRemovesAreServedAfterSighup) {
  const auto updated = update({"--add", list("comes.example.test\n"), "--remove",
                               list("goes.example.test\nhttp://comes.example.test/listed/\n")});
  ASSERT_EQ(updated.status, 0) << updated.out;
  EXPECT_EQ(status("goes.example.test/"), "403") << "nothing changes before the signal";
  EXPECT_EQ(status("comes.example.test/"), "502");
  hang_up();
  EXPECT_EQ(status("goes.example.test/"), "502");
  EXPECT_EQ(status("comes.example.test/"), "403");
  EXPECT_EQ(status("h7.example.test/"), "403") << "what the delta does not name stays";
  ASSERT_EQ(update({"--add", list("goes.example.test\n"), "--remove", list("comes.example.test\n")}).status, 0);
  hang_up();
  EXPECT_EQ(status("goes.example.test/"), "403") << "the last word counts";
  EXPECT_EQ(status("comes.example.test/"), "502");
  EXPECT_EQ(status("comes.example.test/listed/x"), "502") << "the delta kept what it said before";
}

TEST_F(ServedDelta, WhenARebuildIsDueLogAndMetricSaySo) {
  EXPECT_THAT(metrics(), HasSubstr("bloomwall_filter_rebuild_due{filter=\"sample\"} 0\n"));
  std::string adds;
  for (int i = 0; i < kListedNames / 50 + 1; ++i) adds += "new" + std::to_string(i) + ".example.test\n";  // over 2 %
  ASSERT_EQ(update({"--add", list(adds)}).status, 0);
  const std::size_t seen = proxy_->process().lines();
  hang_up();
  EXPECT_TRUE(proxy_->process().wait_for_line("a rebuild is due", Seconds(20), seen)) << proxy_->process().output();
  EXPECT_THAT(metrics(), HasSubstr("bloomwall_filter_rebuild_due{filter=\"sample\"} 1\n"));
  EXPECT_THAT(metrics(), HasSubstr("bloomwall_filter_delta_entries{filter=\"sample\"} 8\n"));
  proxy_->configure(folder_, yaml(", rebuild_at: 10%"));
  hang_up();
  EXPECT_THAT(metrics(), HasSubstr("bloomwall_filter_rebuild_due{filter=\"sample\"} 0\n"));
}

TEST_F(ServedDelta, ARebuiltFilterRefusesTheOldDeltaUntilItIsRebased) {
  ASSERT_EQ(update({"--add", list("comes.example.test\n"), "--remove", list("goes.example.test\n")}).status, 0);
  hang_up();
  build();  // of the same list: the delta still fits
  hang_up();
  EXPECT_EQ(status("goes.example.test/"), "502");
  build("more.example.test\n");
  const auto answer = proxy_->reload();
  EXPECT_EQ(answer.status, 1) << answer.out;
  const std::string command = "bloomwall-filter update " + file_ + " --delta " + delta_ + " --rebase";
  EXPECT_THAT(answer.out, HasSubstr(command));
  EXPECT_EQ(status("goes.example.test/"), "502") << "the old filter and its delta";
  EXPECT_EQ(status("h7.example.test/"), "403");
  const auto rebased = update({"--rebase"});
  ASSERT_EQ(rebased.status, 0) << rebased.out;
  EXPECT_THAT(rebased.out, HasSubstr("1 removals were left behind"));
  hang_up();
  EXPECT_EQ(status("goes.example.test/"), "403") << "the rebuilt list has it";
  EXPECT_EQ(status("comes.example.test/"), "403") << "which the rebuilt list has not";
  std::filesystem::remove(delta_);
  EXPECT_THAT(proxy_->reload().out, HasSubstr(command));
  ASSERT_EQ(update({"--rebase"}).status, 0);
  hang_up();
  EXPECT_EQ(status("comes.example.test/"), "502");
}

}  // namespace
}  // namespace bloomwall::test
