// `explain --client --user --listener --at` and the running proxy, which must say the same of any client and user at
// any time: random combinations, each asked of both.
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <chrono>
#include <fstream>
#include <future>
#include <memory>
#include <nlohmann/json.hpp>
#include <random>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "proxy/cli/commands.h"
#include "proxy/explain/client_view.h"
#include "proxy/log/access_log.h"
#include "proxy/reload/loading.h"
#include "proxy/state/time_text.h"
#include "proxy/worker/server.h"
#include "tests/filter/policy/filter_maker.h"
#include "tests/proxy/auth/hashes.h"
#include "tests/support/http_text.h"
#include "tests/support/scripted_peer.h"
#include "tests/support/temp_dir.h"

namespace bloomwall::proxy {
namespace {

using nlohmann::json;
using test::ScriptedPeer;

constexpr auto kPatience = std::chrono::seconds(20);

// A name, and "name:open sesame" in base64.
struct Person {
  std::string name, token;
};
const std::vector<Person>& people() {
  static const std::vector<Person> all{
      {"anna", "YW5uYTpvcGVuIHNlc2FtZQ=="}, {"bob", "Ym9iOm9wZW4gc2VzYW1l"}, {"carl", "Y2FybDpvcGVuIHNlc2FtZQ=="}};
  return all;
}

const std::vector<std::string>& names() {
  static const std::vector<std::string> all{"games.test", "www.games.test", "ads.test",  "both.test",
                                            "white.test", "free.test",      "none.test", "seen.test"};
  return all;
}

class ExplainAgreement : public testing::TestWithParam<std::uint64_t> {
 protected:
  ExplainAgreement() : random_(GetParam()), port_(test::closed_port()) {
    make("games", {"S games.test", "S both.test", "D none.test/dir/"});
    make("ads", {"S ads.test", "S both.test", "S free.test"});
    make("watch", {"S seen.test", "S white.test"});
    make("white", {"S white.test", "U none.test/x"});
    dir_.write("free.txt", "free.test\n");
    dir_.write("own.txt", "www.games.test\nads.test @ads\n");
    dir_.write("users",
               test::user_line("anna", ":class 7b,chess") + test::user_line("bob", ":staff") + test::user_line("carl"));
    std::string hosts;
    for (const std::string& name : names()) hosts += name + ": 127.0.0.1, ";
    config_ = dir_.write("bloomwall.yaml", R"(
listeners: [{address: "127.0.0.1:0"}, {address: "127.0.0.2:0"}]
workers: 1
time_zone: Europe/Berlin
calendars: [{name: holidays, dates: [2026-10-23..2026-10-24, 03-30]}]
schedules:
- {name: lessons, times: [mon-fri 08:00-12:30, sun 01:00-05:00], except: [holidays]}
- {name: night, times: ["21:00-06:30"], time_zone: America/New_York}
- {name: weekend, times: ["sat,sun"]}
filters:
- {name: games, file: games.bwf}
- {name: watch, file: watch.bwf, action: monitor}
- {name: white, file: white.bwf, action: allow}
- {name: ads, file: ads.bwf}
allow_lists: [free.txt]
groups:
- {name: seventh, user_groups: [class 7b], clients: [127.0.0.4, 127.0.0.5, 127.0.0.9], filters: {ads: "off"}}
- {name: bobs, users: [bob, dora], listeners: ["127.0.0.2:0"], otherwise: {lessons: deny}}
- {name: door, listeners: ["127.0.0.2:0"], clients: [127.0.0.4, 127.0.0.5], filters: {ads: {night: "off"}}}
- name: pupils
  clients: [127.0.0.3, 127.0.0.4]
  filters: {games: {lessons: block, weekend: "off", otherwise: monitor}, white: {night: allow, otherwise: "off"}}
  otherwise: {lessons: deny, night: allow, weekend: deny}
- {name: staff, clients: [127.0.0.0/29], allow_lists: [own.txt], filters: {games: {weekend: monitor}}}
authentication: {require: [127.0.0.4/30], users_file: users, exempt_hosts: [free.test]}
access: {connect_ports: [], deny_ports: [], deny_destinations: []}
admin: {address: null, control_socket: null}
state_dir: null
log: {access: {file: access.log}}
dns: {servers: ["127.0.0.1:9"], hosts: {)" + hosts +
                                               "}}\n");
    const auto settings = load_settings(config_);
    if (!settings) throw std::runtime_error(settings.error().lines.front());
    auto edition = load_edition(*settings, {.verify = false, .progress = {}}, 1);
    if (!edition) throw std::runtime_error(edition.error().lines.front());
    edition_ = *edition;
    log_ = AccessLog::open(settings->log.access).value();
    server_ = Server::create(edition_.at(0), *log_).value();
    server_->start();
  }
  void make(const std::string& name, const std::vector<std::string>& entries) const {
    filter::make_filter(dir_.path() / (name + ".bwf"), {.entries = entries});
  }
  int below(int n) { return std::uniform_int_distribution<int>(0, n - 1)(random_); }

  void set_clock(Instant at) {
    const auto adopted = std::make_shared<std::promise<void>>();
    server_->publish(edition_.at(at), [adopted] { adopted->set_value(); });
    ASSERT_EQ(adopted->get_future().wait_for(kPatience), std::future_status::ready);
  }
  // The proxy's own line about it.
  json ask_proxy(const std::string& client, std::size_t listener, const Person& person, const std::string& url) {
    const bool is_tunnel = url.starts_with("https:");
    const std::string rest = url.substr(url.find("//") + 2), authority = rest.substr(0, rest.find('/'));
    auto peer = listener == 0 ? ScriptedPeer::connect_from(client, server_->addresses().front().port())
                              : ScriptedPeer::connect_from(client, server_->addresses().at(1).port(), "127.0.0.2");
    const std::string fields = "Proxy-Authorization: Basic " + person.token + "\r\n";
    peer.send(is_tunnel ? test::connect_to(authority, fields)
                        : test::get(authority, rest.substr(authority.size()), fields));
    peer.read_head();
    for (std::string line; true;) {
      log_->flush(kPatience);
      std::ifstream in(dir_.path() / "access.log");
      in.seekg(static_cast<std::streamoff>(read_));
      if (!std::getline(in, line) || in.eof()) continue;  // it comes once the answer is on its way
      read_ += line.size() + 1;
      return json::parse(line);
    }
  }
  std::vector<json> explain(const std::string& client, const std::string& listener, const Person& person, Instant at,
                            const std::vector<std::string>& urls) const {
    std::vector<std::string> words{"explain",    "--json", "--config", config_.string(), "--client", client,
                                   "--listener", listener, "--user",   person.name,      "--at",     utc_text(at)};
    words.insert(words.end(), urls.begin(), urls.end());
    std::istringstream in;
    std::ostringstream out, err;
    run_program(words, {.in = in, .out = out, .err = err});
    EXPECT_EQ(err.str(), "");
    std::vector<json> answers;
    std::istringstream lines(out.str());
    for (std::string line; std::getline(lines, line);) answers.push_back(json::parse(line));
    return answers;
  }
  static std::string says(const json& answer, bool is_tunnel) {
    const json& verdict = is_tunnel ? answer.at("tunnel") : answer;
    const json& filter = verdict.at("filter");
    return verdict.at("verdict").get<std::string>() + " " + verdict.at("reason").get<std::string>() + " " +
           (filter.is_null() ? "none" : filter.get<std::string>());
  }

  test::TempDir dir_;
  std::mt19937_64 random_;
  std::uint16_t port_;
  std::filesystem::path config_;
  Edition edition_;
  std::unique_ptr<AccessLog> log_;
  std::unique_ptr<Server> server_;
  std::size_t read_ = 0;  // octets of the log
};

TEST_P(ExplainAgreement, TheyGiveTheSameVerdictFilterAndGroup) {
  SCOPED_TRACE("seed " + std::to_string(GetParam()));
  const std::vector<std::string> listeners{"127.0.0.1:0", "127.0.0.2:0"};
  // Around both clock changes of 2026, and the calendar's days.
  const std::vector<Instant> days{1'774'569'600, 1'792'713'600};  // 2026-03-27, 2026-10-23
  std::set<std::string> seen, groups;
  int asked = 0, ends = 0, with_user = 0;
  for (int round = 0; round < 25; ++round) {
    const std::string client = "127.0.0." + std::to_string(2 + below(8));
    const auto listener = static_cast<std::size_t>(below(2));
    const Instant at = days[static_cast<std::size_t>(below(2))] + below(5 * 24 * 60) * 60 + below(2) * below(60);
    std::vector<std::string> urls;
    for (int i = 0; i < 5; ++i) {
      const std::string& name = names()[static_cast<std::size_t>(below(static_cast<int>(names().size())))];
      const char* const paths[] = {"/", "/x", "/dir/y", "/a;b"};
      urls.push_back((below(3) == 0 ? "https://" : "http://") + name + ":" + std::to_string(port_) + paths[below(4)]);
    }
    const Person& person = people()[static_cast<std::size_t>(below(3))];
    set_clock(at);
    const std::vector<json> answers = explain(client, listeners[listener], person, at, urls);
    ASSERT_EQ(answers.size(), urls.size());
    for (std::size_t i = 0; i < urls.size(); ++i) {
      SCOPED_TRACE(urls[i] + " of " + person.name + " at " + client + " at " + utc_text(at));
      const bool is_tunnel = urls[i].starts_with("https:");
      const json line = ask_proxy(client, listener, person, urls[i]);
      const std::string explained = says(answers[i], is_tunnel);
      ASSERT_EQ(line.at("decision").get<std::string>() + " " + line.at("decision_reason").get<std::string>() + " " +
                    line.value("filter", "none"),
                explained);
      ASSERT_EQ(line.at("group"), answers[i].at("group").at("name"));
      const json& user = answers[i].at("user");
      ASSERT_EQ(line.value("user", ""), user.is_null() ? "" : user.at("name").get<std::string>());
      with_user += user.is_null() ? 0 : 1;
      seen.insert(explained);
      groups.insert(line.at("group"));
      ++asked;
    }
    if (answers[0].at("valid_until").is_null()) continue;  // nothing is known to change it
    const Instant until = parse_time(answers[0].at("valid_until").get<std::string>()).value();
    ++ends;
    const bool is_tunnel = urls[0].starts_with("https:");
    const std::vector<std::string> one{urls[0]};
    EXPECT_EQ(says(explain(client, listeners[listener], person, until - 1, one).front(), is_tunnel),
              says(answers[0], is_tunnel));
    EXPECT_NE(says(explain(client, listeners[listener], person, until, one).front(), is_tunnel),
              says(answers[0], is_tunnel))
        << urls[0] << " of " << client << " until " << utc_text(until);
  }
  EXPECT_EQ(asked, 125);
  EXPECT_GE(seen.size(), 6U);
  EXPECT_GE(groups.size(), 4U);
  EXPECT_GT(with_user, 10);
  EXPECT_GT(ends, 0);
}

INSTANTIATE_TEST_SUITE_P(Seeds, ExplainAgreement, testing::Range<std::uint64_t>(1, 5));

}  // namespace
}  // namespace bloomwall::proxy
