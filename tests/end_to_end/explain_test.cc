// `bloomwall explain` says what the proxy does, whether a URL is an argument or a line on stdin.
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "tests/end_to_end/servers.h"
#include "tests/support/http_text.h"
#include "tests/support/scripted_peer.h"

namespace bloomwall::test {
namespace {

constexpr const char* kExplainYaml = R"(
workers: 1
filters: [{name: sample, file: test.bwf}, {name: urls, file: urls.bwf}]
allow_lists: [allow.txt]
access: {connect_ports: [443], deny_destinations: [private]}
log: {access: {file: off}}
dns: {hosts: {open.example.test: 127.0.0.1, inside.example.test: 10.9.8.7}}
)";

class Explain : public testing::Test {
 protected:
  void SetUp() override {
    build_filter(folder_.path("test.bwf"), "listed.example.test\npartly.example.test\n", {"--format", "domains"});
    build_filter(folder_.path("urls.bwf"), "http://other.example.test/bad\nhttp://192.0.2.7/bad\n",
                 {"--format", "urls"});
    folder_.write("allow.txt", "http://partly.example.test/good/\n");
    proxy_ = std::make_unique<Proxy>(folder_, kExplainYaml);
  }
  Finished explain(const std::vector<std::string>& urls, const std::string& input = {}) const {
    std::vector<std::string> argv{bloomwall_program(), "explain", "--config", proxy_->config()};
    argv.insert(argv.end(), urls.begin(), urls.end());
    return run(argv, input);
  }
  // What a client gets that asks as clients do: for https by CONNECT.
  int status_of_request(const std::string& url) const {
    const bool is_https = url.starts_with("https:");
    const std::size_t begin = url.find("//") + 2;
    std::string authority = url.substr(begin, url.find('/', begin) - begin);
    if (is_https && authority.find(':') == std::string::npos) authority += ":443";
    auto client = ScriptedPeer::connect(proxy_->port());
    client.send(is_https ? connect_to(authority) : "GET " + url + " HTTP/1.1\r\nHost: " + authority + "\r\n\r\n");
    return status_of(client.read_head());
  }

  const TempDir folder_;
  const std::uint16_t closed_port_ = closed_port();
  std::unique_ptr<Proxy> proxy_;
};

TEST_F(Explain, SaysWhatIsDoneHoweverItIsAsked) {
  const struct {
    std::string url, word, why;
    int status;  // 0: it passes, as far as it gets
  } rows[] = {
      {"http://www.listed.example.test/x", "listed", "listed.example.test", 403},
      {"https://listed.example.test/", "listed", "listed.example.test", 403},
      {"https://listed.example.test:8443/", "listed", "listed.example.test", 403},
      {"https://partly.example.test/good/", "listed", "partly.example.test", 403},  // of which CONNECT says no more
      {"http://open.example.test:25/", "refused", "port_denied", 403},
      {"https://open.example.test:8443/", "refused", "port_denied", 403},
      {"http://10.1.2.3/", "refused", "destination_denied", 403},
      {"https://10.1.2.3/", "refused", "destination_denied", 403},
      {"http://inside.example.test/", "refused", "destination_denied", 403},
      {"ftp://open.example.test/", "refused", "not_implemented", 501},
      {"http://open.example.test:" + std::to_string(closed_port_) + "/", "clear", "", 0},
      {"https://open.example.test/", "clear", "", 0},
  };
  for (const auto& row : rows) {
    const Finished line = explain({}, row.url + "\n"), story = explain({row.url});
    EXPECT_EQ(line.out, row.word + "\t" + row.url + (row.why.empty() ? "" : "\t" + row.why) + "\n");
    EXPECT_EQ(line.status, row.status == 0 ? 0 : 1) << line.out;
    EXPECT_EQ(story.status, line.status) << story.out;
    const int status = status_of_request(row.url);
    if (row.status != 0) {
      EXPECT_EQ(status, row.status) << row.url;
    } else {
      EXPECT_NE(status, 403) << row.url;
    }
  }
}

// A request is asked about under every name that its connection has.
TEST_F(Explain, AsksUnderOtherNames) {
  const std::string url = "https://open.example.test/bad";
  EXPECT_EQ(explain({url}).status, 0);
  for (const std::string name : {"other.example.test", "other.example.test:443", "192.0.2.7", "listed.example.test"}) {
    const Finished story = explain({"--under", "open2.example.test", "--under", name, url});
    EXPECT_EQ(story.status, 1) << story.out;
    EXPECT_NE(story.out.find("open2.example.test, another name of the connection: passes"), std::string::npos);
    EXPECT_NE(story.out.find(name + ", another name of the connection: stopped by it"), std::string::npos) << story.out;
    const Finished line = explain({"--under", name}, url + "\n");
    EXPECT_EQ(line.out.substr(0, 6), "listed") << line.out;
    const Finished json = explain({"--json", "--under", name, url});
    EXPECT_EQ(json.status, 1);
    EXPECT_NE(json.out.find("\"url\":\"https://" + name + "/bad\""), std::string::npos) << json.out;
  }
  EXPECT_EQ(explain({"--under", "other.example.test", "https://open.example.test/good"}).status, 0);
  for (const std::string name : {"", "a b", "http://a.test/", "a.test/x"}) {
    const Finished wrong = explain({"--under", name, url});
    EXPECT_EQ(wrong.status, 2) << name;
  }
}

TEST_F(Explain, FindsTheLinesUnderOtherNames) {
  const std::string list = folder_.path("urls.txt");
  folder_.write("urls.txt", "http://other.example.test/bad\nhttp://192.0.2.7/bad\n");
  const auto why = [&](std::vector<std::string> argv) {
    argv.insert(argv.begin(), {bloomwall_program(), "why", "--config", proxy_->config(), "--filter", "urls"});
    argv.insert(argv.end(), {"https://open.example.test/bad", list});
    return run(argv);
  };
  EXPECT_NE(why({}).out.find("no filter lists it"), std::string::npos);
  const Finished found = why({"--under", "other.example.test", "--under", "192.0.2.7"});
  EXPECT_EQ(found.status, 0) << found.out;
  for (const std::string wanted :
       {"https://open.example.test/bad: no filter lists it\n", "under https://other.example.test/bad:\nurls: U ",
        "urls.txt:1: http://other.example.test/bad\n", "under https://192.0.2.7/bad:\n",
        "urls.txt:2: http://192.0.2.7/bad\n"}) {
    EXPECT_NE(found.out.find(wanted), std::string::npos) << wanted << " is not in\n" << found.out;
  }
  const Finished json = why({"--json", "--under", "other.example.test"});
  EXPECT_NE(json.out.find(R"("filters":[],)"), std::string::npos) << json.out;
  EXPECT_NE(json.out.find(R"("under":[{"url":"https://other.example.test/bad","filters":[{"filter":"urls")"),
            std::string::npos)
      << json.out;
  // What no line explains is no success, under whatever name it stands.
  folder_.write("urls.txt", "http://third.example.test/bad\n");
  EXPECT_EQ(why({}).status, 0);
  EXPECT_EQ(why({"--under", "other.example.test"}).status, 1);
  EXPECT_EQ(why({"--under", "a.test/x"}).status, 2);
}

}  // namespace
}  // namespace bloomwall::test
