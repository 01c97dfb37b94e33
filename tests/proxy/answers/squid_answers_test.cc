// `protocol: squid` over sockets.
// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

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

// Squid writes # as %23, and forwards it.
TEST_F(SquidAnswers, AUriIsAlsoJudgedUpToEachMarkOfAFragment) {
  given.list =
      "http://query.test/?a=b\nhttp://path.test/a$\nblocked.test\nhttp://evil2.test/a%23b\n"
      "http://evil3.test/a%23b?x=1\n";
  std::string most = "http://evil2.test/a", more;
  for (std::size_t i = 1; i < proxy::Question::kMostReadings; ++i) most += "%23";
  more = most + "%23%23";
  most += "%23b";
  ScriptedPeer peer = asker();
  for (const auto& [uri, answer] : std::vector<std::pair<std::string, std::string>>{
           {"http://query.test/?a=b", "1 ERR "},
           {"http://query.test/?a=b%23x", "1 ERR "},
           {"http://query.test/?a=b%23x%23y", "1 ERR "},
           {"http://query.test/?a=b#x", "1 ERR message=\"Blocked"},
           {"http://query.test/?a=c#x", "1 OK\n"},
           {"http://query.test/a\\b", "1 OK\n"},
           {"http://query.test?a=b%23", "1 ERR "},
           {"ftp://query.test/?a=b%23x", "1 ERR "},
           {"http://query.test/?a=c%23x", "1 OK\n"},
           {"http://query.test/%23?a=b", "1 OK\n"},
           {"http://blocked.test%23.ok.test/", "1 ERR "},
           {"http://evil2.test/a%23b%23frag", "1 ERR message=\"Blocked"},
           {"http://evil2.test/a%23b#frag%23x", "1 ERR message=\"Blocked"},
           {"http://evil3.test/a%23b?x=1%23frag", "1 ERR message=\"Blocked"},
           {"http://evil3.test/a%23b?x=2%23frag", "1 OK\n"},
           {most, "1 OK\n"},
           {more, "1 ERR message=\"a URI with more than 16 %23"},
       }) {
    peer.send("1 " + uri + " GET\n");
    EXPECT_THAT(peer.read_until("\n"), StartsWith(answer)) << uri;
  }
}

TEST_F(SquidAnswers, AnAddressOfIpv6IsOneAsSquidWritesIt) {
  given.list = "2001:db8:bad::1\n";
  ScriptedPeer peer = asker();
  for (const auto& [line, answer] : std::vector<std::pair<std::string, std::string>>{
           {"http://%5B2001:db8::1%5D/x GET", "1 OK\n"},
           {"http://%5B2001:db8:bad::1%5D/x GET", "1 ERR message=\"Blocked"},
           {"http://%5B2001:db8:bad::1%5D:8080?x GET", "1 ERR message=\"Blocked"},
           {"%5B2001:db8:bad::1%5D:443 CONNECT", "1 ERR message=\"Blocked"},
           {"[2001:db8:bad::1]:443 CONNECT", "1 ERR message=\"Blocked"},
           {"[2001:db8::1]:443 CONNECT", "1 OK\n"},
           {"http://ok.test/%5Bx%5D GET", "1 OK\n"},
           {"http://%5Bok.test/%5D GET", "1 ERR message=\"Refused"},
       }) {
    peer.send("1 " + line + "\n");
    EXPECT_THAT(peer.read_until("\n"), StartsWith(answer)) << line;
  }
}

TEST_F(SquidAnswers, BothReadingsWaitForPages) {
  given.paged = true;
  given.list = "http://query.test/?a=b\n";
  ScriptedPeer peer = asker();
  peer.send("1 http://query.test/?a=b%23x%23y GET\n");
  EXPECT_THAT(peer.read_until("\n"), StartsWith("1 ERR message=\"Blocked by filter testlist"));
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
