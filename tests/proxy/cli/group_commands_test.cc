// What `explain` and `check` say of groups, schedules and white lists.
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <vector>

#include "proxy/cli/commands.h"
#include "tests/filter/policy/filter_maker.h"
#include "tests/proxy/auth/hashes.h"
#include "tests/support/temp_dir.h"
#include "tests/support/test_certificate.h"

namespace bloomwall::proxy {
namespace {

using nlohmann::json;

class GroupCommands : public testing::Test {
 protected:
  struct Told {
    int status;
    std::string out, err;
  };
  GroupCommands() {
    filter::make_filter(dir_.path() / "games.bwf", {.entries = {"S games.test"}});
    filter::make_filter(dir_.path() / "white.bwf", {.entries = {"S school.test"}, .claimed_keys = 9000});
  }
  Told ask(std::vector<std::string> words, const std::string& input = {}) const {
    words.insert(words.begin() + 1, {"--config", (dir_.path() / "bloomwall.yaml").string()});
    std::istringstream in(input);
    std::ostringstream out, err;
    const int status = run_program(std::move(words), {.in = in, .out = out, .err = err});
    return {status, out.str(), err.str()};
  }
  void configure(const std::string& more) const {
    dir_.write(
        "bloomwall.yaml",
        "listeners: [{address: \"127.0.0.1:0\"}]\nstate_dir: null\nadmin: {address: null, control_socket: null}\n" +
            more + (more.find("access:") == std::string::npos ? "access: {clients: [0.0.0.0/0]}\n" : ""));
  }
  void configure_school() const {
    configure(R"(
time_zone: Europe/Berlin
schedules: [{name: lessons, times: [mon-fri 08:00-12:30]}]
filters: [{name: white, file: white.bwf, action: allow}, {name: games, file: games.bwf}]
groups:
- name: pupils
  clients: [10.2.0.0/16, 10.3.0.0/16]
  filters: {games: {lessons: block, otherwise: monitor}, white: {lessons: allow, otherwise: "off"}}
  otherwise: {lessons: deny}
- {name: staff, clients: [10.0.0.0/8]}
- {name: late, clients: [10.2.7.0/24]}
)");
  }
  test::TempDir dir_;
};

TEST_F(GroupCommands, ExplainTellsTheWholeStory) {
  configure_school();
  const Told got = ask({"explain", "http://games.test/a", "--client", "10.2.3.4", "--at", "2026-11-23T09:10"});
  EXPECT_EQ(got.status, 1);
  for (const char* line :
       {"group       pupils (1 of 4): clients 10.2.0.0/16, 10.3.0.0/16\n",
        "time        Mon 2026-11-23 09:10 Europe/Berlin; active: lessons until Mon 2026-11-23 12:30 Europe/Berlin\n",
        "actions     white allow, games block; otherwise deny\n", "verdict     blocked (listed) by filter games",
        "holds       until Mon 2026-11-23 12:30 Europe/Berlin, then monitored (listed) by filter games\n"}) {
    EXPECT_NE(got.out.find(line), std::string::npos) << line << "in\n" << got.out;
  }
  const Told none = ask({"explain", "http://none.test/", "--client", "10.2.3.4", "--at", "2026-11-23T08:10:00Z"});
  EXPECT_NE(none.out.find("verdict     blocked (default_deny): on no white list"), std::string::npos) << none.out;
  EXPECT_NE(none.out.find("then allowed (unlisted)\n"), std::string::npos) << none.out;
  EXPECT_EQ(ask({"explain", "http://games.test/", "--client", "10.2.3.4", "--at", "2026-11-22T09:10"}).status, 0);
  const Told staff = ask({"explain", "http://games.test/", "--client", "10.9.9.9"});
  EXPECT_NE(staff.out.find("group       staff (2 of 4)"), std::string::npos) << staff.out;
  EXPECT_EQ(staff.out.find("holds "), std::string::npos) << "no schedule changes it\n" << staff.out;
  EXPECT_NE(
      ask({"explain", "http://games.test/"}).out.find("group       default (4 of 4): everybody who is in no other"),
      std::string::npos);
}

TEST_F(GroupCommands, ExplainSaysThatAClientMayNotUseTheProxy) {
  const std::string groups = "filters: [{name: games, file: games.bwf}]\ngroups: [{name: all}]\n";
  for (const std::string& more : {std::string("filters: [{name: games, file: games.bwf}]\n"), groups}) {
    configure(more + "access: {clients: [10.2.0.0/16]}\n");
    const std::string url = "http://none.test/";
    const std::string line = "client      10.3.3.4: not in access.clients: whatever it asks for is answered 403\n";
    const Told stranger = ask({"explain", url, "--client", "10.3.3.4"});
    EXPECT_TRUE(stranger.out.starts_with(line)) << more;
    EXPECT_EQ(stranger.status, 1);
    const Told object = ask({"explain", "--json", url, "--client", "10.3.3.4"});
    EXPECT_EQ(json::parse(object.out).at("access"), "client_denied");
    EXPECT_EQ(object.status, 1);
    const Told lines = ask({"explain", "--client", "10.3.3.4"}, url + "\nhttp://games.test/\n");
    EXPECT_EQ(lines.out, "refused\t" + url + "\tclient_denied\nrefused\thttp://games.test/\tclient_denied\n");
    EXPECT_EQ(lines.status, 1);
    for (const char* client : {"10.2.3.4", "::ffff:10.2.3.4"}) {
      const Told known = ask({"explain", url, "--client", client});
      EXPECT_EQ(known.out.find("access.clients"), std::string::npos) << client;
      EXPECT_EQ(known.status, 0);
      EXPECT_EQ(json::parse(ask({"explain", "--json", url, "--client", client}).out).at("access"), "allowed");
      EXPECT_EQ(ask({"explain", "--client", client}, url + "\n").out, "clear\t" + url + "\n");
    }
    EXPECT_EQ(ask({"explain", url}).out.find("access.clients"), std::string::npos) << "anybody may be meant";
  }
}

TEST_F(GroupCommands, ExplainNamesWhatSafeSearchDials) {
  configure(R"(
groups: [{name: pupils, clients: [10.2.0.0/16], safe_search: [google]}]
dns: {hosts: {forcesafesearch.google.com: 10.9.9.9}}
)");
  const std::string url = "https://www.google.com/search?q=a";
  const Told pupil = ask({"explain", url, "--client", "10.2.3.4"});
  EXPECT_NE(pupil.out.find("CONNECT www.google.com:443 is refused, status 403 destination_denied"), std::string::npos)
      << "its address is that of the other name\n"
      << pupil.out;
  configure("groups: [{name: pupils, clients: [10.2.0.0/16], safe_search: [google]}]\n");
  const std::string line = "dialled     forcesafesearch.google.com: safe search of google\n";
  EXPECT_NE(ask({"explain", url, "--client", "10.2.3.4"}).out.find(line), std::string::npos);
  EXPECT_EQ(ask({"explain", url, "--client", "10.3.3.4"}).out.find("dialled "), std::string::npos);
  const auto object = json::parse(ask({"explain", "--json", url, "--client", "10.2.3.4"}).out);
  EXPECT_EQ(object.at("dialled_as"), "forcesafesearch.google.com");
  EXPECT_TRUE(json::parse(ask({"explain", "--json", url}).out).at("dialled_as").is_null());
  configure("groups: [{name: pupils, clients: [10.2.0.0/16], safe_search: [gogle]}]\n");
  const Told wrong = ask({"check"});
  EXPECT_EQ(wrong.status, 78);
  EXPECT_NE(wrong.err.find("groups[0].safe_search: there is no engine \"gogle\"; there are google,"), std::string::npos)
      << wrong.err;
}

TEST_F(GroupCommands, ExplainKnowsUsers) {
  dir_.write("users", test::user_line("anna", ":class 7b,chess") + test::user_line("bob"));
  configure(R"(
filters: [{name: games, file: games.bwf}]
groups:
- {name: seventh, user_groups: [class 7b], filters: {games: "off"}}
- {name: bobs, users: [bob], filters: {games: monitor}}
authentication: {require: [10.0.0.0/8], users_file: users, exempt_hosts: [games.test]}
)");
  const auto explain = [&](std::vector<std::string> words, const std::string& url = "http://none.test/") {
    words.insert(words.begin(), {"explain", url, "--client", "10.1.1.1"});
    return ask(words);
  };
  const std::string anna = explain({"--user", "anna"}).out;
  EXPECT_NE(anna.find("user        anna: groups class 7b, chess\n"), std::string::npos) << anna;
  EXPECT_NE(anna.find("group       seventh (1 of 3): user_groups class 7b\n"), std::string::npos) << anna;
  const std::string bob = explain({"--user", "bob"}).out;
  EXPECT_NE(bob.find("user        bob: no groups\ngroup       bobs (2 of 3): users bob\n"), std::string::npos) << bob;
  EXPECT_NE(explain({"--user", "dora", "--user-group", "class 7b"}).out.find("group       seventh"), std::string::npos);
  EXPECT_NE(explain({"--user", "anna", "--user-group", "x"}).out.find("group       default"), std::string::npos);
  const std::string none = explain({}).out;
  EXPECT_NE(none.find("user        none is given: without credentials this client is answered 407\n"),
            std::string::npos)
      << none;
  const Told exempt = explain({"--user", "anna"}, "http://games.test/");
  EXPECT_NE(exempt.out.find("user        none: authentication.exempt_hosts\ngroup       default"), std::string::npos)
      << exempt.out;
  EXPECT_EQ(exempt.status, 1) << "in nobody's group it is blocked";
  EXPECT_EQ(json::parse(explain({"--json", "--user", "anna"}).out).at("user"),
            json::parse(R"({"name": "anna", "groups": ["class 7b", "chess"]})"));
  const Told elsewhere = ask({"explain", "--json", "http://none.test/", "--client", "192.0.2.1", "--user", "anna"});
  EXPECT_TRUE(json::parse(elsewhere.out).at("user").is_null()) << "who need not log in has no user";
  const std::string ignored = ask({"explain", "http://none.test/", "--client", "192.0.2.1", "--user", "anna"}).out;
  EXPECT_NE(ignored.find("user        none: this client does not log in (authentication.require)\ngroup       default"),
            std::string::npos)
      << ignored;
  const std::string anywhere = ask({"explain", "http://none.test/", "--user", "anna"}).out;
  EXPECT_NE(anywhere.find("user        anna: groups class 7b, chess\ngroup       seventh"), std::string::npos)
      << "a user without an address is one who logs in: " << anywhere;
  EXPECT_NE(explain({"--user", "dora"}).err.find("user dora: not in authentication.users_file"), std::string::npos);
  EXPECT_NE(explain({"--user-group", "x"}).err.find("needs a user"), std::string::npos);
  configure("");
  const Told nobody = explain({"--user", "anna"});
  EXPECT_EQ(nobody.status, 2);
  EXPECT_NE(nobody.err.find("authentication.require is empty"), std::string::npos) << nobody.err;
}

TEST_F(GroupCommands, ExplainKnowsCertificates) {
  const auto files = test::make_certificate(dir_.path(), "proxy", "proxy.test");
  dir_.write("bloomwall.yaml",
             "listeners:\n- address: 127.0.0.1:0\n  tls: {certificate: " + files.certificate.string() +
                 ", key: " + files.key.string() + ", client_ca: " + files.certificate.string() +
                 ", client_certificate: optional}\n- address: 127.0.0.2:0\nstate_dir: null\n"
                 "groups: [{name: kiosks, certificates: ['cn:kiosk 3', 'dns:Kiosk.test']}]\n"
                 "admin: {address: null, control_socket: null}\n");
  const auto explain = [&](std::vector<std::string> words) {
    words.insert(words.begin(), {"explain", "http://none.test/"});
    return ask(words).out;
  };
  EXPECT_NE(explain({"--certificate", "cn:x", "--certificate", "dns:kiosk.test"})
                .find("group       kiosks (1 of 2): certificates cn:kiosk 3, dns:kiosk.test\n"),
            std::string::npos);
  EXPECT_NE(explain({}).find("group       default"), std::string::npos);
  EXPECT_NE(explain({"--certificate", "cn:kiosk 3", "--listener", "127.0.0.2:0"}).find("group       default"),
            std::string::npos)
      << "which asks for none";
}

TEST_F(GroupCommands, CheckTakesUsersAsTheyAreWritten) {
  configure("groups:\n- {name: a, users: ['x:y']}\n");
  const Told wrong = ask({"check"});
  EXPECT_EQ(wrong.status, 78);
  EXPECT_NE(wrong.err.find("bloomwall.yaml:5:21: groups[0].users[0]: expected the name of a user: 1 to 255 octets"),
            std::string::npos)
      << wrong.err;
  configure("groups:\n- {name: a, user_groups: ['x,y']}\n");
  EXPECT_NE(ask({"check"}).err.find("groups[0].user_groups[0]: expected a group of users"), std::string::npos);
  configure("groups:\n- {name: a, certificates: ['on:x']}\n");
  EXPECT_NE(ask({"check"}).err.find("groups[0].certificates[0]: expected cn:NAME, dns:NAME, uri:URI or email:NAME"),
            std::string::npos);
  configure("groups: [{name: a, certificates: ['cn:x']}]\n");
  EXPECT_NE(ask({"check"}).err.find("certificates hold for nobody while no listener has tls.client_certificate"),
            std::string::npos);
  configure("groups: [{name: a, users: [x]}]\n");
  const Told unused = ask({"check"});
  EXPECT_EQ(unused.status, 0) << unused.err;
  EXPECT_NE(unused.err.find("hold for nobody while authentication.require is empty"), std::string::npos) << unused.err;
}

TEST_F(GroupCommands, ExplainAnswersInJson) {
  configure_school();
  const json got = json::parse(
      ask({"explain", "--json", "https://games.test/", "--client", "10.2.3.4", "--at", "2026-11-23T09:10"}).out);
  EXPECT_EQ(got.at("group").at("name"), "pupils");
  EXPECT_EQ(got.at("group").at("index"), 0);
  EXPECT_EQ(got.at("group").at("actions"), json::parse(R"({"white": "allow", "games": "block"})"));
  EXPECT_EQ(got.at("group").at("otherwise"), "deny");
  EXPECT_EQ(got.at("group").at("schedules").at(0),
            json::parse(R"({"name": "lessons", "active": true, "until": "2026-11-23T11:30:00Z"})"));
  EXPECT_EQ(got.at("valid_until"), "2026-11-23T11:30:00Z");
  EXPECT_EQ(got.at("tunnel").at("filter"), "games");
}

TEST_F(GroupCommands, ExplainKnowsNoEndOfAScheduleThatNeverChanges) {
  configure(R"(
time_zone: Europe/Berlin
schedules: [{name: always, times: [mon-sun]}]
filters: [{name: games, file: games.bwf}]
groups: [{name: pupils, clients: [10.2.0.0/16], filters: {games: {always: monitor}}}]
)");
  const std::string url = "http://games.test/";
  const Told got = ask({"explain", url, "--client", "10.2.3.4", "--at", "2026-11-23T09:10"});
  EXPECT_NE(got.out.find("time        Mon 2026-11-23 09:10 Europe/Berlin; active: always\n"), std::string::npos)
      << got.out;
  EXPECT_EQ(got.out.find("holds "), std::string::npos) << got.out;
  const json object = json::parse(ask({"explain", "--json", url, "--client", "10.2.3.4"}).out);
  EXPECT_EQ(object.at("group").at("schedules").at(0),
            json::parse(R"({"name": "always", "active": true, "until": null})"));
  EXPECT_TRUE(object.at("valid_until").is_null());
}

TEST_F(GroupCommands, ExplainKnowsTheEndOfAnExceptionHoweverFarItIs) {
  std::filesystem::create_directory(dir_.path() / "state");
  dir_.write("state/exceptions.json", R"({"next_id":2,"changes":1,"items":[
{"id":1,"action":"allow","kind":"S","entry":"games.test","filters":[],"why":"x","created":"2026-11-23T08:00:00Z",
"until":"2027-11-23T08:00:00Z","client":null,"user":null,"group":null,"who":"root","until_build":false}]})");
  const std::string groups =
      "schedules: [{name: lessons, times: [mon-fri 08:00-12:30]}]\n"
      "groups: [{name: pupils, filters: {games: {lessons: block, otherwise: monitor}}}]\n";
  for (const std::string& more : {std::string(), groups}) {
    dir_.write("bloomwall.yaml",
               "listeners: [{address: \"127.0.0.1:0\"}]\nstate_dir: state\ntime_zone: UTC\n"
               "admin: {address: null, control_socket: null}\naccess: {clients: [10.0.0.0/8]}\n"
               "filters: [{name: games, file: games.bwf}]\n" +
                   more);
    const Told got =
        ask({"explain", "--json", "http://games.test/", "--client", "10.2.3.4", "--at", "2026-11-23T09:10Z"});
    ASSERT_EQ(got.status, 0) << got.err;
    const json object = json::parse(got.out);
    EXPECT_EQ(object.at("exception"), 1);
    EXPECT_EQ(object.at("valid_until"), "2027-11-23T08:00:00Z") << more;
  }
}

TEST_F(GroupCommands, AWhiteListTellsItsErrorTheOtherWayRound) {
  configure("filters: [{name: white, file: white.bwf, action: allow}]\notherwise: deny\n");
  const Told allowed = ask({"explain", "http://school.test/"});
  EXPECT_EQ(allowed.status, 0);
  EXPECT_NE(allowed.out.find("verdict     allowed (allow_filter) by filter white: S school.test\n"), std::string::npos)
      << allowed.out;
  EXPECT_NE(allowed.out.find("white list  white: of what it does not list, one in "), std::string::npos) << allowed.out;
  EXPECT_EQ(ask({"explain"}, "http://none.test/\nhttps://none.test/\nhttp://school.test/\n").out,
            "refused\thttp://none.test/\tdefault_deny\nrefused\thttps://none.test/\tdefault_deny\n"
            "clear\thttp://school.test/\n");
  const Told check = ask({"check"});
  EXPECT_EQ(check.status, 0) << check.err;
  EXPECT_NE(check.out.find("passes although it is not listed: one in "), std::string::npos) << check.out;
  EXPECT_NE(check.out.find("all blocking filters: never on unlisted hosts"), std::string::npos) << check.out;
  EXPECT_NE(check.out.find("otherwise: deny: what no white list"), std::string::npos) << check.out;
  EXPECT_NE(check.out.find("\nallow lists: 0 entries\nfile descriptors at full load: "), std::string::npos)
      << check.out;
  const json as_json = json::parse(ask({"check", "--json"}).out);
  EXPECT_EQ(as_json.at("otherwise"), "deny");
  EXPECT_GT(as_json.at("predicted_leak").at("unlisted_host"), 0.0);
}

TEST_F(GroupCommands, AWhiteListOfAGroupAloneTellsItsErrorToo) {
  configure(R"(
schedules: [{name: exam, times: [mon 08:00-10:00]}]
filters: [{name: white, file: white.bwf, action: monitor}, {name: games, file: games.bwf}]
groups:
- {name: kiosks, clients: [10.9.0.0/24], filters: {white: allow}, otherwise: deny}
- {name: class, clients: [10.2.0.0/16], filters: {white: {exam: allow, otherwise: "off"}}}
- {name: staff, clients: [10.1.0.0/16], filters: {white: block}}
)");
  const Told check = ask({"check"});
  EXPECT_EQ(check.status, 0) << check.err;
  EXPECT_NE(check.out.find("predicted error per request: one in "), std::string::npos) << check.out;
  EXPECT_NE(check.out.find("passes in kiosks, class although it is not listed: one in "), std::string::npos)
      << check.out;
  const Told kiosk = ask({"explain", "http://school.test/", "--client", "10.9.0.7"});
  EXPECT_NE(kiosk.out.find("white list  white: of what it does not list, one in "), std::string::npos) << kiosk.out;
  const Told other = ask({"explain", "http://school.test/", "--client", "10.8.0.7"});
  EXPECT_NE(other.out.find("monitored (listed) by filter white"), std::string::npos) << other.out;
}

TEST_F(GroupCommands, CheckShowsGroupsAndWarnsOfThoseNobodyCanBeIn) {
  configure_school();
  const Told check = ask({"check"});
  EXPECT_EQ(check.status, 0) << check.err;
  EXPECT_NE(check.err.find("groups[2]: nobody can be in late"), std::string::npos) << check.err;
  EXPECT_NE(check.out.find("group staff (2 of 4): now white allow, games block; otherwise allow\n"), std::string::npos)
      << check.out;
  const json as_json = json::parse(ask({"check", "--json"}).out);
  EXPECT_EQ(as_json.at("groups").size(), 4U);
  EXPECT_EQ(as_json.at("groups").at(1), "staff");
  configure("groups: [{name: a, allow_lists: [gone.txt]}]\n");
  const Told gone = ask({"check"});
  EXPECT_EQ(gone.status, 2);
  EXPECT_NE(gone.err.find("gone.txt"), std::string::npos) << gone.err;
  configure("groups: [{name: a, block_page: {template: gone.html}}]\n");
  EXPECT_NE(ask({"check"}).err.find("groups[0].block_page.template: cannot read"), std::string::npos);
  configure("filters: [{name: games, file: games.bwf}]\ngroups:\n- {name: a, filters: {gams: block}}\n");
  const Told wrong = ask({"check"});
  EXPECT_EQ(wrong.status, 78);
  EXPECT_NE(
      wrong.err.find("bloomwall.yaml:6:23: groups[0].filters.gams: there is no filter \"gams\"; did you mean games?"),
      std::string::npos)
      << wrong.err;
}

TEST_F(GroupCommands, ExplainRefusesWhatItCannotAnswer) {
  configure_school();
  const struct {
    std::vector<std::string> words;
    std::string says;
  } rows[] = {
      {{"--client", "pupil"}, "client pupil: an address is needed"},
      {{"--listener", "127.0.0.1:9"}, "listener 127.0.0.1:9: not one of listeners[].address"},
      {{"--at", "yesterday"}, "at yesterday: expected a time such as 2026-11-23T21:15 that exists in Europe/Berlin"},
      {{"--at", "2026-03-29T02:30"}, "at 2026-03-29T02:30: expected a time"},
  };
  for (const auto& row : rows) {
    std::vector<std::string> words{"explain", "http://a.test/"};
    words.insert(words.end(), row.words.begin(), row.words.end());
    const Told got = ask(words);
    EXPECT_EQ(got.status, 2) << row.says;
    EXPECT_NE(got.err.find(row.says), std::string::npos) << got.err;
  }
}

}  // namespace
}  // namespace bloomwall::proxy
