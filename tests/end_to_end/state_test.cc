// What people change in the running proxy, over its commands and its API: who it is for, who did it, who may, and what
// is left of it when its file is gone.
// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <array>
#include <chrono>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "tests/end_to_end/servers.h"
#include "tests/proxy/auth/hashes.h"
#include "tests/support/scripted_peer.h"

namespace bloomwall::test {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

class ServedState : public testing::Test {
 protected:
  void SetUp() override {
    if (!have_program("curl")) GTEST_SKIP() << "needs curl";
    build_filter(folder_.path("games.bwf"), "games.example.test\nboth.example.test\n", {"--format", "urls"});
    build_filter(folder_.path("malware.bwf"), "malware.example.test\nboth.example.test\n", {"--format", "urls"});
    start();
  }
  void start() {
    proxy_ = std::make_unique<Proxy>(
        folder_,
        std::string(
            "filters: [{name: games, file: games.bwf}, {name: malware, file: malware.bwf, exceptions: refused}]\n") +
            "groups: [{name: pupils, clients: [127.0.0.2]}, {name: staff, clients: [127.0.0.3]}]\n"
            "access: {deny_destinations: [], connect_ports: [], opaque_tunnels: allow}\n"
            "log: {access: {file: access.log, format: json}}\nstate_dir: state\n"
            "dns: {hosts: {games.example.test: 127.0.0.1, malware.example.test: 127.0.0.1, both.example.test: "
            "127.0.0.1, "
            "plain.example.test: 127.0.0.1}}\n" +
            more_,
        Proxy::Admin::on);
  }
  Finished command(std::vector<std::string> words) const {
    words.insert(words.begin(), bloomwall_program());
    words.insert(words.end(), {"--config", proxy_->config()});
    return run(words);
  }
  // 403 blocked; 502 passed, since nobody listens on that port.
  std::string status(const std::string& host, const std::string& client = "127.0.0.1") const {
    return run({"curl", "-s", "-o", "/dev/null", "-w", "%{http_code}", "-m", "20", "--interface", client, "-x",
                proxy_->url(), "http://" + host + ":" + std::to_string(closed_port_) + "/"})
        .out;
  }
  // "STATUS BODY" of a question to the admin address.
  std::string ask(const std::string& path, const std::vector<std::string>& more = {}) const {
    std::vector<std::string> argv{"curl", "-s", "-m", "20", "-w", "\n%{http_code}"};
    argv.insert(argv.end(), more.begin(), more.end());
    argv.push_back("http://127.0.0.1:" + std::to_string(proxy_->admin_port()) + path);
    const std::string out = run(argv).out;
    const std::size_t end = out.rfind('\n');
    return out.substr(end + 1) + " " + out.substr(0, end);
  }
  std::string token(const std::string& name, const std::vector<std::string>& more) const {
    std::vector<std::string> words{"token", "add", name, "--for", "1h"};
    words.insert(words.end(), more.begin(), more.end());
    const auto made = command(words);
    EXPECT_EQ(made.status, 0) << made.out;
    return made.out.substr(0, made.out.find('\n'));
  }
  static std::string in_ten_minutes() {
    const std::time_t then = std::time(nullptr) + 600;
    std::array<char, 32> text{};
    std::strftime(text.data(), text.size(), "%Y-%m-%dT%H:%M:%SZ", std::gmtime(&then));
    return text.data();
  }
  void kill_proxy() {
    proxy_->process().signal(SIGKILL);
    ASSERT_TRUE(proxy_->process().wait().has_value());
    proxy_.reset();
  }

  TempDir folder_;
  ScriptedListener origin_;
  const std::uint16_t closed_port_ = closed_port();
  std::string more_;  // of the configuration
  std::unique_ptr<Proxy> proxy_;
};

TEST_F(ServedState, AnExceptionMayBeForSomePeopleAlone) {
  ASSERT_EQ(command({"allow", "games.example.test", "--group", "pupils", "--why", "lesson"}).status, 0);
  EXPECT_EQ(status("games.example.test", "127.0.0.2"), "502");
  EXPECT_EQ(status("games.example.test", "127.0.0.3"), "403");
  EXPECT_EQ(status("games.example.test"), "403");
  const auto made = command({"allow", "games.example.test", "--client", "127.0.0.4/31", "--why", "x"});
  EXPECT_THAT(made.out, HasSubstr("S games.example.test for client 127.0.0.4/31"));
  EXPECT_EQ(status("games.example.test", "127.0.0.5"), "502");
  EXPECT_EQ(status("games.example.test", "127.0.0.6"), "403");
  EXPECT_EQ(command({"allow", "a.test", "--client", "10.0.0.1/8", "--why", "x"}).status, 1);
  for (const std::string action : {"allow", "deny"}) {
    const auto refused = command({action, "a.test", "--group", "pupil", "--why", "x"});
    EXPECT_EQ(refused.status, 1) << "it would be for nobody";
    EXPECT_THAT(refused.out, HasSubstr("there is no group pupil; there are pupils, staff, default"));
  }
  EXPECT_THAT(command({"explain", "http://games.example.test/", "--client", "127.0.0.2"}).out,
              HasSubstr("allowed (excepted)"));
  EXPECT_THAT(command({"explain", "http://games.example.test/", "--client", "127.0.0.3"}).out, HasSubstr("blocked"));
}

TEST_F(ServedState, AFilterMayRefuseThem) {
  for (const std::vector<std::string>& words : {std::vector<std::string>{"allow", "malware.example.test", "--why", "x"},
                                                {"allow", "both.example.test", "--why", "x"},
                                                {"allow", "both.example.test", "--filter", "malware", "--why", "x"}}) {
    const auto refused = command(words);
    EXPECT_EQ(refused.status, 1) << refused.out;
    EXPECT_THAT(refused.out, HasSubstr("the filter malware takes no exceptions"));
  }
  EXPECT_EQ(command({"exceptions"}).out, "");
  EXPECT_EQ(status("malware.example.test"), "403");
  ASSERT_EQ(command({"allow", "example.test", "--why", "all of it"}).status, 0) << "it opens the rest";
  EXPECT_EQ(status("games.example.test"), "502");
  EXPECT_EQ(status("both.example.test"), "403");
}

TEST_F(ServedState, AnExceptionMayEndWithABuild) {
  ASSERT_EQ(command({"allow", "games.example.test", "--until-build", "--why", "told the list"}).status, 0);
  ASSERT_EQ(command({"allow", "both.example.test", "--until-build", "--filter", "games", "--why", "x"}).status, 0);
  EXPECT_EQ(status("games.example.test"), "502");
  ASSERT_EQ(proxy_->reload().status, 0);
  EXPECT_THAT(command({"exceptions"}).out, HasSubstr("games.example.test\tuntil a build\ttold the list"));
  build_filter(folder_.path("games.bwf"), "both.example.test\nmore.example.test\n", {"--format", "urls"});
  ASSERT_EQ(proxy_->reload().status, 0);
  const auto comes_to = [&](const std::string& asked, const std::string& text) {
    const auto end = std::chrono::steady_clock::now() + Seconds(20);
    while (command({asked}).out.find(text) == std::string::npos && std::chrono::steady_clock::now() < end) {
    }
    return command({asked}).out;
  };
  EXPECT_THAT(comes_to("audit", "exception.cured\t1"), HasSubstr("exception.cured\t1"));
  EXPECT_EQ(status("games.example.test"), "502") << "it is not listed any more";
  for (int builds = 1; builds < 3; ++builds) {
    build_filter(folder_.path("games.bwf"), "both.example.test\nb" + std::to_string(builds) + ".test\n",
                 {"--format", "urls"});
    ASSERT_EQ(proxy_->reload().status, 0);
  }
  EXPECT_THAT(comes_to("exceptions", "the list insists"),
              HasSubstr("2\tallow\tS both.example.test @games\tuntil a build: the list insists, 3 builds"));
  kill_proxy();
  build_filter(folder_.path("games.bwf"), "more.example.test\n", {"--format", "urls"});
  start();
  EXPECT_THAT(comes_to("audit", "exception.cured\t2"), HasSubstr("exception.cured\t2"))
      << "a build while it was down counts, too";
  EXPECT_EQ(command({"exceptions"}).out, "");
}

TEST_F(ServedState, ASwitchEndsByItself) {
  ASSERT_EQ(status("plain.example.test", "127.0.0.2"), "502");
  const auto set_for = [this](const std::string& time) {
    return command({"switch", "pupils", "otherwise=deny", "--for", time, "--why", "exam"});
  };
  const auto set = set_for("10m");
  EXPECT_EQ(set.status, 0) << set.out;
  EXPECT_THAT(set.out, StartsWith("pupils\totherwise=deny\tuntil "));
  EXPECT_EQ(status("plain.example.test", "127.0.0.2"), "403");
  EXPECT_EQ(status("plain.example.test", "127.0.0.3"), "502");
  EXPECT_THAT(command({"explain", "http://plain.example.test/", "--client", "127.0.0.2"}).out,
              testing::AllOf(HasSubstr("switch      otherwise=deny until "), HasSubstr("default_deny")));
  EXPECT_EQ(set_for("1s").status, 0);
  const auto end = std::chrono::steady_clock::now() + Seconds(20);
  while (status("plain.example.test", "127.0.0.2") != "502" && std::chrono::steady_clock::now() < end) {
  }
  EXPECT_EQ(status("plain.example.test", "127.0.0.2"), "502");
  while (command({"audit"}).out.find("switch.ended\tpupils otherwise") == std::string::npos &&
         std::chrono::steady_clock::now() < end) {
  }
  EXPECT_THAT(command({"audit"}).out, HasSubstr("switch.ended\tpupils otherwise"));
  EXPECT_THAT(command({"audit"}).out, HasSubstr("switch.set\tpupils otherwise\texam"));
}

TEST_F(ServedState, ASwitchEndsTunnelsThatAreOpen) {
  const auto open = [this](const std::string& client_address) {
    auto client = ScriptedPeer::connect_from(client_address, proxy_->port());
    client.send(connect_to("plain.example.test:" + std::to_string(origin_.port())));
    auto far = origin_.accept();
    EXPECT_EQ(status_of(client.read_head()), 200);
    client.send("SSH-2.0-x\r\n");
    far.expect("SSH-2.0-x\r\n");
    return std::pair(std::move(client), std::move(far));
  };
  auto [pupil, of_pupil] = open("127.0.0.2");
  auto [teacher, of_teacher] = open("127.0.0.3");
  ASSERT_EQ(command({"switch", "pupils", "otherwise=deny", "--for", "10m", "--why", "exam"}).status, 0);
  pupil.expect_end();
  of_pupil.expect_end();
  of_teacher.send("still here");
  teacher.expect("still here");
}

TEST_F(ServedState, ATokenThatIsRemovedEndsItsTunnels) {
  more_ = "authentication: {require: [127.0.0.4/32], users_file: users}\n";
  folder_.write("users", user_line("anna"));
  kill_proxy();
  start();
  const auto open = [this](const std::string& with) {
    auto client = ScriptedPeer::connect_from("127.0.0.4", proxy_->port());
    client.send(connect_to("plain.example.test:" + std::to_string(origin_.port()),
                           "Proxy-Authorization: Bearer " + with + "\r\n"));
    auto far = origin_.accept();
    EXPECT_EQ(status_of(client.read_head()), 200);
    return std::pair(std::move(client), std::move(far));
  };
  auto [lost, of_lost] = open(token("lost", {}));
  auto [kept, of_kept] = open(token("kept", {}));
  ASSERT_EQ(command({"token", "remove", "lost"}).status, 0);
  lost.expect_end();
  of_lost.expect_end();
  of_kept.send("still here");
  kept.expect("still here");
}

TEST_F(ServedState, AChangeMayNameWhatItsMakerHasSeen) {
  const std::string text = token("anna", {"--role", "reviewer"});
  const auto asked = [&](const std::string& path, std::vector<std::string> more) {
    more.insert(more.end(), {"-i", "-H", "Authorization: Bearer " + text});
    return ask(path, more);
  };
  const auto etag = [&](const std::string& path) {
    const std::string answer = asked(path, {});
    const std::size_t at = answer.find("ETag: ");
    return answer.substr(at + 6, answer.find("\r\n", at) - at - 6);
  };
  const std::string list = "/api/v1/exceptions", groups = "/api/v1/groups";
  const std::string before = etag(list), entry = R"({"action":"allow","entry":"games.example.test","why":"x"})";
  ASSERT_THAT(before, testing::MatchesRegex("\"[0-9a-f]+-0-0\""));
  EXPECT_EQ(etag(list), before);
  EXPECT_THAT(asked(list, {"-d", entry, "-H", "If-Match: " + before}), StartsWith("201"));
  EXPECT_THAT(asked(list, {"-d", entry, "-H", "If-Match: " + before}), StartsWith("412")) << "it has changed";
  EXPECT_THAT(asked(list + "/1", {"-X", "DELETE", "-H", "If-Match: " + before}), StartsWith("412"));
  EXPECT_THAT(asked(list + "/1", {"-X", "DELETE", "-H", "If-Match: \"x\", " + etag(list)}), StartsWith("200"));
  EXPECT_NE(etag(list), before) << "it is as before, and somebody has changed it";
  const std::string no_switch = etag(groups), path = groups + "/pupils/switches/pause";
  const std::string pause = R"({"until":")" + in_ten_minutes() + R"(","why":"x"})";
  EXPECT_THAT(asked(path, {"-X", "PUT", "-d", pause, "-H", "If-Match: " + no_switch}), StartsWith("200"));
  EXPECT_THAT(asked(path, {"-X", "PUT", "-d", pause, "-H", "If-Match: " + no_switch}), StartsWith("412"));
  EXPECT_THAT(asked(path, {"-X", "DELETE", "-H", "If-Match: " + no_switch}), StartsWith("412"));
  EXPECT_THAT(asked(path, {"-X", "DELETE", "-H", "If-Match: *"}), StartsWith("200"));
  EXPECT_EQ(etag(groups), no_switch);
}

TEST_F(ServedState, AChangeOfTokensMayNameWhatItsMakerHasSeen) {
  const std::string chief = token("chief", {"--role", "admin"}), list = "/api/v1/tokens";
  const auto asked = [&](const std::string& path, std::vector<std::string> more) {
    more.insert(more.end(), {"-i", "-H", "Authorization: Bearer " + chief});
    return ask(path, more);
  };
  const auto etag = [&] {
    const std::string answer = asked(list, {});
    const std::size_t at = answer.find("ETag: ");
    return at == std::string::npos ? answer : answer.substr(at + 6, answer.find("\r\n", at) - at - 6);
  };
  const std::string before = etag();
  ASSERT_THAT(before, testing::MatchesRegex("\"[0-9a-f-]+\""));
  const auto make = [&](const std::string& name, const std::string& tag) {
    return asked(list, {"-d", R"({"name":")" + name + R"(","until":null})", "-H", "If-Match: " + tag});
  };
  EXPECT_THAT(make("ci", before), StartsWith("201"));
  EXPECT_THAT(make("other", before), StartsWith("412")) << "it has changed";
  EXPECT_THAT(asked(list + "/ci", {"-X", "DELETE", "-H", "If-Match: " + before}), StartsWith("412"));
  EXPECT_THAT(command({"token", "list"}).out, testing::AllOf(HasSubstr("ci\t"), testing::Not(HasSubstr("other"))));
  EXPECT_THAT(asked(list + "/ci", {"-X", "DELETE", "-H", "If-Match: " + etag()}), StartsWith("200"));
}

TEST_F(ServedState, APauseOpensAllButWhatTakesNoExceptions) {
  ASSERT_EQ(command({"switch", "pupils", "pause", "--for", "10m"}).status, 0);
  EXPECT_EQ(status("games.example.test", "127.0.0.2"), "502");
  EXPECT_EQ(status("malware.example.test", "127.0.0.2"), "403");
  EXPECT_EQ(status("games.example.test", "127.0.0.3"), "403");
  kill_proxy();
  start();
  EXPECT_EQ(status("games.example.test", "127.0.0.2"), "502") << "it outlives a kill";
  EXPECT_THAT(command({"switch"}).out, StartsWith("pupils\tpause\tuntil "));
  ASSERT_EQ(command({"switch", "pupils", "pause", "--end"}).status, 0);
  EXPECT_EQ(status("games.example.test", "127.0.0.2"), "403");
  EXPECT_EQ(command({"switch", "pupils", "pause", "--end"}).status, 1);
  EXPECT_EQ(command({"switch", "nobody", "pause", "--for", "1m"}).status, 1);
  EXPECT_EQ(command({"switch", "pupils", "filters.nobody=off", "--for", "1m"}).status, 1);
  EXPECT_EQ(command({"switch", "pupils", "filters.games=maybe", "--for", "1m"}).status, 1);
  EXPECT_EQ(command({"switch", "pupils", "pause", "--for", "90d"}).status, 2);
}

// It would open what nobody's exception can.
TEST_F(ServedState, ASwitchDoesNotOpenWhatTakesNoExceptions) {
  const std::string reviewer = token("anna", {"--role", "reviewer"}), chief = token("bob", {"--role", "operator"});
  const auto put = [&](const std::string& with, const std::string& filter, const std::string& action) {
    const std::string body = R"({"value":")" + action + R"(","until":")" + in_ten_minutes() + R"("})";
    return ask("/api/v1/groups/pupils/switches/filters." + filter,
               {"-X", "PUT", "-d", body, "-H", "Authorization: Bearer " + with});
  };
  for (const std::string action : {"off", "monitor", "allow"}) {
    EXPECT_THAT(put(chief, "malware", action), StartsWith("409")) << action;
  }
  EXPECT_THAT(put(reviewer, "malware", "off"), testing::AllOf(StartsWith("409"), HasSubstr("takes no exceptions")));
  EXPECT_EQ(status("malware.example.test", "127.0.0.2"), "403");
  EXPECT_EQ(command({"switch"}).out, "");
  EXPECT_THAT(put(reviewer, "malware", "block"), StartsWith("200"));
  EXPECT_THAT(put(reviewer, "games", "allow"), StartsWith("403")) << "it overrules the filters behind it";
  EXPECT_THAT(put(chief, "games", "allow"), StartsWith("200"));
  EXPECT_THAT(put(reviewer, "games", "off"), StartsWith("200"));
  EXPECT_EQ(status("games.example.test", "127.0.0.2"), "502");
}

TEST_F(ServedState, TheAuditSaysWhoDidWhat) {
  ASSERT_EQ(command({"allow", "games.example.test", "--why", "a false positive"}).status, 0);
  ASSERT_EQ(command({"exceptions", "remove", "1"}).status, 0);
  const std::string text = token("ci", {"--role", "reviewer"});
  kill_proxy();
  start();
  const auto audit = command({"audit"});
  EXPECT_EQ(audit.status, 0);
  std::vector<std::string> rows;
  std::istringstream lines(audit.out);
  for (std::string line; std::getline(lines, line);) rows.push_back(line.substr(line.find('\t') + 1));
  const std::string who = ::geteuid() == 0 ? "root" : "uid " + std::to_string(::geteuid());
  EXPECT_THAT(rows, testing::ElementsAre(who + "\tsocket\ttoken.made\tci\t", who + "\tsocket\texception.removed\t1\t",
                                         who + "\tsocket\texception.made\t1\ta false positive"));
  EXPECT_EQ(audit.out.find(text), std::string::npos);
  EXPECT_EQ(command({"audit", "--since", "2090-01-31T12:00:00Z"}).out, "");
  const std::string objects = command({"audit", "--since", "1h", "--json"}).out;
  EXPECT_EQ(nlohmann::json::parse(objects.substr(0, objects.find("\n{"))).at("what"), "token.made");
  EXPECT_THAT(ask("/api/v1/audit", {"-X", "DELETE"}), StartsWith("405"));
}

TEST_F(ServedState, RolesDecideOverTheAdminAddress) {
  struct Row {
    const char *method, *path, *least;
  };
  const std::vector<Row> rows{{"GET", "/api/v1/groups", "viewer"},
                              {"PUT", "/api/v1/groups/pupils/switches/pause", "reviewer"},
                              {"DELETE", "/api/v1/groups/pupils/switches/pause", "reviewer"},
                              {"GET", "/api/v1/exceptions", "reviewer"},
                              {"POST", "/api/v1/exceptions", "reviewer"},
                              {"DELETE", "/api/v1/exceptions/9", "reviewer"},
                              {"GET", "/api/v1/tokens", "admin"},
                              {"POST", "/api/v1/tokens", "admin"},
                              {"DELETE", "/api/v1/tokens/x", "admin"},
                              {"GET", "/api/v1/audit", "admin"},
                              {"GET", "/api/v1/tls/refused", "operator"}};
  const std::vector<std::string> roles{"viewer", "reviewer", "operator", "admin"};
  std::vector<std::string> tokens;
  for (const std::string& role : roles) tokens.push_back(token(role, {"--role", role}));
  const std::string for_proxy = token("proxy", {"--group", "build"});
  const auto ask_with = [&](const Row& row, const std::string& with) {
    return ask(row.path, {"-X", row.method, "-H", "Authorization: Bearer " + with});
  };
  for (const Row& row : rows) {
    EXPECT_THAT(ask(row.path, {"-X", row.method}), StartsWith("401")) << row.path;
    EXPECT_THAT(ask_with(row, "bw_" + std::string(32, 'a')), StartsWith("401")) << row.path;
    EXPECT_THAT(ask_with(row, for_proxy), StartsWith("403")) << row.path;
    bool suffices = false;
    for (std::size_t i = 0; i < roles.size(); ++i) {
      suffices |= roles[i] == row.least;
      const std::string answer = ask_with(row, tokens[i]);
      const bool is_refused = answer.starts_with("401") || answer.starts_with("403");
      EXPECT_EQ(is_refused, !suffices) << row.method << " " << row.path << " as " << roles[i] << ": " << answer;
    }
  }
  ASSERT_EQ(command({"token", "remove", "admin"}).status, 0);
  EXPECT_THAT(ask_with(rows[9], tokens[3]), StartsWith("401")) << "from the next request on";
  EXPECT_EQ(command({"token", "remove", "admin"}).status, 1);
  EXPECT_THAT(command({"token", "list"}).out, HasSubstr("proxy\tbuild\t-\tuntil "));
}

TEST_F(ServedState, ASessionIsNoHelpToForeignPages) {
  const std::string text = token("anna", {"--role", "reviewer"});
  const std::string jar = folder_.path("jar"), body = "{\"token\":\"" + text + "\"}";
  const std::string own = "http://127.0.0.1:" + std::to_string(proxy_->admin_port());
  EXPECT_THAT(ask("/api/v1/session", {"-d", "{\"token\":\"bw_x\"}"}), StartsWith("401"));
  EXPECT_THAT(ask("/api/v1/session", {"-d", body, "-H", "Origin: http://evil.test"}), StartsWith("403"));
  const std::string begun = ask("/api/v1/session", {"-i", "-c", jar, "-d", body, "-H", "Origin: " + own});
  EXPECT_THAT(begun, StartsWith("201"));
  EXPECT_THAT(begun, HasSubstr("; HttpOnly; SameSite=Strict\r\n"));
  EXPECT_THAT(ask("/api/v1/exceptions", {"-b", jar}), StartsWith("200"));
  EXPECT_THAT(ask("/api/v1/tokens", {"-b", jar}), StartsWith("403"));
  const std::string made = "{\"action\":\"allow\",\"entry\":\"games.example.test\",\"why\":\"x\"}";
  const std::vector<std::vector<std::string>> foreign{{},
                                                      {"-H", "X-Bloomwall: 1"},
                                                      {"-H", "Origin: " + own},
                                                      {"-H", "X-Bloomwall: 1", "-H", "Origin: http://evil.test"},
                                                      {"-H", "X-Bloomwall: 1", "-H", "Origin: ftp" + own.substr(4)}};
  for (std::vector<std::string> more : foreign) {
    more.insert(more.end(), {"-b", jar, "-d", made});
    EXPECT_THAT(ask("/api/v1/exceptions", more), StartsWith("403"));
  }
  EXPECT_EQ(command({"exceptions"}).out, "");
  const std::vector<std::string> right{"-b", jar, "-H", "X-Bloomwall: 1", "-H", "Origin: " + own};
  std::vector<std::string> more = right;
  more.insert(more.end(), {"-d", made});
  EXPECT_THAT(ask("/api/v1/exceptions", more), StartsWith("201"));
  EXPECT_THAT(command({"audit"}).out, HasSubstr("token anna\tpage\texception.made"));
  const std::string other = folder_.path("other jar");
  EXPECT_THAT(ask("/api/v1/session", {"-c", other, "-d", body}), StartsWith("201"));
  EXPECT_THAT(ask("/api/v1/exceptions", {"-b", other}), StartsWith("200"));
  more = right;
  more.insert(more.end(), {"-X", "DELETE"});
  EXPECT_THAT(ask("/api/v1/session", more), StartsWith("200"));
  EXPECT_THAT(ask("/api/v1/exceptions", {"-b", jar}), StartsWith("401")) << "the session has ended";
  kill_proxy();
  start();
  EXPECT_THAT(ask("/api/v1/exceptions", {"-b", other}), StartsWith("401")) << "none outlives a restart";
}

TEST_F(ServedState, ExceptionsOutliveTheirFile) {
  ASSERT_EQ(command({"allow", "games.example.test", "--for", "ever", "--why", "x"}).status, 0);
  kill_proxy();
  const std::string file = folder_.path("state/state.db");
  for (const char* const end : {"-wal", "-shm"}) std::filesystem::remove(file + end);
  std::ofstream(file, std::ios::binary | std::ios::trunc) << "no database";
  start();
  EXPECT_EQ(status("games.example.test"), "502");
  const auto refused = command({"deny", "games.example.test", "--why", "x"});
  EXPECT_EQ(refused.status, 2);
  EXPECT_THAT(refused.out, HasSubstr("state.db"));
  EXPECT_THAT(ask("/metrics"), HasSubstr("bloomwall_state_lost 1"));
  kill_proxy();
  std::filesystem::remove(file);
  start();
  EXPECT_EQ(status("games.example.test"), "502");
  EXPECT_EQ(command({"deny", "games.example.test", "--why", "x"}).status, 0);
  EXPECT_EQ(status("games.example.test"), "403");
  EXPECT_THAT(ask("/metrics"), HasSubstr("bloomwall_state_lost 0"));
}

// Another proxy that is given exceptions.txt as an allow list lets the same pass.
TEST_F(ServedState, TheExportIsAnAllowList) {
  for (const char* const entry : {"games.example.test", "http://h.test/a/", "*.x.test", "http://h.test/p?q"}) {
    ASSERT_EQ(command({"allow", entry, "--why", "a # in it"}).status, 0) << entry;
  }
  ASSERT_EQ(command({"allow", "y.test", "--filter", "games", "--why", "x"}).status, 0);
  ASSERT_EQ(command({"allow", "z.test", "--filter", "nobody", "--why", "no filter has that name"}).status, 0);
  EXPECT_EQ(command({"exceptions", "export"}).out.find("@"), std::string::npos);
  folder_.write("second.yaml",
                "filters: [{name: another, file: games.bwf}]\nallow_lists: [state/exceptions.txt]\n"
                "admin: {control_socket: null}\nstate_dir: null\n");
  const auto checked = run({bloomwall_program(), "check", "--config", folder_.path("second.yaml")});
  EXPECT_EQ(checked.status, 0) << checked.out;
  EXPECT_THAT(
      run({bloomwall_program(), "explain", "http://games.example.test/", "--config", folder_.path("second.yaml")}).out,
      HasSubstr("allowed (allow_list)"));
}

}  // namespace
}  // namespace bloomwall::test
