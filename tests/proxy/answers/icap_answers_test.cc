// `protocol: icap` over sockets: what only the proxy's own settings and clocks decide.
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <chrono>
#include <string>
#include <vector>

#include "tests/proxy/answers/answers_fixture.h"

namespace bloomwall::test {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

class IcapAnswers : public AnswersTest {
 protected:
  IcapAnswers() { give_door(conf::Answers::Protocol::icap); }

  static std::string reqmod(const std::string& http, const std::string& kind = "null-body") {
    return "REQMOD icap://p/reqmod ICAP/1.0\r\nHost: p\r\nAllow: 204\r\nEncapsulated: req-hdr=0, " + kind + "=" +
           std::to_string(http.size()) + "\r\n\r\n" + http;
  }
};

TEST_F(IcapAnswers, ARequestWithTwoHostsIsJudgedForBoth) {
  struct Row {
    const char* target;
    const char* host;
    bool is_blocked;
  };
  ScriptedPeer peer = asker();
  for (const Row& row : std::vector<Row>{
           {"GET http://ok.test/", "ok.test", false},
           {"GET http://ok.test/", "other.test", false},
           {"GET http://ok.test/", "", false},
           {"GET http://ok.test/", "blocked.test", true},
           {"GET http://ok.test/", "BLOCKED.test:8080", true},
           {"GET http://blocked.test/", "ok.test", true},
           {"GET http://ok.test/bad/x", "mixed.test", true},
           {"GET http://ok.test/good/x", "mixed.test", false},
           {"GET https://ok.test/bad/x", "mixed.test:443", true},
           {"GET /bad/x", "mixed.test", true},
           {"CONNECT ok.test:443", "ok.test", false},
           {"CONNECT ok.test:443", "blocked.test", true},
           {"CONNECT ok.test:443", "blocked.test:443", true},
           {"CONNECT blocked.test:443", "ok.test:443", true},
       }) {
    peer.send(reqmod(std::string(row.target) + " HTTP/1.1\r\nHost: " + row.host + "\r\n\r\n"));
    const std::string head = peer.read_until("\r\n\r\n");
    EXPECT_THAT(head, StartsWith(row.is_blocked ? "ICAP/1.0 200" : "ICAP/1.0 204")) << row.target << " " << row.host;
    if (head.starts_with("ICAP/1.0 200")) {
      EXPECT_THAT(peer.read_until("\r\n0\r\n\r\n"), HasSubstr("HTTP/1.1 403")) << row.target << " " << row.host;
    }
  }
}

TEST_F(IcapAnswers, OptionsWantOfAClientWhatIsBelieved) {
  struct Row {
    std::vector<std::string> trust;
    bool users;
    const char* wanted;
  };
  const std::vector<Row> rows = {
      {{"127.0.0.1"}, true, "X-Include: X-Client-IP, X-Authenticated-User\r\n"},
      {{"127.0.0.1"}, false, "X-Include: X-Client-IP\r\n"},
      {{"127.0.0.2"}, true, nullptr},
      {{}, true, nullptr},
  };
  given.settings.answers.clear();
  for (const Row& row : rows) {
    give_door(conf::Answers::Protocol::icap, "127.0.0.1:0", row.trust);
    given.settings.answers.back().users = row.users;
  }
  for (std::size_t door = 0; door < rows.size(); ++door) {
    ScriptedPeer peer = asker(door);
    peer.send("OPTIONS icap://p/reqmod ICAP/1.0\r\nHost: p\r\n\r\n");
    const std::string head = peer.read_until("\r\n\r\n");
    EXPECT_THAT(head, HasSubstr(rows[door].wanted != nullptr ? rows[door].wanted : "Preview: 0\r\n")) << door;
    EXPECT_EQ(head.find("X-Include") != std::string::npos, rows[door].wanted != nullptr) << head;
  }
}

// It is never still, and too slow.
TEST_F(IcapAnswers, ABodyHasALeastRate) {
  given.settings.timeouts.body = std::chrono::seconds(1);
  given.settings.limits.least_rate = 1'000'000;
  ScriptedPeer peer = asker();
  peer.send(reqmod("POST http://ok.test/ HTTP/1.1\r\nHost: ok.test\r\n\r\n", "req-body"));
  const auto end = std::chrono::steady_clock::now() + kPatience;
  while (peer.is_quiet_for(std::chrono::milliseconds(20)) && std::chrono::steady_clock::now() < end) {
    peer.send("1\r\nx\r\n");
  }
  EXPECT_THAT(peer.read_until("\r\n\r\n"), StartsWith("ICAP/1.0 408 "));
  peer.expect_end();
}

TEST_F(IcapAnswers, AFastBodyOfAnyLengthIsTaken) {
  given.settings.timeouts.body = std::chrono::milliseconds(500);
  given.settings.limits.least_rate = 64;
  ScriptedPeer peer = asker();
  std::string body;
  for (int i = 0; i < 4000; ++i) body += "400\r\n" + std::string(1024, 'x') + "\r\n";
  peer.send(reqmod("POST http://ok.test/ HTTP/1.1\r\nHost: ok.test\r\n\r\n", "req-body") + body + "0\r\n\r\n");
  EXPECT_THAT(peer.read_until("\r\n\r\n"), StartsWith("ICAP/1.0 204 "));
}

}  // namespace
}  // namespace bloomwall::test
