// Forward authentication as web servers and proxies ask it, over sockets.
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <filesystem>
#include <map>
#include <stdexcept>
#include <string>

#include "proxy/answers/http_answers.h"
#include "tests/proxy/answers/answers_fixture.h"
#include "tests/proxy/auth/hashes.h"

namespace bloomwall::test {
namespace {

using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

std::string question(const std::string& url, const std::string& fields = "") {
  return "GET /auth HTTP/1.1\r\nHost: auth.test\r\nX-Original-URL: " + url + "\r\n" + fields + "\r\n";
}

class HttpAnswers : public AnswersTest {
 protected:
  HttpAnswers() { give_door(conf::Answers::Protocol::http, "127.0.0.1:0", {"127.0.0.8/32"}); }
  std::string answer_to(const std::string& text, const std::string& from = "127.0.0.1") {
    ScriptedPeer peer = asker(0, from);
    peer.send(text);
    return peer.read_head();
  }
};

TEST_F(HttpAnswers, WhatIsNotListedMayPassWithoutABody) {
  ScriptedPeer peer = asker();
  peer.send(question("http://ok.test/"));
  const std::string head = peer.read_head();
  EXPECT_THAT(head, StartsWith("HTTP/1.1 204 No Content\r\n"));
  EXPECT_THAT(head, Not(HasSubstr("Content-Length")));
  EXPECT_THAT(head, HasSubstr("Cache-Control: no-store\r\n"));
  peer.send(question("http://ok.test/again"));  // on the same connection
  EXPECT_THAT(peer.read_head(), StartsWith("HTTP/1.1 204 "));
}

TEST_F(HttpAnswers, WhatIsListedGetsThePageOfTheProxy) {
  ScriptedPeer peer = asker();
  peer.send(question("https://sub.BLOCKED.test./x", "Accept: text/html\r\nAccept-Language: de\r\n"));
  const Answer answer = read_answer(peer);
  EXPECT_THAT(answer.head, StartsWith("HTTP/1.1 403 "));
  EXPECT_THAT(answer.head, HasSubstr("Proxy-Status: bloomwall; error=http_request_denied"));
  EXPECT_THAT(answer.head, HasSubstr("Content-Language: de\r\n"));
  EXPECT_THAT(answer.body, HasSubstr("testlist"));
  EXPECT_THAT(answer.body, Not(HasSubstr("<form")));  // there is nobody whom the asker's client could send one to
}

TEST_F(HttpAnswers, UrlsAreJudgedByTheirPathsAlsoOfHttps) {
  EXPECT_THAT(answer_to(question("https://mixed.test/x/../bad/%2e/y")), StartsWith("HTTP/1.1 403 "));
  EXPECT_THAT(answer_to(question("https://mixed.test/good/")), StartsWith("HTTP/1.1 204 "));
}

TEST_F(HttpAnswers, AQuestionThatCanBeReadInTwoWaysIsRefused) {
  EXPECT_THAT(answer_to(question("http://ok.test/", "X-Original-URL: http://blocked.test/\r\n")),
              StartsWith("HTTP/1.1 400 "));
  EXPECT_THAT(answer_to("GET / HTTP/1.1\r\nHost: ok.test\r\n\r\n"), StartsWith("HTTP/1.1 400 "));
  EXPECT_THAT(answer_to(question("http://ok.test/a b")), StartsWith("HTTP/1.1 400 "));
  EXPECT_THAT(answer_to(question("http://ok test/")), StartsWith("HTTP/1.1 400 "));
  EXPECT_THAT(answer_to(question("http:///x")), StartsWith("HTTP/1.1 400 "));
}

TEST_F(HttpAnswers, EnvoyGetsTheOneStatusThatItTakesForAYes) {
  EXPECT_THAT(answer_to("GET /ask/x HTTP/1.1\r\nHost: ok.test\r\n\r\n"), StartsWith("HTTP/1.1 200 "));
  EXPECT_THAT(answer_to("GET /ask/x HTTP/1.1\r\nHost: blocked.test\r\n\r\n"), StartsWith("HTTP/1.1 403 "));
}

TEST_F(HttpAnswers, PipelinedQuestionsAreAnsweredInOrder) {
  ScriptedPeer peer = asker();
  std::string all;
  for (int i = 0; i < 50; ++i) all += question(i % 3 == 0 ? "http://blocked.test/" : "http://ok.test/");
  peer.send(all);
  for (int i = 0; i < 50; ++i) {
    const std::string head = peer.read_head();
    EXPECT_THAT(head, StartsWith(i % 3 == 0 ? "HTTP/1.1 403 " : "HTTP/1.1 204 ")) << i;
    const std::size_t at = head.find("Content-Length: ");
    if (at != std::string::npos) peer.read_exactly(std::stoul(head.substr(at + 16)));
  }
}

TEST_F(HttpAnswers, AQuestionInPiecesIsOne) {
  ScriptedPeer peer = asker();
  peer.send_in_pieces(question("http://blocked.test/"), 7);
  EXPECT_THAT(peer.read_head(), StartsWith("HTTP/1.1 403 "));
}

TEST_F(HttpAnswers, ABodyIsDroppedAndALongOneRefused) {
  ScriptedPeer peer = asker();
  peer.send("POST / HTTP/1.1\r\nHost: x\r\nX-Original-URL: http://ok.test/\r\nContent-Length: 5\r\n\r\n12345" +
            question("http://blocked.test/"));
  EXPECT_THAT(peer.read_head(), StartsWith("HTTP/1.1 204 "));
  EXPECT_THAT(peer.read_head(), StartsWith("HTTP/1.1 403 "));
  EXPECT_THAT(
      answer_to("POST / HTTP/1.1\r\nHost: x\r\nX-Original-URL: http://ok.test/\r\nContent-Length: 70000\r\n\r\n" +
                std::string(70000, 'x')),
      StartsWith("HTTP/1.1 413 "));
}

TEST_F(HttpAnswers, TheAnswerIsFramedByHowItIsAskedAndNotByWhatItIsAbout) {
  ScriptedPeer peer = asker();
  peer.send(question("http://blocked.test/", "X-Original-Method: HEAD\r\n"));
  EXPECT_FALSE(read_answer(peer).body.empty());
  peer.send("HEAD / HTTP/1.1\r\nHost: x\r\nX-Original-URL: http://blocked.test/\r\n\r\n" + question("http://ok.test/"));
  EXPECT_THAT(peer.read_head(), StartsWith("HTTP/1.1 403 "));
  EXPECT_THAT(peer.read_head(), StartsWith("HTTP/1.1 204 "));
}

TEST_F(HttpAnswers, WhoAsksForTheLastTimeIsToldSo) {
  ScriptedPeer peer = asker();
  peer.send("GET / HTTP/1.0\r\nX-Original-URL: http://ok.test/\r\n\r\n");
  EXPECT_THAT(peer.read_head(), HasSubstr("Connection: close\r\n"));
  peer.expect_end();
}

TEST_F(HttpAnswers, ClientAndUserAreBelievedOfWhomIsTrustedAlone) {
  given.logged = true;
  given.settings.answers[0].users = true;
  const std::string fields = "X-Forwarded-For: 127.0.0.77\r\nX-Forwarded-User: anna\r\n";
  EXPECT_THAT(answer_to(question("http://blocked.test/1", fields), "127.0.0.8"), StartsWith("HTTP/1.1 403 "));
  EXPECT_THAT(answer_to(question("http://blocked.test/2", fields), "127.0.0.9"), StartsWith("HTTP/1.1 403 "));
  EXPECT_THAT(answer_to(question("http://ok.test/3", "X-Forwarded-For: nobody\r\n"), "127.0.0.8"),
              StartsWith("HTTP/1.1 400 "));
  EXPECT_THAT(answer_to(question("http://ok.test/4", "X-Forwarded-For: nobody\r\n"), "127.0.0.9"),
              StartsWith("HTTP/1.1 204 "));
  wait_until([&] { return log_text().find("ok.test/4") != std::string::npos; });
  const std::string log = log_text();
  const auto line_of = [&](const std::string& url) {
    const std::size_t at = log.find(url), begin = log.rfind('\n', at);
    return log.substr(begin == std::string::npos ? 0 : begin + 1, log.find('\n', at) - begin);
  };
  EXPECT_THAT(line_of("blocked.test/1"), HasSubstr("\"127.0.0.77:"));
  EXPECT_THAT(line_of("blocked.test/1"), HasSubstr("anna"));
  EXPECT_THAT(line_of("blocked.test/2"), HasSubstr("\"127.0.0.9:"));
  EXPECT_THAT(line_of("blocked.test/2"), Not(HasSubstr("anna")));
}

// What each spelling of a name may do, which a group frees by the users file, and another one by name.
class HttpUsers : public HttpAnswers {
 protected:
  HttpUsers() {
    given.settings.answers[0].users = true;
    // Nobody must log in, and the file says all the same who is whom.
    given.settings.authentication.users_file = folder.write(
        "users", user_line("Anna", ":staff") + user_line("guest", ":staff:2020-01-31") + user_line("OTTO", ":staff") +
                     user_line("otto") + user_line("UDO", ":staff") + user_line("Udo", ":staff"));
    add_group("staff").user_groups = {"staff"};
    add_group("named").users = {"Bob Miller", "carla"};
  }
  conf::Group& add_group(const std::string& name) {
    conf::Group& group = given.settings.groups.emplace_back();
    group.name = name;
    group.filters["testlist"].otherwise = conf::Group::Action::off;
    return group;
  }
  bool is_freed(const std::string& user) {
    const std::string asked = question("http://blocked.test/", "X-Forwarded-User: " + user + "\r\n");
    return answer_to(asked, "127.0.0.8").starts_with("HTTP/1.1 204 ");
  }
  TempDir folder;
};

TEST_F(HttpUsers, HaveTheGroupsOfTheUsersFileWhereNobodyMustLogIn) {
  const std::map<std::string, bool> freed{{"Anna", true},   {"anna", true},    {"ANNA", true},
                                          {"guest", false}, {"nobody", false}, {"bob miller", true},
                                          {"CARLA", true},  {"bob", false},    {"Bob  Miller", true}};
  for (const auto& [user, is_free] : freed) EXPECT_EQ(is_freed(user), is_free) << user;
}

TEST_F(HttpUsers, OfTwoLinesThatOneNameMeansOnlyTheFoldedOneCounts) {
  for (const char* user : {"otto", "Otto", "OTTO", "udo", "Udo", "UDO"}) EXPECT_FALSE(is_freed(user)) << user;
}

TEST_F(HttpUsers, AreToldApartByCaseWhereThatCounts) {
  given.settings.authentication.case_sensitive = true;
  const std::map<std::string, bool> freed{{"Anna", true},  {"anna", false},      {"OTTO", true},
                                          {"otto", false}, {"Bob Miller", true}, {"bob miller", false}};
  for (const auto& [user, is_free] : freed) EXPECT_EQ(is_freed(user), is_free) << user;
}

TEST_F(HttpUsers, AreNobodyWhereTheDoorDoesNotBelieveNames) {
  given.settings.answers[0].users = false;
  EXPECT_FALSE(is_freed("Anna"));
  EXPECT_FALSE(is_freed("carla"));
  EXPECT_FALSE(is_freed(std::string(300, 'x'))) << "what is not believed is not read either";
  given.settings.answers[0].users = true;
  reload();
  EXPECT_TRUE(is_freed("carla")) << "a reload takes it over";
}

TEST_F(HttpAnswers, GroupsAreThoseOfTheClientThatIsAskedFor) {
  conf::Group& group = given.settings.groups.emplace_back();
  group.name = "free";
  group.clients = {"127.0.0.77"};
  group.filters["testlist"].otherwise = conf::Group::Action::off;
  const std::string url = "http://blocked.test/";
  EXPECT_THAT(answer_to(question(url, "X-Forwarded-For: 127.0.0.77\r\n"), "127.0.0.8"), StartsWith("HTTP/1.1 204 "));
  EXPECT_THAT(answer_to(question(url, "X-Forwarded-For: 127.0.0.78\r\n"), "127.0.0.8"), StartsWith("HTTP/1.1 403 "));
  EXPECT_THAT(answer_to(question(url, "X-Forwarded-For: 127.0.0.77\r\n"), "127.0.0.9"), StartsWith("HTTP/1.1 403 "));
}

TEST_F(HttpAnswers, AReloadBetweenTwoQuestionsCounts) {
  ScriptedPeer peer = asker();
  peer.send(question("http://ok.test/"));
  EXPECT_THAT(peer.read_head(), StartsWith("HTTP/1.1 204 "));
  given.list = "ok.test\n";
  reload();
  peer.send(question("http://ok.test/"));
  EXPECT_THAT(peer.read_head(), StartsWith("HTTP/1.1 403 "));
}

TEST_F(HttpAnswers, WhoIsNeitherAClientNorTrustedMayNotAsk) {
  given.settings.access.clients = {"127.0.0.1"};
  asker(0, "127.0.0.9").expect_end();
  EXPECT_THAT(answer_to(question("http://ok.test/", "X-Forwarded-For: 127.0.0.1\r\n"), "127.0.0.8"),
              StartsWith("HTTP/1.1 204 "));
  EXPECT_THAT(answer_to(question("http://ok.test/", "X-Forwarded-For: 127.0.0.9\r\n"), "127.0.0.8"),
              StartsWith("HTTP/1.1 403 "));  // access.clients is about that one
}

TEST_F(HttpAnswers, AnIdleAskerIsClosedInItsTimeAndOneThatDoesNotGoOnAsWell) {
  given.settings.timeouts.idle = std::chrono::milliseconds(200);
  given.settings.timeouts.request_header = std::chrono::milliseconds(300);
  asker().expect_end();
  ScriptedPeer slow = asker();
  slow.send("GET / HTT");
  slow.expect_end();
}

TEST_F(HttpAnswers, ADrainAnswersWhatIsAskedAndEnds) {
  ScriptedPeer peer = asker();
  peer.send(question("http://ok.test/"));
  EXPECT_THAT(peer.read_head(), Not(HasSubstr("Connection: close")));
  the_proxy().drain(std::chrono::seconds(20));
  wait_until([&] {  // the door is closed
    try {
      asker();
      return false;
    } catch (const std::runtime_error&) {
      return true;
    }
  });
  peer.send(question("http://blocked.test/"));
  const Answer answer = read_answer(peer);
  EXPECT_THAT(answer.head, HasSubstr("Connection: close\r\n"));
  peer.expect_end();
  wait_until_ended();
}

TEST_F(HttpAnswers, AUnixSocketIsADoorAndItsNameGoesWithTheProcess) {
  const std::string path = (dir.path() / "answers").string();
  give_door(conf::Answers::Protocol::http, "unix:" + path);
  ScriptedPeer peer = asker_at(path);
  peer.send(question("http://blocked.test/"));
  EXPECT_THAT(peer.read_head(), StartsWith("HTTP/1.1 403 "));
  the_proxy().drain(std::chrono::seconds(20));
  EXPECT_FALSE(std::filesystem::exists(path));
}

TEST_F(HttpAnswers, AtTheLimitOfConnectionsTheOneThatIdlesLongestIsClosed) {
  given.settings.limits.client_connections = 2;
  ScriptedPeer first = asker(), second = asker();
  for (ScriptedPeer* each : {&first, &second}) {
    each->send(question("http://ok.test/"));
    each->read_head();
  }
  EXPECT_THAT(answer_to(question("http://ok.test/")), StartsWith("HTTP/1.1 204 "));
  first.expect_end();
}

TEST_F(HttpAnswers, QuestionsAreCountedAndLimitedAsRequestsAre) {
  given.settings.limits.requests_per_second = 1;
  std::string last;
  for (int i = 0; i < 5; ++i) last = answer_to(question("http://ok.test/"));
  EXPECT_THAT(last, StartsWith("HTTP/1.1 429 "));
}

}  // namespace
}  // namespace bloomwall::test
