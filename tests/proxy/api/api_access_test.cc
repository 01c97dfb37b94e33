// Sessions of the API: a cookie stands for a token as long as it is used.
// SPDX-License-Identifier: Apache-2.0
#include "proxy/api/api_access.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <nlohmann/json.hpp>

#include "proxy/http/http1_reader.h"

namespace bloomwall::proxy {
namespace {

std::chrono::steady_clock::time_point api_clock;  // what ApiAccess takes for now

struct NobodyListens final : HttpStream::Sink {
  void write(std::uint64_t, std::string_view) override {}
  void end(std::uint64_t) override {}
  void reply(std::uint64_t, const HttpReply&) override {}
  bool goes_on(std::uint64_t) const override { return false; }
};

class ApiSessions : public testing::Test {
 protected:
  ApiSessions() { give_tokens(kForever); }
  static constexpr std::int64_t kNow = 1'000'000, kForever = Token::kForever;
  void give_tokens(std::int64_t until) {
    tokens_.set(std::make_shared<const TokenTable>(
        std::vector<Token>{{.name = "anna", .role = Role::reviewer, .until = until, .digest = digest_of(kText)}}));
  }
  // The status, and the cookie where there is one.
  HttpReply ask(std::string_view method, std::string_view path, const std::string& fields, std::string body = {},
                const std::string& query = {}) {
    const auto route =
        std::ranges::find_if(routes_, [&](const HttpRoute& of) { return of.method == method && of.path == path; });
    EXPECT_NE(route, routes_.end());
    const std::string head = std::string(method) + " " + std::string(path) + query + " HTTP/1.1\r\nHost: " + host_ +
                             "\r\n" + fields + "Content-Length: " + std::to_string(body.size()) + "\r\n\r\n";
    const HeadLimits limits;
    RequestReader reader(limits);
    const auto step = reader.feed(head);
    EXPECT_TRUE(step && step->event == ReadEvent::head);
    const std::vector<std::string_view> none;
    return route->handler({reader.head(), none, body, HttpStream(nobody_, 0)});
  }
  std::string begin() {
    const HttpReply reply = ask("POST", "/api/v1/session", "", R"({"token":")" + kText + R"("})");
    EXPECT_EQ(reply.status, 201) << reply.body;
    const std::size_t at = reply.more_fields.find(": ") + 2;
    return "Cookie: " + reply.more_fields.substr(at, reply.more_fields.find(';') - at) + "\r\n";
  }
  int status(const std::string& cookie) { return ask("GET", "/things", cookie).status; }

  const std::string kText = token_text(TokenBits{1, 2, 3});
  std::string host_ = "127.0.0.1:9128";
  std::function<bool(Role)> may_still_;  // of who has asked for /things

 private:
  std::vector<HttpRoute> routes_of(ApiAccess& access) {
    std::vector<HttpRoute> routes = access.session_routes();
    routes.push_back(access.guarded(
        {.method = "GET", .path = "/things", .role = Role::viewer, .handler = [this](const ApiRequest& request) {
           may_still_ = request.caller.may_still;
           return HttpReply{};
         }}));
    return routes;
  }
  NobodyListens nobody_;
  CurrentTokens tokens_;
  ApiAccess access_{tokens_, {.monotonic = [] { return api_clock; }, .seconds = [] { return kNow; }}};
  std::vector<HttpRoute> routes_ = routes_of(access_);
};

TEST_F(ApiSessions, EndWhenTheyHaveIdledForTooLong) {
  const std::string used = begin(), idle = begin();
  for (int hours = 0; hours < 36; hours += 6) {
    api_clock += std::chrono::hours(6);
    EXPECT_EQ(status(used), 200) << hours;
  }
  EXPECT_EQ(status(idle), 401);
  api_clock += ApiAccess::kIdle - std::chrono::seconds(1);
  EXPECT_EQ(status(used), 200);
  api_clock += ApiAccess::kIdle;
  EXPECT_EQ(status(used), 401);
  EXPECT_EQ(status(used), 401) << "asking does not bring it back";
}

TEST_F(ApiSessions, QuestionsWithTwoReadingsAreRefused) {
  const std::string cookie = begin();
  const auto asks = [&](const std::string& query) { return ask("GET", "/things", cookie, {}, query); };
  for (const std::string query :
       {"?limit=1&limit=2", "?limit=1&limit=1", "?limi%74=1&limit=2", "?a&b&a", "?a=&=&b=&="}) {
    const HttpReply reply = asks(query);
    EXPECT_EQ(reply.status, 400) << query;
    EXPECT_NE(reply.body.find("this argument is there twice"), std::string::npos) << reply.body;
  }
  for (const std::string query :
       {"", "?limit=1&Limit=2", "?user_group=a&user_group=b&certificate=cn:a&certificate=cn:b"}) {
    EXPECT_EQ(asks(query).status, 200) << query;
  }
  EXPECT_EQ(ask("GET", "/things", cookie + "Content-Encoding: gzip\r\n", "{}").status, 415);
}

TEST_F(ApiSessions, EndWithTheirToken) {
  const std::string cookie = begin();
  EXPECT_EQ(status(cookie), 200);
  give_tokens(kNow);
  EXPECT_EQ(status(cookie), 401);
}

TEST_F(ApiSessions, SayWhoseTheyAre) {
  const std::string nobody = R"({"who":null,"role":null,"groups":[],"passwords":false})";
  const auto shown = [&](const std::string& cookie) {
    const HttpReply reply = ask("GET", "/api/v1/session", cookie);
    EXPECT_EQ(reply.status, 200);
    return reply.body.substr(0, reply.body.find('\n'));
  };
  EXPECT_EQ(shown(""), nobody);
  EXPECT_EQ(shown("Cookie: bloomwall_session_9128=bw_x\r\n"), nobody);
  const std::string cookie = begin();
  EXPECT_EQ(shown(cookie), R"({"who":"token anna","role":"reviewer","groups":[],"passwords":false})");
  give_tokens(kNow);
  EXPECT_EQ(shown(cookie), nobody);
}

// As of two gateways whose dashboards are at two ports of one machine: a browser sends the cookies of both to each.
TEST_F(ApiSessions, OfOnePortAreNotThoseOfAnother) {
  const std::string first = begin();
  EXPECT_TRUE(first.starts_with("Cookie: bloomwall_session_9128=bw_")) << first;
  host_ = "localhost:9129";
  const std::string second = begin();
  EXPECT_TRUE(second.starts_with("Cookie: bloomwall_session_9129=bw_")) << second;
  const auto value_of = [](const std::string& cookie) { return cookie.substr(8, cookie.size() - 10); };
  const std::string both = "Cookie: " + value_of(first) + "; " + value_of(second) + "\r\n";
  EXPECT_EQ(status(both), 200);
  const std::string ended = both + "X-Bloomwall: 1\r\nOrigin: http://localhost:9129\r\n";
  const HttpReply reply = ask("DELETE", "/api/v1/session", ended);
  EXPECT_EQ(reply.status, 200);
  EXPECT_TRUE(reply.more_fields.starts_with("Set-Cookie: bloomwall_session_9129=; ")) << reply.more_fields;
  EXPECT_EQ(status(both), 401);
  host_ = "127.0.0.1:9128";
  EXPECT_EQ(status(both), 200) << "the other one was not signed out";
  host_ = "127.0.0.1";
  EXPECT_EQ(status(first), 401) << "of another port";
  EXPECT_TRUE(begin().starts_with("Cookie: bloomwall_session=bw_")) << "the port of the scheme has no number";
}

// A member that is passed over could be a password that was meant.
TEST_F(ApiSessions, BeginWithWhatIsDescribedAlone) {
  const std::string token = R"("token":")" + kText + '"';
  for (const std::string& body :
       {std::string(), std::string("[]"), std::string("{}"), std::string(R"({"token":null})"),
        "{" + token + R"(,"more":1})", "{" + token + R"(,"user":"anna","password":"x"})",
        std::string(R"({"user":"a"})"), std::string(R"({"user":"anna","password":"x","more":1})"),
        std::string(R"({"user":"anna","password":1})"), "{" + token + "," + token + "}",
        R"({"token":"bw_x","\u0074oken":")" + kText + R"("})",
        std::string(R"({"user":"a","user":"anna","password":"x"})")}) {
    EXPECT_EQ(ask("POST", "/api/v1/session", "", body).status, 400) << body;
  }
  EXPECT_EQ(ask("POST", "/api/v1/session", "", R"({"token":"bw_x"})").status, 401);
}

// What a reply that goes on asks, each second.
TEST_F(ApiSessions, RightsEndWithThem) {
  const std::string cookie = begin();
  EXPECT_EQ(status(cookie), 200);
  ASSERT_TRUE(may_still_);
  EXPECT_TRUE(may_still_(Role::reviewer));
  EXPECT_FALSE(may_still_(Role::maintainer)) << "it never could";
  ask("DELETE", "/api/v1/session", cookie + "X-Bloomwall: 1\r\nOrigin: http://127.0.0.1:9128\r\n");
  EXPECT_FALSE(may_still_(Role::viewer));
  EXPECT_EQ(ask("GET", "/things", "Authorization: Bearer " + kText + "\r\n").status, 200);
  EXPECT_TRUE(may_still_(Role::reviewer));
  give_tokens(kNow);
  EXPECT_FALSE(may_still_(Role::viewer));
}

TEST_F(ApiSessions, TheOldestMakesRoom) {
  const std::string first = begin();
  api_clock += std::chrono::seconds(1);
  const std::string second = begin();
  for (std::size_t i = 2; i <= ApiAccess::kMostSessions; ++i) {
    api_clock += std::chrono::seconds(1);
    begin();
  }
  EXPECT_EQ(status(first), 401);
  EXPECT_EQ(status(second), 200);
}

}  // namespace
}  // namespace bloomwall::proxy
