// The commands as they are typed, on streams: results, messages and exit statuses.
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <unistd.h>

#include <fstream>

#include <nlohmann/json.hpp>
#include <sstream>

#include "filter/file/filter_file.h"
#include "proxy/cli/commands.h"
#include "proxy/io/endpoint.h"
#include "tests/filter/cli/option_places.h"
#include "tests/support/site.h"
#include "tests/support/test_certificate.h"

namespace bloomwall::proxy {
namespace {

using nlohmann::json;
using test::Site;

struct Finished {
  int status;
  std::string out, err;
};

Finished run(std::vector<std::string> arguments, const std::string& input = {}) {
  std::istringstream in(input);
  std::ostringstream out, err;
  const int status = run_program(std::move(arguments), {.in = in, .out = out, .err = err});
  return {status, out.str(), err.str()};
}

class Program : public testing::Test {
 protected:
  Finished explain(std::vector<std::string> arguments, const std::string& input = {}) const {
    arguments.insert(arguments.begin(), {"explain", "--config", config_.string()});
    return run(std::move(arguments), input);
  }
  Site site_;
  std::filesystem::path config_ = site_.configure();
};

TEST_F(Program, HelpNamesEveryCommandAndOption) {
  const Finished top = run({"--help"});
  EXPECT_EQ(top.status, 0);
  for (const char* word : {"run", "check", "explain", "reload", "--version", "78"}) {
    EXPECT_NE(top.out.find(word), std::string::npos) << word << "\n" << top.out;
  }
  for (const char* command : {"run", "check", "explain", "reload"}) {
    const Finished help = run({command, "--help"});
    EXPECT_EQ(help.status, 0);
    EXPECT_NE(help.out.find("--config"), std::string::npos) << help.out;
    EXPECT_NE(help.out.find("/etc/bloomwall/bloomwall.yaml"), std::string::npos) << help.out;
  }
  EXPECT_NE(run({"explain", "--help"}).out.find("listed<TAB>URL<TAB>expression"), std::string::npos);
  EXPECT_EQ(run({"--version"}).out, "bloomwall " BLOOMWALL_VERSION "\n");
}

TEST(CommandLine, EveryOptionMeansTheSameWhereverItStands) {
  std::istringstream in;
  std::ostringstream out, err;
  with_command_line({.in = in, .out = out, .err = err}, [](CLI::App& app, const int&) {
    EXPECT_GT(test::OptionPlaces(app).check(), 100U) << "options, flags among them";
    return 0;
  });
}

// A page of H that is not what was written would make everything "clear".
TEST_F(Program, ADamagedFilterGivesNoAnswer) {
  const std::filesystem::path ads = site_.dir.path() / "ads.bwf";
  {
    const auto opened = filter::FilterFile::open(ads);
    ASSERT_TRUE(opened);
    const filter::SectionEntry hosts = *(*opened)->header().find(filter::SectionType::hosts);
    std::fstream file(ads, std::ios::in | std::ios::out | std::ios::binary);
    file.seekp(static_cast<std::streamoff>(hosts.offset));
    file.write(std::string(hosts.length, '\0').data(), static_cast<std::streamsize>(hosts.length));
  }
  const struct {
    std::vector<std::string> arguments;
    std::string input;
  } kCases[] = {{{"explain", "listed.example.test"}, {}},
                {{"explain", "--json", "listed.example.test"}, {}},
                {{"explain"}, "http://listed.example.test/\n"},
                {{"explain", "--json"}, "http://listed.example.test/\n"},
                {{"tls", "listed.example.test"}, {}},
                {{"tls"}, "listed.example.test\n"},
                {{"why", "listed.example.test"}, {}}};
  for (const char* on_error : {"block", "allow"}) {
    const auto config = site_.dir.write("damaged.yaml", std::string("listeners: [{address: \"127.0.0.1:0\"}]\n"
                                                                    "filters: [{name: ads, file: ads.bwf, on_error: ") +
                                                            on_error + "}]\n");
    for (const auto& [arguments, input] : kCases) {
      auto words = arguments;
      words.insert(words.begin() + 1, {"--config", config.string()});
      const Finished ran = run(words, input);
      EXPECT_EQ(ran.status, 2) << arguments[0] << ran.out;
      EXPECT_EQ(ran.out, "") << arguments[0];
      EXPECT_NE(ran.err.find("section hosts is damaged"), std::string::npos) << ran.err;
    }
  }
}

TEST_F(Program, OnATerminalItSaysThatItReads) {
  const auto on_terminal = [&](const char* command) {
    std::istringstream in;
    std::ostringstream out, err;
    run_program({command, "--config", config_.string()}, {.in = in, .out = out, .err = err, .in_is_terminal = true});
    return err.str();
  };
  EXPECT_EQ(on_terminal("explain"), "bloomwall: reading from the terminal, a URL a line; Ctrl-D ends it\n");
  EXPECT_EQ(on_terminal("tls"), "bloomwall: reading from the terminal, a host a line; Ctrl-D ends it\n");
}

TEST_F(Program, AFilterThatNoRequestCanMatchIsWarnedOf) {
  filter::make_filter(site_.dir.path() / "ads.bwf", {.entries = {"R me@mail.example"}});
  const Finished ran = run({"check", "--config", config_.string()});
  EXPECT_EQ(ran.status, 0);
  EXPECT_NE(ran.err.find("warning: filters.ads: "), std::string::npos) << ran.err;
  EXPECT_NE(ran.err.find("holds raw keys alone, which no request can match, so that it can never block"),
            std::string::npos);
}

TEST_F(Program, WrongUsageIs2) {
  for (const std::vector<std::string>& arguments :
       {std::vector<std::string>{}, {"bogus"}, {"check", "--jsno"}, {"check", "extra"}, {"run", "--config"}}) {
    const Finished got = run(arguments);
    EXPECT_EQ(got.status, 2);
    EXPECT_NE(got.err, "");
    EXPECT_EQ(got.out, "");
  }
}

TEST_F(Program, WhatIsMisspeltIsNamed) {
  EXPECT_EQ(run({"chekc"}).err,
            "bloomwall: unknown command 'chekc'; there are run, check, explain, why, tls, reload, upgrade, health, "
            "doctor, listeners, answer, allow, deny, exceptions, device, reports, report, log, switch, token, audit, "
            "update, ca, "
            "import, env\n");
  EXPECT_EQ(run({"run", "--confg", "x"}).err, "bloomwall: unknown argument: --confg\n");
  // Also where more than that is wrong.
  EXPECT_NE(run({"log", "--limit", "-1"}).err.find("--limit"), std::string::npos) << "not all of them";
  EXPECT_EQ(run({"--versoin"}).err, "bloomwall: unknown argument: --versoin\n");
  EXPECT_EQ(run({"why", "--confg", "x"}).err, "bloomwall: unknown argument: --confg\n");
  EXPECT_EQ(run({"token", "ad", "ci"}).err, "bloomwall: unknown command 'ad'; there are add, list, remove\n");
  EXPECT_EQ(run({"report", "accept", "--wyh", "x"}).err, "bloomwall: unknown argument: --wyh\n");
}

TEST_F(Program, ListenersSaysWhoHasTheirAddresses) {
  const Finished got = run({"listeners", "--config", site_.configure("admin: {address: null}\n").string()});
  EXPECT_EQ(got.status, 0);
  EXPECT_EQ(got.out, "listeners[0].address\t127.0.0.1:0\tfree\n");
  EXPECT_EQ(run({"listeners", "--json", "--config", site_.configure("admin: {address: null}\n").string()}).out,
            R"({"key":"listeners[0].address","address":"127.0.0.1:0","holder":null})"
            "\n");
  const auto held = listen_on(*Endpoint::parse("127.0.0.1:0"));
  ASSERT_TRUE(held.has_value()) << held.error();
  const std::string address = held->address.text();
  const auto config = site_.configure("admin: {address: \"" + address + "\"}\n").string();
  const Finished taken = run({"listeners", "--config", config});
  EXPECT_EQ(taken.status, 1);
  const std::string own = " (process " + std::to_string(::getpid()) + ")\n";
  EXPECT_TRUE(taken.out.ends_with(own)) << taken.out;
  const Finished as_json = run({"listeners", "--json", "--config", config});
  EXPECT_EQ(as_json.status, 1);
  EXPECT_TRUE(as_json.out.ends_with(",\"pid\":" + std::to_string(::getpid()) + "}}\n")) << as_json.out;
  EXPECT_TRUE(taken.err.starts_with("bloomwall: admin.address: " + address + " is held by ")) << taken.err;
  EXPECT_TRUE(taken.err.ends_with(own)) << taken.err;
  EXPECT_NE(run({"check", "--config", config}).err.find("warning: admin.address: " + address + " is held by "),
            std::string::npos);
  // Its unit asks after every stop.
  ::setenv("EXIT_STATUS", "0", 1);
  EXPECT_EQ(run({"listeners", "--after-failure", "--config", config}).err, "");
  ::setenv("EXIT_STATUS", "2", 1);
  const Finished after = run({"listeners", "--after-failure", "--config", config});
  ::unsetenv("EXIT_STATUS");
  EXPECT_EQ(after.out, "");
  EXPECT_EQ(after.err, taken.err);
}

TEST_F(Program, CheckSaysWhichFilterAFileIsOfAndWhatMakesIt) {
  const std::string file = site_.dir.path().string() + "/ads.bwf";
  std::filesystem::remove(file);
  const Finished got = run({"check", "--config", config_.string()});
  EXPECT_EQ(got.status, 2);
  EXPECT_TRUE(got.err.starts_with("bloomwall: filter ads: " + file + ": cannot open: ")) << got.err;
  EXPECT_NE(got.err.find("`bloomwall-filter build -o " + file + " LIST...` makes it"), std::string::npos) << got.err;
  const auto fetched = site_.dir.write("fetched.yaml", "filters: [{name: ads, file: ads.bwf, sources: [{url: /x}]}]\n");
  const Finished other = run({"check", "--config", fetched.string()});
  EXPECT_NE(other.err.find("`bloomwall update` makes it"), std::string::npos) << other.err;
}

TEST_F(Program, CheckRefusesALogThatRunCouldNotOpen) {
  const auto config = site_.configure("log: {access: {file: nowhere/access.log}}\n").string();
  const Finished got = run({"check", "--config", config});
  EXPECT_EQ(got.status, 2);
  EXPECT_NE(got.err.find("log.access.file: "), std::string::npos) << got.err;
}

TEST_F(Program, CheckRefusesAFolderForALog) {
  for (const char* more : {"log: {file: .}\n", "log: {access: {file: .}}\n"}) {
    const Finished got = run({"check", "--config", site_.configure(more).string()});
    EXPECT_EQ(got.status, 2) << more;
    EXPECT_NE(got.err.find("is a folder, not a file"), std::string::npos) << got.err;
  }
}

// Whatever `run` could not listen on together, whichever of the two comes first.
TEST_F(Program, CheckRefusesAddressesThatTakeEachOther) {
  const auto check = [&](const std::string& listeners, const std::string& admin) {
    const auto config = site_.dir.write(
        "doors.yaml", "listeners: [" + listeners + "]\nadmin: {without_tls: true, address: " + admin + "}\n");
    return run({"check", "--config", config.string()});
  };
  const auto at = [](const std::string& address) { return "{address: \"" + address + "\"}"; };
  const std::pair<const char*, const char*> taken[] = {
      {"127.0.0.1:3128", "0.0.0.0:3128"}, {"127.0.0.1:3128", ":3128"},   {"[::1]:3128", ":3128"},
      {"[::1]:3128", "[::]:3128"},        {"0.0.0.0:3128", "[::]:3128"}, {":3128", "[::]:3128"}};
  for (const auto& [one, two] : taken) {
    for (const Finished& got : {check(at(one) + ", " + at(two), "null"), check(at(two) + ", " + at(one), "null"),
                                check(at(one), std::string("\"") + two + "\"")}) {
      EXPECT_EQ(got.status, 2) << one << " " << two;
      EXPECT_NE(got.err.find("is taken by listeners[0].address: "), std::string::npos) << got.err;
    }
  }
  EXPECT_EQ(check(at("127.0.0.1:3128"), "\"127.0.0.1:3128\"").status, 2);
  const std::pair<const char*, const char*> apart[] = {{"127.0.0.1:3128", "127.0.0.2:3128"},
                                                       {"0.0.0.0:3128", "[::1]:3128"},
                                                       {"127.0.0.1:3128", "[::1]:3128"},
                                                       {"127.0.0.1:0", ":0"},
                                                       {":3128", "127.0.0.1:3129"}};
  for (const auto& [one, two] : apart) {
    const Finished got = check(at(one) + ", " + at(two), "null");
    EXPECT_EQ(got.status, 0) << one << " " << two << got.err;
  }
}

TEST_F(Program, CheckDoubtsWhatIsHardlyMeant) {
  const auto made = test::make_certificate(site_.dir.path(), "proxy", "proxy.test");
  std::filesystem::permissions(made.key, std::filesystem::perms(0644));
  site_.dir.write("password", "user:secret\n");
  std::filesystem::permissions(site_.dir.path() / "password", std::filesystem::perms(0604));
  const auto config = site_.dir.write("doubts.yaml",
                                      "listeners: [{address: \"127.0.0.1:0\", tls: {certificate: proxy.crt, key: "
                                      "proxy.key}}]\naccess: {clients: []}\n"
                                      "upstream: {parent: \"proxy.test:3128\", credentials_file: password}\n");
  const Finished got = run({"check", "--config", config.string()});
  EXPECT_EQ(got.status, 0) << got.err;
  for (const char* const line : {"listeners[0].tls.key: ", "the certificate expires on",
                                 "upstream.credentials_file: goes to the parent in clear", "password: everybody",
                                 "access.clients: is empty", "no filters are configured"}) {
    EXPECT_NE(got.err.find(line), std::string::npos) << line << "\n" << got.err;
  }
}

TEST_F(Program, CheckSaysWhatWouldBeServed) {
  const Finished got = run({"check", "--config", config_.string()});
  EXPECT_EQ(got.status, 0) << got.err;
  EXPECT_NE(got.out.find("filter ads: block, 2 entries"), std::string::npos) << got.out;
  EXPECT_NE(got.out.find("predicted error per request: less than one in 10^18 on unlisted hosts, one in "),
            std::string::npos)
      << got.out;
  EXPECT_NE(got.out.find("\n  at p99: less than one in 10^18 on unlisted hosts, one in "), std::string::npos)
      << got.out;
  EXPECT_NE(got.out.find("; on the worst host: one in "), std::string::npos) << got.out;
  EXPECT_TRUE(got.out.ends_with("\nok\n")) << got.out;
  const auto object = json::parse(run({"check", "--json", "--config", config_.string()}).out);
  EXPECT_EQ(object.at("ok"), true);
  EXPECT_EQ(object.at("filters").at(0).at("name"), "ads");
  EXPECT_EQ(object.at("filters").at(0).at("entries"), 2);
  EXPECT_GE(object.at("filters").at(0).at("worst_host").at("error"),
            object.at("filters").at(0).at("p99_error").at("listed_host"));
  EXPECT_EQ(object.at("allow_entries"), 0);
  EXPECT_TRUE(object.at("predicted_error").at("unlisted_host").is_number());
}

TEST_F(Program, CheckTakesAFilterOfATimeThatHasNoDate) {
  for (const std::uint64_t created : {std::uint64_t{253402300800}, ~std::uint64_t{0} >> 1, ~std::uint64_t{0}}) {
    filter::make_filter(site_.dir.path() / "ads.bwf", {.entries = {"S listed.example.test"}, .created = created});
    const Finished got = run({"check", "--config", config_.string()});
    EXPECT_EQ(got.status, 0) << got.err;
    EXPECT_NE(got.out.find(", built @" + std::to_string(created)), std::string::npos) << got.out;
  }
}

TEST_F(Program, CheckRefusesWithTheFittingStatus) {
  const Finished wrong = run({"check", "--config", site_.configure("workers: many\n").string()});
  EXPECT_EQ(wrong.status, 78);
  EXPECT_NE(wrong.err.find("bloomwall.yaml:3:10: workers: expected auto or 1 to 1024"), std::string::npos) << wrong.err;
  site_.configure();
  site_.dir.write("ads.bwf", "not a filter");
  EXPECT_EQ(run({"check", "--config", config_.string()}).status, 1);
  std::filesystem::remove(site_.dir.path() / "ads.bwf");
  const Finished missing = run({"check", "--config", config_.string(), "--json"});
  EXPECT_EQ(missing.status, 2);
  const auto object = json::parse(missing.out);
  EXPECT_EQ(object.at("ok"), false);
  EXPECT_NE(object.at("errors").at(0).get<std::string>().find("ads.bwf"), std::string::npos);
}

TEST_F(Program, CheckSaysWhatAnotherUserCannotRead) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root can ask for another user";
  using std::filesystem::perms;
  const auto check = [&] { return run({"check", "--as-user", "nobody", "--config", config_.string()}); };
  std::filesystem::permissions(site_.dir.path(), perms::all);
  std::filesystem::permissions(config_, perms::all);
  std::filesystem::permissions(site_.dir.path() / "ads.bwf", perms::all);
  EXPECT_EQ(check().status, 0) << check().err;
  std::filesystem::permissions(site_.dir.path() / "ads.bwf", perms::owner_all);
  EXPECT_EQ(check().status, 1);
  EXPECT_NE(check().err.find("ads.bwf: the user nobody cannot read it: Permission denied"), std::string::npos);
  EXPECT_EQ(check().err.find("bloomwall.yaml"), std::string::npos) << check().err;
  std::filesystem::permissions(site_.dir.path(), perms::owner_all);
  EXPECT_NE(check().err.find("bloomwall.yaml: the user nobody cannot read it"), std::string::npos)
      << "the folder counts";
  EXPECT_EQ(run({"check", "--as-user", "no such user", "--config", config_.string()}).status, 2);
}

TEST_F(Program, CheckVerifiesEveryByteAndExplainDoesNot) {
  const auto file = site_.dir.path() / "ads.bwf";
  std::fstream bytes(file, std::ios::in | std::ios::out | std::ios::binary);
  bytes.seekp(5000);
  bytes.put('\x55');
  bytes.close();
  EXPECT_EQ(run({"check", "--config", config_.string()}).status, 1);
  EXPECT_EQ(explain({"http://innocent.example.test/"}).status, 0);
}

TEST_F(Program, ExplainTellsTheWholeStory) {
  const Finished blocked = explain({"http://WWW.listed.example.test:80/a/../b"});
  EXPECT_EQ(blocked.status, 1);
  for (const char* part : {"http://www.listed.example.test/b", "blocked", "ads", "S listed.example.test"}) {
    EXPECT_NE(blocked.out.find(part), std::string::npos) << part << "\n" << blocked.out;
  }
  const Finished allowed = explain({"http://innocent.example.test/"});
  EXPECT_EQ(allowed.status, 0);
  EXPECT_NE(allowed.out.find("allowed"), std::string::npos) << allowed.out;
  EXPECT_EQ(explain({"http://[::zz]/"}).status, 1) << "rejected";
  EXPECT_EQ(explain({"http://innocent.example.test/", "http://listed.example.test/"}).status, 1) << "any";
}

TEST_F(Program, ExplainAnswersLinesOnStdin) {
  const std::string input =
      "http://listed.example.test/x\nhttp://innocent.example.test/\r\nhttp://[::zz]/\n\npages.example.test/dir/y\n"
      "http://pages.example.test/\x1b[2J";
  const std::string want =
      "listed\thttp://listed.example.test/x\tlisted.example.test\n"
      "clear\thttp://innocent.example.test/\n"
      "invalid\thttp://[::zz]/\tmalformed IPv6 address\n"
      "invalid\t\tempty\n"
      "listed\tpages.example.test/dir/y\tpages.example.test/dir/\n"
      "clear\thttp://pages.example.test/\\x1B[2J\n";
  const Finished got = explain({}, input);
  EXPECT_EQ(got.out, want);
  EXPECT_EQ(got.status, 1);
  EXPECT_EQ(explain({"-"}, input).out, want);
  EXPECT_EQ(explain({}, "http://innocent.example.test/\nhttp://[::zz]/\n").status, 0) << "nothing listed";
}

TEST_F(Program, ExplainBoundsALine) {
  const Finished got = explain({}, "http://a.test/" + std::string(200'000, 'x') + "\nhttp://listed.example.test/\n");
  EXPECT_EQ(got.status, 1);
  EXPECT_NE(got.out.find("\tover 64 KiB\nlisted\t"), std::string::npos);
  EXPECT_LT(got.out.size(), 70'000U);
}

TEST_F(Program, ExplainGivesOneObjectALine) {
  for (const Finished& got :
       {explain({"--json", "http://listed.example.test/x"}), explain({"--json"}, "http://listed.example.test/x\n")}) {
    EXPECT_EQ(got.status, 1);
    EXPECT_EQ(std::count(got.out.begin(), got.out.end(), '\n'), 1);
    const auto object = json::parse(got.out);
    EXPECT_EQ(object.at("url"), "http://listed.example.test/x");
    EXPECT_EQ(object.at("action"), "lookup");
    EXPECT_EQ(object.at("canonical"), "http://listed.example.test/x");
    EXPECT_EQ(object.at("alternatives"), json::array());
    EXPECT_GE(object.at("expressions").size(), 2U);
    EXPECT_EQ(object.at("verdict"), "blocked");
    EXPECT_EQ(object.at("filter"), "ads");
    EXPECT_EQ(object.at("expression"), "listed.example.test");
    EXPECT_EQ(object.at("reason"), "listed");
  }
  const auto rejected = json::parse(explain({"--json", "http://[::zz]/"}).out);
  EXPECT_EQ(rejected.at("action"), "reject");
  EXPECT_EQ(rejected.at("verdict"), "rejected");
  EXPECT_TRUE(rejected.at("filter").is_null());
}

TEST_F(Program, AMonitoringFilterListsAndLetsPass) {
  site_.dir.write("bloomwall.yaml", "filters: [{name: ads, file: ads.bwf, action: monitor}]\n");
  EXPECT_EQ(explain({"http://listed.example.test/"}).status, 0);
  EXPECT_EQ(json::parse(explain({"--json", "http://listed.example.test/"}).out).at("verdict"), "monitored");
  EXPECT_EQ(explain({}, "http://listed.example.test/\n").status, 1);
}

TEST_F(Program, StrictPathsAreExplainedAsRefused) {
  const std::string odd = "http://innocent.example.test/a/%2e%2e%2fb";
  ASSERT_EQ(explain({odd}).status, 0);
  site_.configure("access: {strict_path: true}\n");
  const Finished story = explain({odd});
  EXPECT_EQ(story.status, 1);
  EXPECT_NE(story.out.find("access.strict_path"), std::string::npos) << story.out;
  EXPECT_EQ(json::parse(explain({"--json", odd}).out).at("reason"), "ambiguous_path");
  EXPECT_EQ(explain({}, odd + "\n").out, "invalid\t" + odd + "\tambiguous_path\n");
}

TEST_F(Program, ExplainSaysWhatATunnelAndTheAccessRulesWouldDo) {
  site_.configure("dns: {hosts: {inside.test: 10.9.8.7, outside.test: 8.8.8.8, reserved.test: 192.0.2.1}}\n");
  const struct {
    const char *url, *says, *access, *tunnel;
    int status;
  } rows[] = {
      {"https://pages.example.test/dir/x",
       "through a tunnel: CONNECT pages.example.test:443 is allowed (unlisted); entries for URLs", "allowed", "allowed",
       1},
      {"https://innocent.example.test/", "through a tunnel: CONNECT innocent.example.test:443 is allowed", "allowed",
       "allowed", 0},
      {"https://www.listed.example.test/",
       "through a tunnel: CONNECT www.listed.example.test:443 is blocked (listed) by filter ads: S", "allowed",
       "blocked", 1},
      {"https://innocent.example.test:8443/", "CONNECT innocent.example.test:8443 is refused, status 403 port_denied",
       "port_denied", "refused", 1},
      {"wss://innocent.example.test/", "through a tunnel: CONNECT innocent.example.test:443 is allowed", "allowed",
       "allowed", 0},
      {"ws://innocent.example.test/", "through a tunnel: CONNECT innocent.example.test:80 is allowed (unlisted)\n",
       "allowed", "allowed", 0},
      {"ws://innocent.example.test:8080/", "through a tunnel: CONNECT innocent.example.test:8080 is refused",
       "port_denied", "refused", 1},
      {"https://[fd00::1]/", "CONNECT [fd00::1]:443 is refused, status 403 destination_denied", "destination_denied",
       "refused", 1},
      {"http://10.1.2.3/", "refused all the same: status 403 destination_denied: access.deny_destinations",
       "destination_denied", nullptr, 1},
      {"http://inside.test/", "refused all the same: status 403 destination_denied", "destination_denied", nullptr, 1},
      {"http://outside.test/", "verdict", "allowed", nullptr, 0},
      {"http://reserved.test/", "refused all the same: status 403 destination_denied", "destination_denied", nullptr,
       1},
      {"ftp://innocent.example.test/", "refused all the same: status 501 not_implemented", "not_implemented", nullptr,
       1},
      {"http://innocent.example.test/", "verdict", "allowed", nullptr, 0},
  };
  for (const auto& row : rows) {
    const Finished text = explain({row.url});
    EXPECT_NE(text.out.find(row.says), std::string::npos) << row.url << "\n" << text.out;
    EXPECT_EQ(text.status, row.status) << row.url << "\n" << text.out;
    const Finished line = explain({}, std::string(row.url) + "\n");
    EXPECT_EQ(line.status, row.status) << line.out;
    const Finished object = explain({"--json", row.url});
    EXPECT_EQ(object.status, row.status) << row.url;
    const auto fields = json::parse(object.out);
    EXPECT_EQ(fields.at("access"), row.access) << row.url;
    if (row.tunnel == nullptr) {
      EXPECT_TRUE(fields.at("tunnel").is_null()) << row.url;
    } else {
      EXPECT_EQ(fields.at("tunnel").at("verdict"), row.tunnel) << row.url;
    }
  }
}

TEST_F(Program, ExplainKnowsPrefixesOfNat64PortZeroAndTheProxyItself) {
  const auto config = site_.dir.write("rules.yaml", R"(
listeners: [{address: "127.0.0.1:3128"}, {address: ":3129"}]
filters: [{name: ads, file: ads.bwf}]
access: {deny_destinations: [private]}
dns: {nat64_prefixes: ["2a00:64::/96"], hosts: {nat.test: "2a00:64::a00:1", self.test: 127.0.0.1}}
admin: {address: "127.0.0.1:9128"}
)");
  const struct {
    const char *url, *access;
  } rows[] = {
      {"http://[2a00:64::a00:1]/", "destination_denied"},
      {"https://[2a00:64::a00:1]/", "destination_denied"},
      {"http://nat.test/", "destination_denied"},
      {"http://[2a00:64::808:808]/", "allowed"},
      {"http://innocent.example.test:0/", "bad_target"},
      {"http://innocent.example.test:00/x", "bad_target"},
      {"https://innocent.example.test:0/", "bad_target"},
      {"http://innocent.example.test/:0", "allowed"},
      {"http://[2a00:64::808:0]/", "allowed"},
      {"innocent.example.test:0", "bad_target"},
      {"http://127.0.0.1:3128/", "loop"},
      {"http://127.0.0.2:3128/", "allowed"},
      {"http://127.0.0.2:3129/", "loop"},
      {"http://[::1]:3129/", "loop"},
      {"http://self.test:3128/", "loop"},
      {"http://127.0.0.1:9128/metrics", "loop"},
      {"http://127.0.0.1/", "allowed"},
  };
  for (const auto& row : rows) {
    const Finished object = run({"explain", "--json", "--config", config.string(), row.url});
    const bool stopped = std::string_view(row.access) != "allowed";
    EXPECT_EQ(object.status, stopped ? 1 : 0) << row.url << object.out << object.err;
    EXPECT_EQ(json::parse(object.out).at("access"), row.access) << row.url;
    const Finished text = run({"explain", "--config", config.string(), row.url});
    EXPECT_EQ(text.status, object.status) << row.url << text.out;
    if (stopped) {
      EXPECT_NE(text.out.find(row.access), std::string::npos) << row.url << text.out;
    }
  }
}

TEST_F(Program, WhatCannotBeExplainedIsSaid) {
  const Finished config = run({"explain", "--config", "/nonexistent/b.yaml", "http://a.test/"});
  EXPECT_EQ(config.status, 78);
  EXPECT_EQ(config.err, "bloomwall: /nonexistent/b.yaml: No such file or directory\n");
  std::filesystem::remove(site_.dir.path() / "ads.bwf");
  EXPECT_EQ(explain({"http://a.test/"}).status, 2);
}

TEST_F(Program, ReloadSaysThatNobodyIsThere) {
  const Finished nobody = run({"reload", "--config", site_.configure("admin: {control_socket: c.sock}\n").string()});
  EXPECT_EQ(nobody.status, 2);
  EXPECT_NE(nobody.err.find("no bloomwall listens there"), std::string::npos) << nobody.err;
  const Finished off = run({"reload", "--config", site_.configure("admin: {control_socket: null}\n").string()});
  EXPECT_EQ(off.status, 2);
  EXPECT_NE(off.err.find("SIGHUP"), std::string::npos) << off.err;
  const Finished broken = run({"reload", "--config", site_.configure("wokers: 2\n").string()});
  EXPECT_EQ(broken.status, 1);
  EXPECT_NE(broken.err.find("did you mean workers?"), std::string::npos) << broken.err;
}

TEST_F(Program, AnOutputThatCannotBeWrittenIsAnError) {
  std::istringstream in;
  std::ostringstream out, err;
  out.setstate(std::ios::badbit);
  EXPECT_EQ(run_program({"check", "--config", config_.string()}, {.in = in, .out = out, .err = err}), 2);
  EXPECT_NE(err.str(), "");
}

}  // namespace
}  // namespace bloomwall::proxy
