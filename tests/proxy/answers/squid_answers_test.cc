// `protocol: squid` over sockets.
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <string>

#include "tests/proxy/answers/answers_fixture.h"

namespace bloomwall::test {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

class SquidAnswers : public AnswersTest {
 protected:
  SquidAnswers() { give_door(conf::Answers::Protocol::squid, "127.0.0.1:0", {"127.0.0.8/32"}); }
};

TEST_F(SquidAnswers, EachLineIsAnsweredByOne) {
  ScriptedPeer peer = asker();
  peer.send("http://ok.test/ GET 192.0.2.1 -\n");
  peer.expect("OK\n");
  peer.send("17 http://BLOCKED.test:80/x GET 192.0.2.1 -\n");
  EXPECT_THAT(peer.read_until("\n"), StartsWith("17 ERR message=\"Blocked by filter testlist, decision "));
  peer.send("18 mixed.test:443 CONNECT\n19 https://mixed.test/x/../bad/%2e/n GET\r\n20 nonsense GET\n");
  peer.expect("18 OK\n");
  EXPECT_THAT(peer.read_until("\n"), StartsWith("19 ERR message=\"Blocked by filter testlist, decision "));
  EXPECT_THAT(peer.read_until("\n"), StartsWith("20 ERR message="));
}

TEST_F(SquidAnswers, LinesInPiecesAndManyAtOnceAreAnsweredEachOnce) {
  ScriptedPeer peer = asker();
  std::string lines;
  for (int i = 0; i < 2000; ++i)
    lines += std::to_string(i) + (i % 2 == 0 ? " http://ok.test/" : " blocked.test:443") + "\n";
  peer.send_in_pieces(lines.substr(0, 1001), 7);
  peer.send(lines.substr(1001));
  for (int i = 0; i < 2000; ++i) {
    EXPECT_THAT(peer.read_until("\n"), StartsWith(std::to_string(i) + (i % 2 == 0 ? " OK\n" : " ERR ")));
  }
}

TEST_F(SquidAnswers, ClientsAreBelievedOfWhomIsTrustedAlone) {
  conf::Group& group = given.settings.groups.emplace_back();
  group.name = "free";
  group.clients = {"127.0.0.77"};
  group.filters["testlist"].otherwise = conf::Group::Action::off;
  ScriptedPeer trusted = asker(0, "127.0.0.8"), other = asker(0, "127.0.0.9");
  for (ScriptedPeer* peer : {&trusted, &other}) peer->send("1 http://blocked.test/ GET 127.0.0.77\n");
  trusted.expect("1 OK\n");
  EXPECT_THAT(other.read_until("\n"), StartsWith("1 ERR "));
  trusted.send("2 http://ok.test/ GET somebody\n");
  EXPECT_THAT(trusted.read_until("\n"), StartsWith("2 ERR "));
}

TEST_F(SquidAnswers, ALineWithoutEndIsTheLast) {
  ScriptedPeer peer = asker();
  peer.send(std::string(70'000, 'x'));
  EXPECT_THAT(peer.read_until("\n"), StartsWith("BH "));
  peer.expect_end();
}

TEST_F(SquidAnswers, AQuestionWaitsForPagesAndOthersDoNotWaitForIt) {
  given.paged = true;
  given.list = "http://mixed.test/bad/\n";
  ScriptedPeer peer = asker();
  peer.send("1 http://mixed.test/bad/x GET\n2 http://ok.test/ GET\n");
  std::string both = peer.read_until("\n");
  both += peer.read_until("\n");
  EXPECT_THAT(both, HasSubstr("1 ERR message=\"Blocked by filter testlist"));
  EXPECT_THAT(both, HasSubstr("2 OK\n"));
}

}  // namespace
}  // namespace bloomwall::test
