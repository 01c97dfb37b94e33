// `bloomwall allow`, `deny` and `exceptions` against the running proxy: in force when the command returns, without a
// reload.
// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <atomic>
#include <chrono>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include "tests/end_to_end/servers.h"
#include "tests/support/http_text.h"
#include "tests/support/scripted_peer.h"

namespace bloomwall::test {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

std::string yaml(std::uint16_t port) {
  return "filters: [{name: sample, file: test.bwf}]\n"
         "access: {deny_destinations: [], connect_ports: [" +
         std::to_string(port) +
         "]}\n"
         "log: {access: {file: off}}\nstate_dir: state\n"
         "dns: {hosts: {listed.example.test: 127.0.0.1, plain.example.test: 127.0.0.1, example.test: 127.0.0.1}}\n";
}

class ServedExceptions : public testing::Test {
 protected:
  void SetUp() override {
    if (!have_program("curl")) GTEST_SKIP() << "needs curl";
    build_filter(folder_.path("test.bwf"), "listed.example.test\nhttp://plain.example.test/bad\n",
                 {"--format", "urls"});
    start();
  }
  void start() { proxy_ = std::make_unique<Proxy>(folder_, yaml(origin_.port()), Proxy::Admin::on); }
  Finished command(std::vector<std::string> words) const {
    words.insert(words.begin(), bloomwall_program());
    words.insert(words.end(), {"--config", proxy_->config()});
    return run(words);
  }
  // 403 blocked; 502 passed, since nobody listens on that port.
  std::string status(const std::string& host, const std::string& path = "/") const {
    return run({"curl", "-s", "-o", "/dev/null", "-w", "%{http_code}", "-m", "20", "-x", proxy_->url(),
                "http://" + host + ":" + std::to_string(closed_port_) + path})
        .out;
  }
  std::string generation() const {
    const std::string page =
        run({"curl", "-s", "-m", "20", "http://127.0.0.1:" + std::to_string(proxy_->admin_port()) + "/metrics"}).out;
    const std::size_t at = page.find("\nbloomwall_generation ");
    return at == std::string::npos ? page : page.substr(at + 1, page.find('\n', at + 1) - at - 1);
  }
  Finished curl_socket(const std::vector<std::string>& more) const {
    std::vector<std::string> argv{"curl", "-s", "-m", "20", "--unix-socket", folder_.path("control.sock")};
    argv.insert(argv.end(), more.begin(), more.end());
    return run(argv);
  }

  void lose_state() const {
    for (const char* const end : {"", "-wal", "-shm"}) {
      std::filesystem::remove(folder_.path(std::string("state/state.db") + end));
    }
  }
  TempDir folder_;
  ScriptedListener origin_;
  const std::uint16_t closed_port_ = closed_port();
  std::unique_ptr<Proxy> proxy_;
};

TEST_F(ServedExceptions, AnAllowIsInForceWhenTheCommandReturnsAndEnds) {
  ASSERT_EQ(status("listed.example.test"), "403");
  const std::string before = generation();
  const auto made = command({"allow", "listed.example.test", "--for", "2s", "--why", "a false positive"});
  EXPECT_EQ(made.status, 0) << made.out;
  EXPECT_THAT(made.out, StartsWith("1\tallow\tS listed.example.test\tuntil "));
  EXPECT_EQ(status("listed.example.test"), "502");
  EXPECT_EQ(generation(), before);
  const auto end = std::chrono::steady_clock::now() + Seconds(20);
  while (status("listed.example.test") != "403" && std::chrono::steady_clock::now() < end) {
  }
  EXPECT_EQ(status("listed.example.test"), "403");
}

TEST_F(ServedExceptions, TheyOutliveAKillAndAReload) {
  ASSERT_EQ(command({"allow", "listed.example.test", "--for", "ever", "--why", "x"}).status, 0);
  ASSERT_EQ(command({"deny", "plain.example.test", "--why", "y"}).status, 0);
  EXPECT_EQ(proxy_->reload().status, 0);
  EXPECT_EQ(status("listed.example.test"), "502");
  proxy_->process().signal(SIGKILL);
  ASSERT_TRUE(proxy_->process().wait().has_value());
  start();
  EXPECT_EQ(status("listed.example.test"), "502");
  EXPECT_EQ(status("plain.example.test"), "403");
  const auto shown = command({"exceptions"});
  EXPECT_THAT(shown.out, HasSubstr("1\tallow\tS listed.example.test\tever\tx\n"));
  EXPECT_THAT(shown.out, HasSubstr("2\tdeny\tS plain.example.test\tuntil "));
  const auto exported = command({"exceptions", "export"});
  EXPECT_THAT(exported.out, HasSubstr("listed.example.test  # exception 1, ever: x\n"));
  EXPECT_THAT(exported.out, HasSubstr("warning: 1 is left out"));
  const auto explained = command({"explain", "http://listed.example.test/"});
  EXPECT_THAT(explained.out, HasSubstr("verdict     allowed (excepted): S listed.example.test"));
  ASSERT_EQ(command({"exceptions", "remove", "1"}).status, 0);
  EXPECT_EQ(status("listed.example.test"), "403");
  EXPECT_EQ(command({"exceptions", "remove", "1"}).status, 1);
  ASSERT_EQ(command({"allow", "listed.example.test", "--why", "again"}).status, 0);
  EXPECT_THAT(command({"exceptions"}).out, HasSubstr("3\tallow")) << "a number is not given twice";
}

TEST_F(ServedExceptions, AnotherMachineMakesThemFromTheirJson) {
  const std::vector<std::vector<std::string>> made{
      {"allow", "listed.example.test", "--for", "ever", "--why", "for all \"quoted\""},
      {"allow", "http://h.test/a/", "--filter", "sample", "--until", "2099-01-31T12:00:00Z", "--why", "a directory"},
      {"deny", "http://h.test/p?q=1", "--client", "10.1.0.0/16", "--for", "ever", "--why", "some clients"},
      {"allow", "192.0.2.1", "--user", "anna", "--for", "ever", "--why", "an address"},
      {"allow", "2001:db8::1", "--for", "ever", "--why", "another"},
      {"allow", "http://h.test/a%2A", "--for", "ever", "--why", "an asterisk"},
      {"deny", "*.zip", "--for", "ever", "--why", "all of it"},
      {"allow", "until.test", "--until-build", "--why", "told them"},
  };
  for (const auto& words : made) ASSERT_EQ(command(words).status, 0) << words[1];
  const auto lines = [](const std::string& text) {
    std::vector<std::string> out;
    std::istringstream in(text);
    for (std::string line; std::getline(in, line);) out.push_back(line.substr(line.find('\t')));  // without the ID
    return out;
  };
  const auto before = lines(command({"exceptions"}).out);
  const auto exported = command({"exceptions", "export"});
  EXPECT_THAT(exported.out, HasSubstr("warning: 4 are left out"));
  const std::string file = folder_.write("exported.json", command({"exceptions", "--json"}).out);
  EXPECT_EQ(command({"exceptions", "import", file}).out, "0 made, 8 there already, 0 ended, 0 refused\n");
  proxy_.reset();
  std::filesystem::remove_all(folder_.path("state"));
  start();
  EXPECT_EQ(command({"exceptions"}).out, "");
  EXPECT_THAT(command({"exceptions", "import", file}).out, HasSubstr("8 made, 0 there already, 0 ended, 0 refused\n"));
  EXPECT_EQ(lines(command({"exceptions"}).out), before);
  EXPECT_EQ(status("listed.example.test"), "502");
}

TEST_F(ServedExceptions, WhatIsNotTakenIsNamedAndTheRestIsMade) {
  ASSERT_EQ(command({"allow", "a.test", "--for", "ever", "--why", "x"}).status, 0);
  auto json = nlohmann::ordered_json::parse(command({"exceptions", "--json"}).out);
  auto& items = json["items"];
  for (const char* const group : {"nobody", ""}) {
    items.push_back(items[0]);
    items.back()["entry"] = "b.test";
    if (*group != '\0') items.back()["group"] = group;
  }
  items.push_back(items[0]);
  items.back()["until"] = "2020-01-01T00:00:00Z";
  const auto imported = command({"exceptions", "import", folder_.write("some.json", json.dump())});
  EXPECT_EQ(imported.status, 1);
  EXPECT_THAT(imported.out, HasSubstr("1 made, 1 there already, 1 ended, 1 refused\n"));
  EXPECT_THAT(imported.out, HasSubstr("that was allow S b.test, which is not made"));
  items[0].erase("action");
  const auto broken = command({"exceptions", "import", folder_.write("broken.json", json.dump())});
  EXPECT_EQ(broken.status, 2);
  EXPECT_THAT(broken.out, HasSubstr("broken.json: item 1: action: allow or deny is needed"));
  for (const char* const text : {"", "a.test\n", "[]", "{}", "{\"items\":1}"}) {
    const auto other = command({"exceptions", "import", folder_.write("other.json", text)});
    EXPECT_EQ(other.status, 2) << text;
    EXPECT_THAT(other.out, HasSubstr("is not what `bloomwall exceptions --json` writes")) << text;
  }
  EXPECT_EQ(command({"exceptions", "import", folder_.path("missing.json")}).status, 2);
}

TEST_F(ServedExceptions, ADenyEndsTunnelsThatAreOpen) {
  auto client = ScriptedPeer::connect(proxy_->port());
  client.send(connect_to("plain.example.test:" + std::to_string(origin_.port())));
  auto far = origin_.accept();
  EXPECT_EQ(status_of(client.read_head()), 200);
  client.send("SSH-2.0-x\r\n");
  far.expect("SSH-2.0-x\r\n");
  ASSERT_EQ(command({"deny", "example.test", "--why", "now"}).status, 0);
  client.expect_end();
  ASSERT_EQ(command({"allow", "plain.example.test", "--why", "but this"}).status, 0);
  EXPECT_EQ(status("plain.example.test"), "502");
  EXPECT_EQ(status("example.test"), "403");
}

TEST_F(ServedExceptions, WhatCannotBeTakenSaysWhyAndChangesNothing) {
  const std::vector<std::vector<std::string>> words{
      {"allow", "com", "--why", "x"},
      {"allow", "http://h.test/a%2fb/../c", "--why", "x"},
      {"allow", "h.test", "--why", ""},
      {"deny", "h.test", "--until", "2020-01-31T12:00:00Z", "--why", "x"}};
  for (const auto& line : words) {
    const auto refused = command(line);
    EXPECT_EQ(refused.status, 1) << refused.out;
    EXPECT_THAT(refused.out, StartsWith("bloomwall: ")) << line[1];
  }
  EXPECT_EQ(command({"allow", "h.test", "--for", "1 day", "--why", "x"}).status, 2);
  for (const std::string option : {"--group", "--client", "--user"}) {
    EXPECT_EQ(command({"allow", "h.test", option, "", "--why", "x"}).status, 2) << "it would be for everybody";
  }
  EXPECT_EQ(command({"exceptions"}).out, "");
  const auto warned = command({"allow", "listed.example.test", "--filter", "nobody", "--why", "x"});
  EXPECT_THAT(warned.out, HasSubstr("warning: no filter has the name nobody"));
  EXPECT_EQ(status("listed.example.test"), "403");
  EXPECT_THAT(command({"allow", "http://listed.example.test/a", "--why", "x"}).out,
              HasSubstr("tunnels to its host stay blocked by sample"));
}

TEST_F(ServedExceptions, TheSocketSpeaksJson) {
  const std::string url = "http://localhost/api/v1/exceptions";
  const std::vector<std::pair<std::string, std::string>> bodies{
      {"[]", "not a JSON object"},
      {R"({"action":"allow","entry":"h.test","why":"x","more":1})", "more: no such member"},
      {R"({"action":"maybe","entry":"h.test","why":"x"})", "action"},
      {R"({"action":"deny","entry":"h.test","why":"x","filters":["sample"]})", "filters"},
      {R"({"action":"allow","entry":"h.test","why":"x","until":"2026-02-30T00:00:00Z"})", "until"},
      {R"({"action":"allow","entry":"h.test","why":"x","until":1})", "until"},
      {R"({"action":"allow","entry":"h.test","why":"x","group":["pupils"]})", "group: a text, or null, is needed"},
      {R"({"action":"allow","entry":"h.test","why":"x","client":["127.0.0.2"]})", "client: a text"},
      {R"({"action":"allow","entry":"h.test","why":"x","user":7})", "user: a text"},
      {R"({"action":"allow","entry":"h.test","why":"x","until_build":"yes"})", "until_build"},
      {R"({"action":"allow","entry":"h.test","why":"x","filters":["nosuch filter"]})", "filters"}};
  for (const auto& [body, why] : bodies) {
    const auto reply = nlohmann::json::parse(curl_socket({"-d", body, url}).out, nullptr, false);
    ASSERT_TRUE(reply.is_object()) << body;
    EXPECT_EQ(reply.value("status", 0), 400) << body;
    EXPECT_THAT(reply.value("detail", ""), HasSubstr(why));
  }
  const std::string made =
      curl_socket({"-w", "%{http_code}", "-d",
                   R"({"action":"allow","entry":"http://H.test/A","why":"\u00e4","until":null})", url})
          .out;
  EXPECT_THAT(made, HasSubstr(R"("entry":"h.test/A")"));
  EXPECT_THAT(made, HasSubstr("}\n201"));
  EXPECT_THAT(curl_socket({"-w", "%{http_code}", "-X", "DELETE", url + "/7"}).out, HasSubstr("404"));
  EXPECT_THAT(curl_socket({"-w", "%{http_code}", "-X", "DELETE", url + "/1"}).out, HasSubstr("200"));
  EXPECT_EQ(curl_socket({url}).out, "{\"items\":[],\"next\":null}\n");
}

// What a file that somebody has broken denied would pass, where state.db is not there either: nothing is served, and
// the file stays as it is.
TEST_F(ServedExceptions, AFileThatCannotBeReadServesNothing) {
  ASSERT_EQ(command({"deny", "plain.example.test", "--why", "x"}).status, 0);
  const std::string config = proxy_->config();
  proxy_.reset();
  lose_state();
  for (const std::string text :
       {R"({"next_id":1,"items":[{}]})", "",
        R"({"next_id":2,"items":[{"id":1,"action":"deny","kind":"S","entry":"a.test",)"
        R"("filters":["sample"],"why":"x","created":"2026-01-31T12:00:00Z","until":null}]})"}) {
    const std::string file = folder_.write("state/exceptions.json", text);
    const auto ended = run({bloomwall_program(), "run", "--config", config});
    EXPECT_EQ(ended.status, 78) << ended.out;
    EXPECT_THAT(ended.out, HasSubstr("exceptions.json"));
    EXPECT_EQ(run({"cat", file}).out, text);
  }
}

TEST_F(ServedExceptions, WithoutAFolderTheyLastUntilTheEnd) {
  for (const std::string folder : {"null", "/proc/nowhere"}) {
    std::string config = yaml(origin_.port());
    proxy_.reset();  // it has the control socket
    config.replace(config.find("state_dir: state"), 16, "state_dir: " + folder);
    config += "groups: [{name: pupils, clients: [127.0.0.2]}]\n";
    proxy_ = std::make_unique<Proxy>(folder_, config, Proxy::Admin::on);
    const auto made = command({"allow", "listed.example.test", "--why", "x"});
    EXPECT_EQ(made.status, 0) << made.out;
    EXPECT_THAT(made.out, HasSubstr("warning: it is gone after a restart or an upgrade"));
    EXPECT_EQ(status("listed.example.test"), "502");
    for (const std::vector<std::string>& words : {std::vector<std::string>{"token", "add", "ci", "--for", "1h"},
                                                  {"switch", "pupils", "pause", "--for", "1h"}}) {
      const auto changed = command(words);
      EXPECT_EQ(changed.status, 0) << changed.out;
      EXPECT_THAT(changed.out, HasSubstr("warning: it is gone after a restart or an upgrade")) << words[0];
    }
  }
}

TEST_F(ServedExceptions, ATunnelEndsWithTheExceptionThatLetItIn) {
  ASSERT_EQ(command({"allow", "listed.example.test", "--for", "2s", "--why", "x"}).status, 0);
  auto client = ScriptedPeer::connect(proxy_->port());
  client.send(connect_to("listed.example.test:" + std::to_string(origin_.port())));
  auto far = origin_.accept();
  EXPECT_EQ(status_of(client.read_head()), 200);
  client.send("SSH-2.0-x\r\n");
  far.expect("SSH-2.0-x\r\n");
  client.expect_end();
  const auto is_audited = [this] { return command({"audit"}).out.find("exception.ended\t1") != std::string::npos; };
  EXPECT_TRUE(comes_true(is_audited)) << command({"audit"}).out;
}

TEST_F(ServedExceptions, NothingIsTakenWhileItEnds) {
  auto client = ScriptedPeer::connect(proxy_->port());
  client.send(connect_to("plain.example.test:" + std::to_string(origin_.port())));
  auto far = origin_.accept();
  EXPECT_EQ(status_of(client.read_head()), 200);
  proxy_->process().signal(SIGTERM);
  ASSERT_TRUE(proxy_->process().wait_for_line("draining"));
  const auto refused = command({"deny", "plain.example.test", "--why", "x"});
  EXPECT_EQ(refused.status, 2) << refused.out;
  EXPECT_THAT(refused.out, HasSubstr("bloomwall is stopping"));
}

// Many at once, beside requests and reloads: none is lost, none is let pass or blocked that is not meant.
TEST_F(ServedExceptions, ManyAtOnceBesideRequestsAndReloads) {
  std::atomic<bool> stop{false};
  std::atomic<int> wrong{0};
  std::thread asking([&] {
    while (!stop) {
      if (status("plain.example.test", "/bad") != "403") ++wrong;
    }
  });
  constexpr int kEach = 8;
  std::vector<std::thread> makers;
  for (int maker = 0; maker < 3; ++maker) {
    makers.emplace_back([this, maker] {
      for (int i = 0; i < kEach; ++i) {
        const std::string host = "h" + std::to_string(maker) + "-" + std::to_string(i) + ".test";
        EXPECT_EQ(command({"deny", host, "--why", "x"}).status, 0);
      }
    });
  }
  for (int i = 0; i < 3; ++i) EXPECT_EQ(proxy_->reload().status, 0);
  for (std::thread& maker : makers) maker.join();
  stop = true;
  asking.join();
  EXPECT_EQ(wrong, 0);
  const auto all = nlohmann::json::parse(command({"exceptions", "--json"}).out, nullptr, false);
  ASSERT_TRUE(all.is_object());
  EXPECT_EQ(all["items"].size(), 3U * kEach);
  EXPECT_EQ(status("h2-7.test"), "403");
}

}  // namespace
}  // namespace bloomwall::test
