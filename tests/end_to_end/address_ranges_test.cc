// A list of networks, as the Spamhaus DROP list is one, from the file to the client: what is dialled counts, whatever
// leads there. Names are mapped in dns.hosts; that nobody listens tells what passes (502) from what is blocked (403).
// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <fstream>
#include <iterator>

#include "tests/end_to_end/servers.h"
#include "tests/support/http_text.h"
#include "tests/support/scripted_peer.h"

namespace bloomwall::test {
namespace {

using testing::HasSubstr;

constexpr const char* kRangeList =
    "; a list of networks\n"
    "127.0.0.2-127.0.0.9 ; SBL1\n"
    "192.0.2.0/24 ; SBL2\n"
    "::/127 ; SBL3\n";

class AddressRanges : public testing::Test {
 protected:
  void SetUp() override {
    if (!have_program("curl")) GTEST_SKIP() << "needs curl";
    build_filter(file_, kRangeList);
    build_filter(folder_.path("other.bwf"), "listed.example.test\n");
    ASSERT_EQ(update({"--add", list("first.example.test\n")}).status, 0);
    allow("first.example.test\n");
    proxy_ = std::make_unique<Proxy>(folder_, yaml());
  }
  static std::string yaml(const std::string& more = {}, const std::string& upstream = {}) {
    return "filters: [{name: drop, file: drop.bwf, delta: drop.delta" + more +
           "}, {name: other, file: other.bwf}]\n"
           "allow_lists: [allow.txt]\n"
           "access: {deny_destinations: [], connect_ports: []}\n"
           "log: {access: {file: access.log}}\n"
           "dns: {hosts: {inside.example.test: 127.0.0.5, beside.example.test: 127.0.0.1, six.example.test: "
           "\"::1\"}}\n" +
           upstream;
  }
  std::string list(const std::string& text) { return folder_.write("list" + std::to_string(++lists_), text); }
  Finished update(const std::vector<std::string>& more) const {
    std::vector<std::string> argv{filter_program(), "update", file_, "--delta", delta_};
    argv.insert(argv.end(), more.begin(), more.end());
    return run(argv);
  }
  void allow(const std::string& text) const { folder_.write("allow.txt", text); }
  void reload() const {
    const auto answer = proxy_->reload();
    ASSERT_EQ(answer.status, 0) << answer.out;
  }
  std::string ask(const std::string& host_and_path, const std::vector<std::string>& options,
                  const char* variable) const {
    const auto slash = host_and_path.find('/');
    std::vector<std::string> argv{"curl", "-s", "-o", "/dev/null", "-w", variable, "-m", "20", "-x", proxy_->url()};
    argv.insert(argv.end(), options.begin(), options.end());
    argv.push_back("http://" + host_and_path.substr(0, slash) + ":" + std::to_string(closed_port_) +
                   host_and_path.substr(slash));
    return run(argv).out;
  }
  // The answer to a request, and to CONNECT; 403 blocked, 502 passed.
  std::string status(const std::string& host_and_path) const { return ask(host_and_path, {"-g"}, "%{http_code}"); }
  std::string tunnel_status(const std::string& host) const {
    return ask(host + "/", {"-g", "--proxytunnel"}, "%{http_connect}");
  }
  std::string access_log() {
    proxy_->process().signal(SIGTERM);
    EXPECT_EQ(proxy_->process().wait(), 0) << proxy_->process().output();
    std::ifstream in(folder_.path("access.log"));
    return {std::istreambuf_iterator<char>(in), {}};
  }

  const TempDir folder_;
  const std::string file_ = folder_.path("drop.bwf"), delta_ = folder_.path("drop.delta");
  const std::uint16_t closed_port_ = closed_port();
  int lists_ = 0;
  std::unique_ptr<Proxy> proxy_;
};

TEST_F(AddressRanges, StopWhateverLeadsIntoThem) {
  const struct {
    const char *host, *status;
  } rows[] = {
      {"inside.example.test", "403"}, {"six.example.test", "403"},    {"127.0.0.2", "403"},
      {"127.0.0.9", "403"},           {"[::ffff:127.0.0.9]", "403"},  {"[::ffff:7f00:9]", "403"},
      {"192.0.2.255", "403"},         {"[64:ff9b::c000:207]", "403"}, {"[::1]", "403"},
      {"beside.example.test", "502"}, {"127.0.0.1", "502"},           {"127.0.0.10", "502"},
      {"[::ffff:127.0.0.1]", "502"},
  };
  for (const auto& row : rows) {
    EXPECT_EQ(status(std::string(row.host) + "/"), row.status) << row.host;
    EXPECT_EQ(tunnel_status(row.host), row.status) << row.host;
  }
  const std::string log = access_log();
  EXPECT_THAT(log, HasSubstr("\"filter\":\"drop\",\"expression\":\"127.0.0.2-127.0.0.9\""));
  EXPECT_THAT(log, HasSubstr("\"filter\":\"drop\",\"expression\":\"192.0.2.0/24\""));
}

TEST_F(AddressRanges, AreOverruledByAllowLists) {
  const struct {
    const char *allow, *name, *name_elsewhere, *literal, *tunnel;
  } rows[] = {
      {"inside.example.test\n", "502", "502", "403", "502"},
      {"inside.example.test @drop\n", "502", "502", "403", "502"},
      {"inside.example.test @other\n", "403", "403", "403", "403"},
      {"http://inside.example.test/free/\n", "502", "403", "403", "403"},
      {"127.0.0.4/31\n", "502", "502", "502", "502"},
      {"127.0.0.0-127.0.0.255 @drop\n", "502", "502", "502", "502"},
      {"127.0.0.4/31 @other\n", "403", "403", "403", "403"},
      {"127.0.0.6/31\n", "403", "403", "403", "403"},
  };
  for (const auto& row : rows) {
    allow(row.allow);
    reload();
    EXPECT_EQ(status("inside.example.test/free/x"), row.name) << row.allow;
    EXPECT_EQ(status("inside.example.test/x"), row.name_elsewhere) << row.allow;
    EXPECT_EQ(status("127.0.0.5/"), row.literal) << row.allow;
    EXPECT_EQ(tunnel_status("inside.example.test"), row.tunnel) << row.allow;
    EXPECT_EQ(status("192.0.2.1/"), "403") << row.allow;
  }
}

TEST_F(AddressRanges, FollowTheDelta) {
  const auto updated = update({"--remove", list("127.0.0.4/31\n"), "--add", list("127.0.0.0/31\n")});
  ASSERT_EQ(updated.status, 0) << updated.out;
  EXPECT_EQ(status("inside.example.test/"), "403") << "nothing changes before the reload";
  const std::size_t seen = proxy_->process().lines();
  proxy_->process().signal(SIGHUP);
  ASSERT_TRUE(proxy_->process().wait_for_line(" is served: ", Seconds(20), seen)) << proxy_->process().output();
  EXPECT_EQ(status("inside.example.test/"), "502");
  EXPECT_EQ(tunnel_status("inside.example.test"), "502");
  EXPECT_EQ(status("127.0.0.4/"), "502");
  EXPECT_EQ(status("127.0.0.3/"), "403") << "what the delta does not name stays";
  EXPECT_EQ(status("127.0.0.6/"), "403");
  EXPECT_EQ(status("beside.example.test/"), "403");
  EXPECT_EQ(tunnel_status("beside.example.test"), "403");
}

TEST_F(AddressRanges, ThatAreMonitoredPassAndAreLogged) {
  proxy_->configure(folder_, yaml(", action: monitor"));
  reload();
  EXPECT_EQ(status("inside.example.test/"), "502");
  EXPECT_EQ(tunnel_status("inside.example.test"), "502");
  const std::string log = access_log();
  EXPECT_THAT(log, HasSubstr("\"decision\":\"monitored\",\"decision_reason\":\"listed\""));
  EXPECT_THAT(log, HasSubstr("\"filter\":\"drop\",\"expression\":\"127.0.0.2-127.0.0.9\""));
}

TEST_F(AddressRanges, EndTunnelsAndKeptConnectionsAfterAReload) {
  ScriptedListener origin;
  const std::string authority = "beside.example.test:" + std::to_string(origin.port());
  auto client = ScriptedPeer::connect(proxy_->port());
  client.send(get(authority, "/1"));
  auto kept = origin.accept();
  kept.read_head();
  kept.send(ok("one"));
  EXPECT_EQ(status_of(client.read_until("one")), 200);
  auto tunnelled = ScriptedPeer::connect(proxy_->port());
  tunnelled.send(connect_to(authority));
  auto far = origin.accept();
  EXPECT_EQ(status_of(tunnelled.read_head()), 200);
  ASSERT_EQ(update({"--add", list("127.0.0.0/31\n")}).status, 0);
  reload();
  tunnelled.expect_end();
  far.expect_end();
  client.send(get(authority, "/2"));
  EXPECT_EQ(status_of(client.read_head()), 403);
  EXPECT_TRUE(origin.nobody_comes_for(std::chrono::milliseconds(10)));
}

// It resolves names by itself.
TEST_F(AddressRanges, BeforeAParentAreAskedOfLiteralsAlone) {
  const TempDir beyond;
  Proxy parent(beyond,
               "access: {deny_destinations: [], connect_ports: []}\nlog: {access: {file: off}}\n"
               "dns: {hosts: {inside.example.test: 127.0.0.5, six.example.test: 127.0.0.5}}\n");
  proxy_->configure(folder_,
                    yaml({}, "upstream: {parent: \"" + parent.address() + "\", bypass: [six.example.test]}\n"));
  reload();
  EXPECT_EQ(status("inside.example.test/"), "502");
  EXPECT_EQ(status("127.0.0.5/"), "403");
  EXPECT_EQ(tunnel_status("127.0.0.5"), "403");
  EXPECT_EQ(status("six.example.test/"), "403") << "dialled without the parent";
}

TEST_F(AddressRanges, AreAskedByExplainOfLiterals) {
  const auto explain = [&](const std::string& url) {
    return run({bloomwall_program(), "explain", "--config", proxy_->config(), url});
  };
  const Finished literal = explain("http://127.0.0.5/"), name = explain("http://inside.example.test/");
  EXPECT_EQ(literal.status, 1) << literal.out;
  EXPECT_THAT(literal.out, HasSubstr("127.0.0.2-127.0.0.9"));
  EXPECT_EQ(name.status, 0) << name.out;
  EXPECT_THAT(name.out, HasSubstr("not asked here: the networks in filters"));
}

}  // namespace
}  // namespace bloomwall::test
