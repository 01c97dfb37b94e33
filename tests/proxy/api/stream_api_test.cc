// Live streams of requests, without sockets and clocks; and figures over the API, without workers.
// SPDX-License-Identifier: Apache-2.0
#include "proxy/api/stream_api.h"

#include <gtest/gtest.h>

#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <utility>

#include "proxy/api/figures_api.h"
#include "proxy/api/requests_api.h"
#include "proxy/http/http1_reader.h"
#include "tests/proxy/api/fake_served.h"
#include "tests/support/loop_thread.h"

namespace bloomwall::proxy {
namespace {

using nlohmann::ordered_json;
using namespace std::chrono_literals;

// What each stream was told, by its number.
class Listeners final : public HttpStream::Sink {
 public:
  std::map<std::uint64_t, std::string> told;
  std::set<std::uint64_t> gone;
  HttpReply replied;

 private:
  void write(std::uint64_t id, std::string_view text) override { told[id] += text; }
  void end(std::uint64_t id) override { gone.insert(id); }
  void reply(std::uint64_t, const HttpReply& whole) override { replied = whole; }
  bool goes_on(std::uint64_t id) const override { return !gone.contains(id); }
};

// Asks a route as somebody of that role.
HttpReply ask(const ApiRoute& route, const std::string& target, HttpStream stream, Role role = Role::maintainer,
              std::function<bool(Role)> may_still = {}) {
  const HeadLimits limits;
  RequestReader reader(limits);
  const std::string head = "GET " + target + " HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n";
  const auto step = reader.feed(head);
  EXPECT_TRUE(step && step->event == ReadEvent::head);
  const std::vector<std::string_view> none;
  const HttpRequest http{reader.head(), none, "", stream};
  const Caller caller{.author = {}, .role = role, .may_still = std::move(may_still)};
  return route.handler({http, caller});
}

class Streams8 : public testing::Test {
 protected:
  HttpReply begin(std::uint64_t id, const std::string& query = "") {
    return ask(api_.route(), "/api/v1/stream" + query, HttpStream(listeners_, id));
  }
  static QueryLog::Shown rows(int count, RowDecision decision = RowDecision::blocked, std::uint64_t skipped = 0) {
    RequestRow row;
    row.host = "h.test";
    row.decision = decision;
    return {.rows = std::vector<RequestRow>(static_cast<std::size_t>(count), row), .skipped = skipped};
  }
  std::size_t events(std::uint64_t id, const std::string& name) {
    std::size_t found = 0;
    const std::string line = "event: " + name + "\ndata: {";
    for (std::size_t at = 0; (at = listeners_.told[id].find(line, at)) != std::string::npos; ++at) ++found;
    return found;
  }

  Listeners listeners_;
  Watch watch_ = Watch::nobody;
  StreamApi::Clock::time_point now_{1h};
  StreamApi api_{[this](Watch watch) { watch_ = watch; }, [this] { return now_; }};
};

TEST_F(Streams8, SendRequestsAsEvents) {
  const HttpReply reply = begin(1);
  EXPECT_EQ(reply.type, "text/event-stream");
  EXPECT_TRUE(reply.goes_on);
  EXPECT_EQ(watch_, Watch::all);
  api_.show(rows(2));
  EXPECT_EQ(events(1, "request"), 2U);
  EXPECT_EQ(events(1, "skipped"), 0U);
  const std::string& told = listeners_.told[1];
  const std::size_t at = told.find("data: ") + 6;
  const auto shown = ordered_json::parse(told.substr(at, told.find('\n', at) - at));
  EXPECT_EQ(shown["host"], "h.test");
  EXPECT_EQ(shown["decision"], "blocked");
  EXPECT_EQ(shown["client"], nullptr);
}

TEST_F(Streams8, ShowWhatWasBlockedToThoseWhoAskForThat) {
  begin(1, "?decision=blocked");
  EXPECT_EQ(watch_, Watch::blocked);
  begin(2);
  EXPECT_EQ(watch_, Watch::all);
  api_.show(rows(1, RowDecision::allowed));
  api_.show(rows(1));
  EXPECT_EQ(events(1, "request"), 1U);
  EXPECT_EQ(events(2, "request"), 2U);
  listeners_.gone.insert(2);
  api_.tick();
  EXPECT_EQ(watch_, Watch::blocked);
  listeners_.gone.insert(1);
  api_.tick();
  EXPECT_EQ(watch_, Watch::nobody);
  EXPECT_EQ(begin(3, "?decision=allowed").status, 400);
}

TEST_F(Streams8, SayHowManyTheyLeaveOut) {
  begin(1);
  api_.show(rows(25, RowDecision::allowed, 3));
  EXPECT_EQ(events(1, "request"), 20U);
  EXPECT_NE(listeners_.told[1].find("event: skipped\ndata: {\"requests\":8}\n\n"), std::string::npos);
  now_ += 500ms;
  api_.show(rows(25));
  EXPECT_EQ(events(1, "request"), 30U);
}

// A token that is removed, a session that ends, a user whose role changes.
TEST_F(Streams8, EndWithTheRightToThem) {
  bool may = true;
  const ApiRoute route = api_.route();
  ask(route, "/api/v1/stream", HttpStream(listeners_, 1), Role::maintainer, [&](Role least) {
    EXPECT_EQ(least, route.role);
    return may;
  });
  begin(2);
  api_.tick();
  EXPECT_TRUE(listeners_.gone.empty());
  may = false;
  api_.tick();
  EXPECT_EQ(listeners_.gone, (std::set<std::uint64_t>{1})) << "at the next second; the other goes on";
}

TEST_F(Streams8, EndWhereAnotherProcessServes) {
  begin(1);
  begin(2);
  api_.hand_over();
  EXPECT_EQ(listeners_.gone, (std::set<std::uint64_t>{1, 2}));
  EXPECT_EQ(watch_, Watch::nobody);
  EXPECT_EQ(begin(3).status, 503);
  EXPECT_EQ(api_.size(), 0U);
}

TEST_F(Streams8, AreEightAndEndInTime) {
  for (std::uint64_t id = 1; id <= StreamApi::kMost; ++id) EXPECT_EQ(begin(id).status, 200);
  EXPECT_EQ(begin(9).status, 503);
  listeners_.gone.insert(3);
  EXPECT_EQ(begin(9).status, 200);
  now_ += StreamApi::kQuiet;
  api_.tick();
  EXPECT_EQ(listeners_.told[1], ":\n\n") << "which finds out who has gone";
  api_.tick();
  EXPECT_EQ(listeners_.told[1], ":\n\n");
  now_ += StreamApi::kLongest;
  api_.tick();
  EXPECT_EQ(listeners_.gone.size(), 9U);
  api_.tick();
  EXPECT_EQ(api_.size(), 0U);
}

// One that collects what it is given at once.
class TrafficFigures : public testing::Test {
 protected:
  ordered_json get(std::size_t route, const std::string& query = "", Role role = Role::maintainer) {
    ordered_json shown;
    loop_.call([&] {
      const HttpReply reply = ask(api_->routes().at(route), "/x" + query, HttpStream(listeners_, 1), role);
      status_ = reply.status;
      if (!reply.is_later) shown = ordered_json::parse(reply.body);
    });
    loop_.call([&] {  // what was posted meanwhile is done
      if (shown.is_null()) shown = ordered_json::parse(listeners_.replied.body);
    });
    return shown;
  }
  void SetUp() override {
    workers_.held.requests_in_flight = 3;
    loop_.call([this] {
      api_ = std::make_unique<FiguresApi>(loop_.loop, mask_, served_, [] { return std::int64_t{1'793'620'800'000}; });
    });
  }
  void TearDown() override {
    loop_.call([this] { api_.reset(); });
  }
  void use(conf::QueryLog::Clients clients) {
    settings_.query_log.clients = clients;
    api_->use(settings_);
  }
  void see(std::string_view client, std::string_view group = {}, std::int64_t at = 1) {
    workers_.sums.clients.note({.client = client, .user = "anna", .group = group, .at = at});
  }

  conf::Config settings_;
  test::LoopThread loop_;
  Listeners listeners_;
  const ClientMask mask_{ClientMask::Secret{1}};
  test::FakeWorkers workers_;
  test::FakeServed served_{loop_.loop, &workers_};
  int status_ = 0;
  std::unique_ptr<FiguresApi> api_;
};

TEST_F(TrafficFigures, CountersAreThoseOfWorkers) {
  workers_.counters.count_response(200, 1000);
  workers_.counters.count_response(403, 1000);
  workers_.counters.count_request(MethodClass::get, filter::Decision::blocked, filter::VerdictReason::listed);
  workers_.counters.count_error(ErrorKind::dns_error);
  workers_.counters.count_error(ErrorKind::port_denied);
  workers_.counters.client_bytes_sent_total.add(500);
  workers_.counters.tunnels_active.add(2);
  const ordered_json shown = get(0);
  EXPECT_EQ(shown["requests"], 2);
  EXPECT_EQ(shown["blocked"], 1);
  EXPECT_EQ(shown["errors"], 1) << "what the rules refuse is none";
  EXPECT_EQ(shown["bytes_sent"], 500);
  EXPECT_EQ(shown["tunnels"], 2);
  EXPECT_EQ(shown["in_flight"], 3);
  EXPECT_EQ(shown["started"], "2026-11-02T12:00:00Z");
  EXPECT_EQ(get(1)["items"].size(), 1U);
}

TEST_F(TrafficFigures, TopsHideClientsFromThoseWhoMayNotReadTheLog) {
  workers_.sums.tops.hosts.count("h.test", 2);
  workers_.sums.tops.clients.count("192.0.2.7", 2);
  EXPECT_EQ(get(2)["clients"], ordered_json::parse(R"([{"name":"192.0.2.7","blocked":2,"error":0}])"));
  for (const Role role : {Role::viewer, Role::reviewer}) {
    const ordered_json shown = get(2, "", role);
    EXPECT_EQ(shown["clients"], nullptr);
    EXPECT_EQ(shown["hosts"][0]["name"], "h.test");
  }
}

TEST_F(TrafficFigures, TopsShowClientsAsTheConfigurationSays) {
  loop_.call([this] { use(conf::QueryLog::Clients::network); });
  workers_.sums.tops.clients.count("192.0.2.7", 2);
  workers_.sums.tops.clients.count("192.0.2.8", 1);
  EXPECT_EQ(get(2)["clients"], ordered_json::parse(R"([{"name":"192.0.2.0","blocked":3,"error":0}])"));
  loop_.call([this] { use(conf::QueryLog::Clients::none); });
  workers_.sums.tops.clients.count("192.0.2.9");
  EXPECT_EQ(get(2)["clients"].size(), 1U) << "what was counted before";
}

TEST_F(TrafficFigures, ClientsAreShownWithTheNamesOfDevices) {
  settings_.devices = {{.name = "tablet", .addresses = {"192.0.2.7", "2001:DB8:0::7"}, .group = "children"}};
  loop_.call([this] { use(conf::QueryLog::Clients::full); });
  see("192.0.2.7", "children", 5);
  see("2001:db8::7");
  see("192.0.2.8", "", 9);
  const ordered_json shown = get(3, "", Role::maintainer);
  EXPECT_EQ(shown["clients"], "full");
  ASSERT_EQ(shown["items"].size(), 3U);
  EXPECT_EQ(shown["items"][0], ordered_json::parse(R"({"client":"192.0.2.8","device":null,"device_group":null,
      "user":"anna","group":null,"requests":1,"blocked":0,"first":"1970-01-01T00:00:09Z",
      "last":"1970-01-01T00:00:09Z"})"));
  EXPECT_EQ(shown["items"][1]["device"], "tablet");
  EXPECT_EQ(shown["items"][1]["device_group"], "children");
  EXPECT_EQ(shown["items"][2]["device"], "tablet") << "however its address is written";
}

TEST_F(TrafficFigures, ClientsAreMaskedAndForgottenAsTheConfigurationSays) {
  settings_.devices = {{.name = "net", .addresses = {"192.0.2.0"}, .group = {}}};
  loop_.call([this] { use(conf::QueryLog::Clients::network); });
  see("192.0.2.7");
  see("192.0.2.8");
  ordered_json shown = get(3, "", Role::maintainer);
  ASSERT_EQ(shown["items"].size(), 1U);
  EXPECT_EQ(shown["items"][0]["client"], "192.0.2.0");
  EXPECT_EQ(shown["items"][0]["requests"], 2);
  EXPECT_EQ(shown["items"][0]["user"], nullptr);
  EXPECT_EQ(shown["items"][0]["device"], nullptr) << "a network is no device";
  loop_.call([this] { use(conf::QueryLog::Clients::none); });
  see("192.0.2.9");
  EXPECT_TRUE(get(3, "", Role::maintainer)["items"].empty());
  loop_.call([this] { use(conf::QueryLog::Clients::full); });
  see("192.0.2.9", "staff");
  EXPECT_EQ(get(3, "", Role::maintainer)["items"].size(), 1U);
  settings_.groups.resize(1);
  settings_.groups[0].name = "staff";
  settings_.groups[0].log = conf::Group::Log::counted;
  loop_.call([this] { use(conf::QueryLog::Clients::full); });
  EXPECT_TRUE(get(3, "", Role::maintainer)["items"].empty()) << "nobody is told of its clients any more";
}

TEST_F(TrafficFigures, TopsCannotBeHadOfWorkersThatEnd) {
  served_.now = Phase::draining;
  EXPECT_EQ(get(2)["status"], 503);
  EXPECT_EQ(get(3, "", Role::maintainer)["status"], 503);
  EXPECT_EQ(get(2, "?span=7d")["status"], 400);
  EXPECT_EQ(get(1, "?span=7d")["status"], 400);
  EXPECT_EQ(get(2, "?limit=-1")["status"], 400);
}

}  // namespace
}  // namespace bloomwall::proxy
