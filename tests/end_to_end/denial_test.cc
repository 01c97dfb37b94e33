// Whatever the proxy refuses says so everywhere: in the status line, in the access log of every format, in the metrics,
// and by one id in all of them.
// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <thread>

#include "tests/end_to_end/servers.h"
#include "tests/support/scripted_peer.h"

namespace bloomwall::test {
namespace {

using testing::EndsWith;
using testing::HasSubstr;
using testing::StartsWith;

class DenialSaysSo : public testing::Test {
 protected:
  void start(const std::string& format) {
    build_filter(folder_.path("ads.bwf"), "ads.example.test\n", {"--format", "domains"});
    build_filter(folder_.path("watch.bwf"), "watched.example.test\n", {"--format", "domains"});
    proxy_ = std::make_unique<Proxy>(
        folder_,
        "filters: [{name: ads, file: ads.bwf}, {name: watch, file: watch.bwf, action: monitor}]\n"
        "access: {deny_destinations: [192.0.2.0/24]}\n"
        "dns: {hosts: {denied.example.test: 192.0.2.1, watched.example.test: 127.0.0.1}}\n"
        "log: {access: {file: access.log, format: " +
            format + "}}\n",
        Proxy::Admin::on);
  }
  // The whole answer to one request on a connection of its own.
  std::string ask(const std::string& line, const std::string& fields = {}) const {
    ScriptedPeer client = ScriptedPeer::connect(proxy_->port());
    client.send(line + " HTTP/1.1\r\nHost: x.test\r\nConnection: close\r\n" + fields + "\r\n");
    return client.read_to_end();
  }
  // The line of the access log about what was just asked.
  std::string logged() {
    for (const auto end = std::chrono::steady_clock::now() + Seconds(20); std::chrono::steady_clock::now() < end;) {
      std::ifstream in(folder_.path("access.log"));
      const std::string all{std::istreambuf_iterator<char>(in), {}};
      if (const auto stop = all.find('\n', read_); stop != std::string::npos) {
        const std::string line = all.substr(read_, stop - read_);
        read_ = stop + 1;
        return line;
      }
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
    ADD_FAILURE() << "no line comes";
    return {};
  }
  // The decision id that an answer tells.
  static std::string id_in(const std::string& answer) {
    const auto at = answer.find("decision ");
    return at == std::string::npos ? "none" : answer.substr(at + 9, 16);
  }
  std::string refused_port() const { return "http://watched.example.test:" + std::to_string(closed_port()) + "/"; }

  TempDir folder_;
  std::size_t read_ = 0;
  std::unique_ptr<Proxy> proxy_;
};

TEST_F(DenialSaysSo, InTheStatusLineAndBrieflyWhereNoPageIsAskedFor) {
  start("json");
  const std::string blocked = "HTTP/1.1 403 Blocked by filter ads, decision ";
  EXPECT_THAT(ask("CONNECT ads.example.test:443"), StartsWith(blocked));
  for (const char* accept :
       {"Accept: */*\r\n", "Accept: image/avif,image/webp,*/*;q=0.8\r\n", "Accept: text/css,*/*;q=0.1\r\n"}) {
    const std::string answer = ask("GET http://ads.example.test/x.gif", accept);
    EXPECT_THAT(answer, StartsWith(blocked)) << accept;
    EXPECT_THAT(answer, HasSubstr("Content-Type: text/plain")) << accept;
    EXPECT_LT(answer.size(), 1000U) << accept;
  }
  const std::string page = ask("GET http://ads.example.test/", "Accept: text/html,application/xhtml+xml,*/*;q=0.8\r\n");
  EXPECT_THAT(page, StartsWith(blocked));
  EXPECT_THAT(page, HasSubstr("Content-Type: text/html"));
  EXPECT_THAT(ask("GET http://ads.example.test/", "Accept: text/plain;q=0.1\r\nAccept: application/json\r\n"),
              HasSubstr("Content-Type: application/json"))
      << "several lines are one list";
  EXPECT_THAT(ask("CONNECT good.example.test:25"), StartsWith("HTTP/1.1 403 Port Not Allowed\r\n"));
  EXPECT_THAT(ask("GET http://denied.example.test/"), StartsWith("HTTP/1.1 403 Destination Not Allowed\r\n"));
}

TEST_F(DenialSaysSo, InJsonLinesByOneIdWhateverWasRefused) {
  start("json");
  const struct {
    std::string line;
    const char *decision, *reason, *filter;
    bool allow;
  } rows[] = {
      {"GET http://ads.example.test/", "blocked", "listed", "ads", false},
      {"CONNECT ads.example.test:443", "blocked", "listed", "ads", false},
      {"GET http://denied.example.test/", "refused", "destination_denied", "", false},
      {"GET http://192.0.2.77/", "refused", "destination_denied", "", false},
      {"CONNECT denied.example.test:25", "refused", "port_denied", "", false},
      {"GET ftp://good.example.test/", "refused", "not_implemented", "", false},
      {"GET http://[::zz]/", "rejected", "bad_url", "", false},
      {"GET " + refused_port(), "monitored", "listed", "watch", true},
  };
  for (const auto& row : rows) {
    const std::string answer = ask(row.line);
    const auto line = nlohmann::json::parse(logged());
    EXPECT_EQ(line.value("id", ""), id_in(answer)) << row.line << "\n" << answer << line;
    EXPECT_EQ(line.at("decision"), row.decision) << line;
    EXPECT_EQ(line.at("decision_reason"), row.reason) << line;
    EXPECT_EQ(line.value("filter", ""), row.filter) << line;
    EXPECT_EQ(line.at("allow"), row.allow) << line;
    EXPECT_EQ(line.at("proxy_type"), row.line.starts_with("CONNECT") ? "connect" : "http") << line;
  }
}

TEST_F(DenialSaysSo, InSquidAndCombinedLinesBehindWhatTheirReadersKnow) {
  for (const std::string format : {"squid", "combined"}) {
    proxy_.reset();
    read_ = 0;
    std::remove(folder_.path("access.log").c_str());
    start(format);
    std::string id = id_in(ask("GET http://ads.example.test/"));
    EXPECT_THAT(logged(), EndsWith(" filter:ads " + id)) << format;
    id = id_in(ask("GET http://denied.example.test/"));
    EXPECT_THAT(logged(), EndsWith(" error:destination_denied " + id)) << format;
    id = id_in(ask("GET " + refused_port()));
    EXPECT_THAT(logged(), EndsWith(" filter:watch " + id)) << format;
  }
}

TEST_F(DenialSaysSo, InCountersByFilterThatOutliveAReload) {
  start("json");
  const auto expect = [&](const std::string& labels, int count) {
    const std::string metrics =
        run({"curl", "-s", "-m", "20", "http://127.0.0.1:" + std::to_string(proxy_->admin_port()) + "/metrics"}).out;
    EXPECT_THAT(metrics, HasSubstr("bloomwall_filter_verdicts_total{" + labels + "} " + std::to_string(count) + "\n"));
  };
  if (!have_program("curl")) GTEST_SKIP() << "needs curl";
  ask("GET http://ads.example.test/");
  ask("CONNECT ads.example.test:443");
  ask("GET " + refused_port());
  expect(R"(filter="ads",action="block")", 2);
  expect(R"(filter="ads",action="monitor")", 0);
  expect(R"(filter="watch",action="monitor")", 1);
  build_filter(folder_.path("ads.bwf"), "ads.example.test\nmore.example.test\n", {"--format", "domains"});
  ASSERT_EQ(proxy_->reload().status, 0);
  ask("GET http://more.example.test/");
  expect(R"(filter="ads",action="block")", 3);
  expect(R"(filter="watch",action="monitor")", 1);
}

}  // namespace
}  // namespace bloomwall::test
