// `bloomwall tls`, and what `explain` says of decryption.
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "proxy/cli/commands.h"
#include "tests/support/site.h"

namespace bloomwall::proxy {
namespace {

using nlohmann::json;

std::string not_blocked(const std::string& filter) {
  return "URLs are listed on this host in " + filter +
         ", but are not blocked there for this client (its group, an allow list, or the action)";
}

class TlsCommands : public testing::Test {
 protected:
  struct Said {
    int status;
    std::string out, err;
  };

  void SetUp() override {
    site_.make_filter({"S listed.example.test", "D pages.example.test/dir/", "U files.test/evil"});
    filter::make_filter(site_.dir.path() / "watch.bwf", {.entries = {"U watched.test/x"}, .series = 2});
    filter::make_filter(site_.dir.path() / "banks.bwf",
                        {.entries = {"S bank.test", "S listed.bank.test"}, .series = 3});
    site_.dir.write("never.txt", "# ours\nupdates.test # pinned\n=only.files.test\nlisted.example.test\n");
    configure("urls");
  }
  void configure(const std::string& mode, const std::string& more = {}) {
    site_.dir.write("bloomwall.yaml",
                    "filters:\n- {name: ads, file: ads.bwf}\n- {name: watch, file: watch.bwf, action: monitor}\n"
                    "- {name: banks, file: banks.bwf, action: no_decrypt}\n"
                    "tls_inspection: {mode: " +
                        mode + ", never: [never.txt]" + more + "}\n");
  }
  Said run(std::vector<std::string> arguments, const std::string& input = {}) const {
    const std::string config = (site_.dir.path() / "bloomwall.yaml").string();
    arguments.insert(arguments.begin() + 1, {"--config", config});
    std::istringstream in(input);
    std::ostringstream out, err;
    const int status = run_program(std::move(arguments), {.in = in, .out = out, .err = err});
    return {status, out.str(), err.str()};
  }
  std::string never(int line) const { return (site_.dir.path() / "never.txt").string() + ":" + std::to_string(line); }

  test::Site site_;
};

TEST_F(TlsCommands, SayWhatBecomesOfAHostAndWhy) {
  const struct {
    std::string host, word, why;
  } rows[] = {
      {"pages.example.test", "decrypt", "mode urls: mark D1 pages.example.test in ads"},
      {"www.Files.test:8443", "decrypt", "mode urls: mark U files.test in ads"},
      {"https://files.test/evil", "decrypt", "mode urls: mark U files.test in ads"},
      {"watched.test", "decrypt", "mode urls: mark U watched.test in watch"},
      {"plain.test", "tunnel", "mode urls: no URLs are listed on this host"},
      {"cdn.updates.test", "tunnel", never(2) + " updates.test"},
      {"only.files.test", "tunnel", never(3) + " only.files.test"},
      {"www.bank.test", "tunnel", "a filter with action: no_decrypt: S bank.test in banks"},
      {"listed.example.test", "refuse", never(4) + " listed.example.test"},
      {"2001:db8::1", "tunnel", "mode urls: no URLs are listed on this host"},
      {"Bloomwall.internal", "page", "mode urls: the pages of the proxy itself"},
  };
  std::string input, all;
  std::vector<std::string> hosts{"tls"};
  for (const auto& row : rows) {
    hosts.push_back(row.host);
    input += row.host + "\n";
    all += row.word + "\t" + row.host + "\t" + row.why + "\n";
  }
  EXPECT_EQ(run(hosts).out, all);
  EXPECT_EQ(run(hosts).status, 0);
  EXPECT_EQ(run({"tls"}, input).out, all);
  const Said as_json = run({"tls", "--json", "plain.test", "a b"});
  EXPECT_EQ(as_json.status, 1);
  EXPECT_TRUE(as_json.out.starts_with(
      R"({"action":"tunnel","host":"plain.test","why":"mode urls: no URLs are listed on this host"})"
      "\n"
      R"({"action":"invalid","host":"a b","why":")"))
      << as_json.out;
  EXPECT_EQ(run({"tls", "-"}, input).out, all);
  EXPECT_EQ(run({"tls"}, "[2001:db8::1]:443\n").out,
            "tunnel\t[2001:db8::1]:443\tmode urls: no URLs are listed on this host\n");
}

TEST_F(TlsCommands, FollowTheClientsGroup) {
  site_.dir.write("bloomwall.yaml",
                  "filters: [{name: ads, file: ads.bwf}]\ntls_inspection: {mode: urls, never: []}\n"
                  "groups: [{name: staff, clients: [10.1.0.0/16], filters: {ads: \"off\"}}]\n");
  EXPECT_EQ(run({"tls", "files.test"}).out, "decrypt\tfiles.test\tmode urls: mark U files.test in ads\n");
  EXPECT_EQ(run({"tls", "files.test", "--client", "10.1.2.3"}).out,
            "tunnel\tfiles.test\tmode urls: URLs are listed on this host in ads, which is off for this client\n");
  EXPECT_EQ(run({"tls", "plain.test", "--client", "10.1.2.3"}).out,
            "tunnel\tplain.test\tmode urls: no URLs are listed on this host\n");
  EXPECT_EQ(run({"tls", "files.test", "--client", "nobody"}).status, 2);
}

TEST_F(TlsCommands, FollowTheClientsExemption) {
  configure("urls", ", clients: [10.0.0.0/8], never_clients: [10.1.0.0/16]");
  for (const auto& [client, is_decrypted] : {std::pair{"10.2.3.4", true}, {"10.1.2.3", false}, {"192.0.2.1", false}}) {
    const std::string decided = is_decrypted ? "decrypt\tfiles.test\tmode urls: mark U files.test in ads\n"
                                             : "tunnel\tfiles.test\ttls_inspection.clients, .never_clients\n";
    EXPECT_EQ(run({"tls", "files.test", "--client", client}).out, decided);
    const std::string told = run({"explain", "https://files.test/evil", "--client", client}).out;
    EXPECT_EQ(told.find("decrypted: yes") != std::string::npos, is_decrypted) << told;
  }
  EXPECT_TRUE(run({"tls", "files.test"}).out.starts_with("decrypt")) << "by those who are not exempt";
}

TEST_F(TlsCommands, FollowTheMode) {
  configure("off");
  EXPECT_EQ(run({"tls", "files.test"}).out, "tunnel\tfiles.test\tmode off\n");
  site_.dir.write("never.txt", "");
  configure("blocked");
  EXPECT_EQ(run({"tls", "listed.example.test"}).out, "page\tlisted.example.test\tmode blocked: blocked by ads\n");
  EXPECT_EQ(run({"tls", "files.test"}).out, "tunnel\tfiles.test\tmode blocked\n");
  configure("all");
  EXPECT_EQ(run({"tls", "plain.test", "files.test"}).out,
            "decrypt\tplain.test\tmode all\ndecrypt\tfiles.test\tmode all: mark U files.test in ads\n");
  configure("urls", ", urls_of_monitor: false, ports: [443]");
  EXPECT_EQ(run({"tls", "watched.test", "files.test:8443"}).out,
            "tunnel\twatched.test\tmode urls: " + not_blocked("watch") +
                "\n"
                "tunnel\tfiles.test:8443\ttls_inspection.ports\n");
}

TEST_F(TlsCommands, SayWhatIsNoHostAndWhatIsWrongWithTheRules) {
  const Said invalid = run({"tls", "a..test", "files.test"});
  EXPECT_EQ(invalid.status, 1);
  EXPECT_EQ(invalid.out,
            "invalid\ta..test\tleading or doubled dots in the host\n"
            "decrypt\tfiles.test\tmode urls: mark U files.test in ads\n");
  site_.dir.write("never.txt", "ok.test\n*.wild.test\n");
  for (const char* command : {"tls", "explain"}) {
    const Said broken = run({command, "https://a.test/"});
    EXPECT_EQ(broken.status, 78);
    EXPECT_EQ(broken.err, "bloomwall: tls_inspection.never: " + never(2) +
                              ": a wildcard; write wild.test, which covers everything below it\n");
  }
}

TEST_F(TlsCommands, ExplainTellsWhetherAUrlWouldBeSeen) {
  const struct {
    const char *url, *line, *action, *reason;
    int status;
  } rows[] = {
      {"https://files.test/evil", "decrypted: yes, mode urls: mark U files.test in ads\n", "intercepted", "mark", 1},
      {"https://files.test/good", "decrypted: yes, mode urls: mark U files.test in ads\n", "intercepted", "mark", 0},
      {"https://plain.test/", "decrypted: no: mode urls: no URLs are listed on this host; only the host is judged\n",
       "tunnelled", "mode", 0},
      {"https://x.bank.test/",
       "decrypted: no: a filter with action: no_decrypt: S bank.test in banks; only the host is judged\n", "tunnelled",
       "no_decrypt", 0},
      {"wss://cdn.updates.test/", "updates.test; only the host is judged\n", "tunnelled", "never", 0},
      {"https://listed.example.test/", "listed.example.test; the tunnel is refused\n", "refused", "never", 1},
      {"http://files.test/evil", nullptr, nullptr, nullptr, 1},
      {"https://files.test:8443/evil", nullptr, nullptr, nullptr, 1},  // refused by access.connect_ports
  };
  for (const auto& row : rows) {
    const Said text = run({"explain", row.url});
    EXPECT_EQ(text.status, row.status) << text.out;
    const json object = json::parse(run({"explain", "--json", row.url}).out);
    if (row.line == nullptr) {
      EXPECT_EQ(text.out.find("decrypted"), std::string::npos) << text.out;
      EXPECT_TRUE(object.at("tls").is_null()) << row.url;
      continue;
    }
    EXPECT_NE(text.out.find(row.line), std::string::npos) << text.out;
    const bool unseen = text.out.find("entries for URLs cannot be asked inside TLS") != std::string::npos;
    EXPECT_EQ(unseen, row.action == std::string_view("tunnelled")) << text.out;
    EXPECT_EQ(object.at("tls").at("action"), row.action);
    EXPECT_EQ(object.at("tls").at("reason"), row.reason);
    EXPECT_NE(object.at("tls").at("source"), "");
  }
  configure("off");
  EXPECT_EQ(run({"explain", "https://files.test/evil"}).out.find("decrypted"), std::string::npos);
  EXPECT_EQ(json::parse(run({"explain", "--json", "https://files.test/evil"}).out).at("tls"),
            json({{"action", "tunnelled"}, {"reason", "mode"}, {"source", "mode off"}}));
}

TEST_F(TlsCommands, SayFirstThatAnAllowedUrlIsNeverAskedAbout) {
  const auto allow = [&](const std::string& mode) {
    configure(mode);
    site_.dir.write("allow.txt",
                    "# ours\nhttps://listed.example.test/docs/\nhttp://other.listed.example.test/x\n"
                    "plain.test/a\n");
    site_.dir.write("never.txt", "");
    std::ofstream((site_.dir.path() / "bloomwall.yaml").string(), std::ios::app) << "allow_lists: [allow.txt]\n";
  };
  const std::string url = "https://listed.example.test/docs/x";
  const std::string line = (site_.dir.path() / "allow.txt").string() + ":2: listed.example.test is blocked as a host";
  allow("off");
  EXPECT_TRUE(run({"explain", url}).out.starts_with("stopped     as a host: ")) << run({"explain", url}).out;
  EXPECT_EQ(run({"explain", url}).status, 1);
  const Said warned = run({"check"});
  EXPECT_NE(warned.err.find(line), std::string::npos) << warned.err;
  EXPECT_NE(warned.err.find("tls_inspection.mode: urls would let it be seen"), std::string::npos) << warned.err;
  EXPECT_EQ(warned.err.find("allow.txt:3"), std::string::npos) << warned.err;
  EXPECT_EQ(warned.err.find("allow.txt:4"), std::string::npos) << warned.err;
  allow("urls");
  const Said text = run({"explain", url});
  EXPECT_EQ(text.status, 0) << text.out;
  EXPECT_EQ(text.out.find("stopped"), std::string::npos) << text.out;
  EXPECT_NE(text.out.find("URLs are allowed there, although the host is blocked"), std::string::npos) << text.out;
  EXPECT_EQ(json::parse(run({"explain", "--json", url}).out).at("tunnel").at("verdict"), "allowed");
  EXPECT_EQ(run({"explain"}, url + "\n").out, "clear\t" + url + "\n");
  EXPECT_EQ(run({"explain", "https://listed.example.test/other"}).status, 1);
  EXPECT_TRUE(run({"tls", "listed.example.test"}).out.starts_with("decrypt\t"));
}

TEST_F(TlsCommands, LeaveAloneWhatAllowListsFree) {
  site_.dir.write("allow.txt", "files.test\n");
  const std::string config = (site_.dir.path() / "bloomwall.yaml").string();
  std::ofstream(config, std::ios::app) << "allow_lists: [allow.txt]\n";
  EXPECT_EQ(run({"tls", "files.test"}).out, "tunnel\tfiles.test\tmode urls: " + not_blocked("ads") + "\n");
}

}  // namespace
}  // namespace bloomwall::proxy
