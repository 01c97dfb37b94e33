// Files that are all validly signed, put in each other's place by who has no key: the running proxy takes none of them.
// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "tests/end_to_end/servers.h"
#include "tests/support/scripted_peer.h"

namespace bloomwall::test {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

class SignedFilters : public testing::Test {
 protected:
  void SetUp() override {
    if (!have_program("curl")) GTEST_SKIP() << "needs curl";
    filter({"keygen", at("key"), at("key.pub")});
    folder_.write("series", std::string(64, 'a') + "\n");
  }
  std::string at(const std::string& name) const { return folder_.path(name); }
  static void filter(std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), filter_program());
    const auto done = run(arguments);
    EXPECT_EQ(done.status, 0) << done.out;
  }
  // A signed filter of one host.
  void make(const std::string& name, const std::string& host, const std::vector<std::string>& options) const {
    build_filter(at(name), host + "\n", options);
    filter({"sign", at(name), "--key", at("key")});
  }
  void delta(const std::string& base, const std::string& name, const std::string& host) const {
    filter({"update", at(base), "--delta", at(name), "--add", folder_.write("added", host + "\n"), "--key", at("key")});
  }
  // As a package of files is rolled out: a copy, renamed into place.
  void put(const std::string& from, const std::string& to) const {
    fs::copy_file(at(from), at("next"), fs::copy_options::overwrite_existing);
    fs::rename(at("next"), at(to));
  }
  void serve(const std::string& more = {}) {
    proxy_ = std::make_unique<Proxy>(folder_, "state_dir: " + at("state") +
                                                  "\nfilters: [{name: malware, file: served.bwf, public_key: key.pub" +
                                                  more +
                                                  "}]\naccess: {deny_destinations: []}\nlog: {access: {file: off}}\n"
                                                  "dns: {hosts: {evil.example.test: 127.0.0.1}}\n");
  }
  std::string status() const {
    return run({"curl", "-s", "-o", "/dev/null", "-w", "%{http_code}", "-m", "20", "-x", proxy_->url(),
                "http://evil.example.test:" + std::to_string(closed_port_) + "/"})
        .out;
  }
  void expect_refused(const std::string& why) const {
    const auto answer = proxy_->reload();
    EXPECT_EQ(answer.status, 1) << answer.out;
    EXPECT_THAT(answer.out, HasSubstr(why));
    EXPECT_EQ(status(), "403");
  }
  void forget() const { fs::remove(at("state/sequences")); }

  TempDir folder_;
  const std::uint16_t closed_port_ = closed_port();
  std::unique_ptr<Proxy> proxy_;
};

TEST_F(SignedFilters, TheFileOfAnotherFilterIsNotTakenInItsPlace) {
  make("malware.bwf", "evil.example.test", {});
  make("ads.bwf", "ads.example.test", {"--sequence", "9"});
  put("malware.bwf", "served.bwf");
  serve();
  ASSERT_EQ(status(), "403");
  put("ads.bwf", "served.bwf");
  expect_refused("served.bwf: is of another series than what was served as malware before");
  const auto checked = run({bloomwall_program(), "check", "--config", proxy_->config()});
  EXPECT_EQ(checked.status, 1) << checked.out;
  forget();
  EXPECT_EQ(proxy_->reload().status, 0) << "who removes the lines of the name is obeyed without a restart";
  EXPECT_EQ(status(), "502");
}

TEST_F(SignedFilters, AnOlderFileOfTheSameSequenceIsNotTaken) {
  const std::vector<std::string> options{"--series-key", at("series"), "--sequence", "1", "--created"};
  const auto made = [&](const std::string& created) {
    auto all = options;
    all.push_back(created);
    return all;
  };
  make("old.bwf", "other.example.test", made("1700000000"));
  make("new.bwf", "evil.example.test", made("1700000001"));
  put("old.bwf", "served.bwf");
  serve();
  put("new.bwf", "served.bwf");
  EXPECT_EQ(proxy_->reload().status, 0);
  EXPECT_EQ(status(), "403");
  put("old.bwf", "served.bwf");
  expect_refused("has the sequence 1 of what was served before and another content");
}

TEST_F(SignedFilters, AnOldDeltaIsNotTakenAfterAnotherFilterWasServed) {
  make("a.bwf", "a.example.test", {"--series-key", at("series"), "--sequence", "1", "--created", "1700000000"});
  make("b.bwf", "evil.example.test", {"--series-key", at("series"), "--sequence", "2", "--created", "1700000001"});
  make("again.bwf", "a.example.test", {"--series-key", at("series"), "--sequence", "3", "--created", "1700000002"});
  delta("a.bwf", "a.delta", "first.example.test");
  put("a.delta", "a.old");
  delta("a.bwf", "a.delta", "evil.example.test");
  delta("b.bwf", "b.delta", "b.example.test");
  put("a.bwf", "served.bwf");
  put("a.delta", "served.delta");
  serve(", delta: served.delta");
  ASSERT_EQ(status(), "403");
  put("b.bwf", "served.bwf");
  put("b.delta", "served.delta");
  EXPECT_EQ(proxy_->reload().status, 0);
  put("again.bwf", "served.bwf");
  put("a.old", "served.delta");
  expect_refused("sequence of the delta 1 is older than 2");
  put("a.delta", "served.delta");
  EXPECT_EQ(proxy_->reload().status, 0);
  EXPECT_EQ(status(), "403");
}

}  // namespace
}  // namespace bloomwall::test
