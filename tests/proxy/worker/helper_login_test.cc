// Logins that helpers decide on, in the running proxy: passwords, and tickets, which count for their connection.
// SPDX-License-Identifier: Apache-2.0
#include <filesystem>
#include <fstream>
#include <string>

#include "proxy/decision/user_check.h"
#include "tests/proxy/auth/base64.h"
#include "tests/proxy/worker/proxy_fixture.h"

namespace bloomwall::test {
namespace {

using namespace std::chrono_literals;
using proxy::ErrorKind;
using proxy::UserCheck;

// "alice:open sesame", "alice:cannot tell"; tickets that the helper of the tests takes for "alice" and "bob".
const std::string kPasswordOfAlice = "Proxy-Authorization: Basic YWxpY2U6b3BlbiBzZXNhbWU=\r\n";
const std::string kNobodyCanTell = "Proxy-Authorization: Basic YWxpY2U6Y2Fubm90IHRlbGw=\r\n";
const std::string kTicketOfAlice = "Proxy-Authorization: Negotiate YWxpY2U=\r\n";
const std::string kTicketOfBob = "Proxy-Authorization: Negotiate Ym9i\r\n";

class HelperLoginTest : public ProxyTest {
 protected:
  HelperLoginTest() {
    auto& authentication = given.settings.authentication;
    authentication.require = {"127.0.0.0/8"};
    authentication.basic_helper = helper("honest");
    authentication.negotiate_helper = helper("ticket");
    given.logged = true;
  }
  static conf::AuthHelper helper(const std::string& how, const std::string& more = "") {
    conf::AuthHelper made;
    made.command = {"/usr/bin/python3", BLOOMWALL_SOURCE_DIR "/tests/proxy/auth/helper.py", how, "0", more};
    made.processes = 1;
    made.timeout = 9s;
    return made;
  }
  std::string get_as(const std::string& credentials) const { return get_origin("/", credentials); }
  // 200: it has reached the origin, and nothing of the credentials has.
  int status_of_next(ScriptedPeer& client, const std::string& credentials) {
    client.send(get_as(credentials));
    if (origin.speaks_first(client)) {
      last = read_answer(client).head;
      return status_of(last);
    }
    auto server = origin.accept();
    EXPECT_EQ(server.read_head().find("Proxy-Authorization"), std::string::npos);
    answer(server, client, "x");
    server.close();
    return 200;
  }
  std::string last;
};

TEST_F(HelperLoginTest, SchemesAreOfferedInTheirOrder) {
  auto client = new_client();
  EXPECT_EQ(status_of_next(client, ""), 407);
  const auto negotiate = last.find("Proxy-Authenticate: Negotiate\r\n"),
             basic = last.find("Proxy-Authenticate: Basic ");
  ASSERT_NE(negotiate, std::string::npos) << last;
  ASSERT_NE(basic, std::string::npos) << last;
  EXPECT_LT(negotiate, basic);
}

TEST_F(HelperLoginTest, APasswordIsAskedAboutOnce) {
  auto client = new_client();
  for (int i = 0; i < 3; ++i) EXPECT_EQ(status_of_next(client, kPasswordOfAlice), 200);
  EXPECT_EQ(counter(&Counters::logins_checked_total), 1U);
  EXPECT_EQ(counter(&Counters::logins_remembered_total), 2U);
  EXPECT_EQ(status_of_next(client, ""), 407) << "Basic counts for its request alone";
}

TEST_F(HelperLoginTest, WhereNobodyCanTellItIsA503) {
  auto client = new_client();
  EXPECT_EQ(status_of_next(client, kNobodyCanTell), 503);
  EXPECT_EQ(field_of(last, "Retry-After"), "1") << last;
  EXPECT_EQ(errors(ErrorKind::login_unchecked), 1U);
}

TEST_F(HelperLoginTest, ATicketCountsForItsConnection) {
  auto client = new_client();
  EXPECT_EQ(status_of_next(client, kTicketOfAlice), 200);
  EXPECT_EQ(status_of_next(client, ""), 200) << "RFC 4559";
  EXPECT_EQ(status_of_next(client, kTicketOfAlice), 200) << "the same octets are not asked about again";
  EXPECT_EQ(counter(&Counters::logins_checked_total), 1U);
  auto other = new_client();
  EXPECT_EQ(status_of_next(other, ""), 407);
  EXPECT_EQ(status_of_next(other, kTicketOfAlice), 407) << "a copy";
  EXPECT_EQ(field_of(last, "Retry-After"), "") << "not to be tried again";
  EXPECT_EQ(status_of_next(other, kTicketOfBob), 200);
  wait_until([&] { return log_text().find("\"user\":\"bob\"") != std::string::npos; });
  EXPECT_NE(log_text().find("\"user\":\"alice\""), std::string::npos);
  EXPECT_EQ(log_text().find("YWxpY2U="), std::string::npos);
}

TEST_F(HelperLoginTest, AnotherTicketOnAConnectionIsAnotherUser) {
  auto client = new_client();
  EXPECT_EQ(status_of_next(client, kTicketOfAlice), 200);
  EXPECT_EQ(status_of_next(client, "Proxy-Authorization: Negotiate ////\r\n"), 407);
  EXPECT_EQ(status_of_next(client, ""), 407) << "who has failed is nobody";
  EXPECT_EQ(status_of_next(client, kTicketOfBob), 200);
}

TEST_F(HelperLoginTest, ATicketMayTakeSeveralLegs) {
  given.settings.authentication.negotiate_helper = helper("legs");
  const auto ticket = [](const std::string& text) { return "Proxy-Authorization: Negotiate " + base64(text) + "\r\n"; };
  auto client = new_client();
  EXPECT_EQ(status_of_next(client, ticket("Alice")), 407);
  EXPECT_EQ(field_of(last, "Proxy-Authenticate"), "Negotiate bGVn") << last;
  EXPECT_EQ(field_of(last, "Connection"), "") << last;
  EXPECT_EQ(status_of_next(client, ticket("Alice2")), 200);
  EXPECT_EQ(status_of_next(client, ""), 200);
  wait_until([&] { return log_text().find("\"user\":\"alice\"") != std::string::npos; });
  auto other = new_client();
  EXPECT_EQ(status_of_next(other, ticket("Alice2")), 407) << "on another connection it is the first leg";
  EXPECT_EQ(field_of(last, "Proxy-Authenticate"), "Negotiate bGVn");
  EXPECT_EQ(status_of_next(other, ""), 407) << "and this is none";
  EXPECT_EQ(status_of_next(other, ticket("Alice22")), 407);
  EXPECT_EQ(field_of(last, "Proxy-Authenticate"), "Negotiate bGVn") << "but the first of another login";
  auto endless = new_client();
  for (unsigned leg = 1; leg <= UserCheck::kMostLegs; ++leg) {
    EXPECT_EQ(status_of_next(endless, ticket("endless")), 407) << leg;
    EXPECT_EQ(field_of(last, "Proxy-Authenticate") == "Negotiate bGVn", leg < UserCheck::kMostLegs) << leg;
  }
  EXPECT_EQ(counter(&Counters::logins_refused_total), 1U);
  auto tunnel = new_client(connect_to(at("ok.test"), ticket("bob")));
  EXPECT_EQ(status_of(read_answer(tunnel).head), 407);
  tunnel.send(connect_to(at("ok.test"), ticket("bob2")));
  auto server = origin.accept();
  EXPECT_EQ(status_of(tunnel.read_head()), 200);
}

TEST_F(HelperLoginTest, WhatIsNoTicketIsNoCredential) {
  auto client = new_client();
  for (const char* value :
       {"Negotiate", "Negotiate ", "Negotiate a", "Negotiate a b=", "Negotiate ====", "NTLM YQ=="}) {
    EXPECT_EQ(status_of_next(client, std::string("Proxy-Authorization: ") + value + "\r\n"), 407) << value;
  }
  EXPECT_EQ(counter(&Counters::logins_checked_total), 0U);
}

TEST_F(HelperLoginTest, TheUserOfATunnelIsThatOfItsConnect) {
  auto client = new_client(connect_to(at("ok.test"), kTicketOfAlice));
  auto server = origin.accept();
  EXPECT_EQ(status_of(client.read_head()), 200);
  client.send(inner(at("ok.test")));
  EXPECT_EQ(server.read_head().find("Proxy-Authorization"), std::string::npos);
  answer(server, client, "x");
  wait_until([&] { return log_text().find("http_in_tunnel") != std::string::npos; });
  EXPECT_NE(log_text().find("\"user\":\"alice\""), std::string::npos);
}

TEST_F(HelperLoginTest, OtherHelpersAfterAReloadEndWhatThoseOfBeforeLetIn) {
  auto client = new_client();
  EXPECT_EQ(status_of_next(client, kTicketOfAlice), 200);
  auto tunnel = new_client(connect_to(at("ok.test"), kTicketOfBob));
  auto server = origin.accept();
  EXPECT_EQ(status_of(tunnel.read_head()), 200);
  reload();
  EXPECT_EQ(status_of_next(client, ""), 200) << "nothing has changed";
  given.settings.authentication.strip_realm = true;
  reload();
  tunnel.expect_end();
  EXPECT_EQ(status_of_next(client, ""), 407);
}

TEST_F(HelperLoginTest, WhatAHelperOfBeforeSaysLetsNobodyInAfterAReload) {
  const std::filesystem::path gate = dir.path() / "gate";
  given.settings.authentication.basic_helper = helper("held", gate.string());
  auto client = new_client(connect_to(at("ok.test"), kPasswordOfAlice));
  wait_until([&] { return the_proxy().logins().helpers.front().second.asked == 1; });
  given.settings.authentication.basic_helper = helper("honest");
  reload();
  std::ofstream(gate).put('x');
  EXPECT_EQ(status_of(read_answer(client).head), 407);
  EXPECT_EQ(status_of_next(client, kPasswordOfAlice), 200) << "by the helper of now";
  EXPECT_EQ(counter(&Counters::logins_checked_total), 2U);
}

TEST_F(HelperLoginTest, GroupsComeFromTheGroupsHelper) {
  given.list = "blocked.test\n";
  given.settings.authentication.groups_helper = helper("group");
  auto& groups = given.settings.groups;
  groups.resize(1);
  groups[0].name = "free";
  groups[0].user_groups = {"atlas"};
  groups[0].filters["testlist"].otherwise = conf::Group::Action::off;
  const auto status = [&](const std::string& credentials) {
    auto client = new_client(get(at("blocked.test"), "/", credentials));
    if (origin.speaks_first(client)) return status_of(read_answer(client).head);
    auto server = origin.accept();
    server.read_head();
    answer(server, client, "x");
    return 200;
  };
  EXPECT_EQ(status(kTicketOfAlice), 200) << "whose name begins as that of the group does";
  EXPECT_EQ(status(kTicketOfBob), 403);
}

TEST_F(HelperLoginTest, WhoSpellsANameOtherwiseIsInTheSameGroup) {
  given.settings.authentication.basic_helper = helper("nameless");
  auto& groups = given.settings.groups;
  groups.resize(1);
  groups[0].name = "pupils";
  groups[0].users = {"Anna"};
  groups[0].otherwise.otherwise = conf::Otherwise::deny;
  const auto status = [&](const std::string& name) {
    auto client = new_client();
    return status_of_next(client, "Proxy-Authorization: Basic " + base64(name + ":open sesame") + "\r\n");
  };
  for (const char* name : {"Anna", "anna", "ANNA"}) EXPECT_EQ(status(name), 403) << name;
  for (const char* name : {" anna", "anna "}) EXPECT_EQ(status(name), 407) << name;
  EXPECT_EQ(status("hanna"), 200);
}

TEST_F(HelperLoginTest, BasicCanBeKeptToListenersWithTls) {
  given.settings.authentication.basic_without_tls = false;
  auto client = new_client();
  EXPECT_EQ(status_of_next(client, kPasswordOfAlice), 407);
  EXPECT_EQ(last.find("Basic"), std::string::npos) << last;
  EXPECT_EQ(status_of_next(client, kTicketOfAlice), 200);
}

}  // namespace
}  // namespace bloomwall::test
