// SPDX-License-Identifier: Apache-2.0
#include "proxy/api/admin_pages.h"

#include <gtest/gtest.h>

#include "proxy/http/http1_reader.h"

namespace bloomwall::proxy {
namespace {

constexpr TimePoint kAdminNow{std::chrono::seconds(1'700'000'000)};

struct NoStream final : HttpStream::Sink {
  void write(std::uint64_t, std::string_view) override {}
  void end(std::uint64_t) override {}
  void reply(std::uint64_t, const HttpReply&) override {}
  bool goes_on(std::uint64_t) const override { return false; }
};

// The answer to a request as it comes from the network.
std::string answer(const std::string& request, const AdminAnswers& answers) {
  const HttpRoutes routes(admin_routes([&] { return answers; }), std::vector<std::string>{"proxy.example.com"});
  const HeadLimits limits;
  RequestReader reader(limits);
  std::string out;
  const auto step = reader.feed(request);
  if (!step) {
    write_reply(out, refusal(step.error()), {}, kAdminNow);
  } else if (step->event == ReadEvent::head) {
    const RequestHead& head = reader.head();
    const auto found = routes.find(head);
    NoStream nobody;
    write_reply(out, found ? found->route->handler({head, found->arguments, {}, HttpStream(nobody, 0)}) : found.error(),
                {.is_head = head.method == Method::head, .version = head.version}, kAdminNow);
  }
  return out;
}

AdminAnswers answers_in(Phase phase) {
  return {.phase = phase, .metrics = [] { return std::string("metric 1\n"); }};
}

TEST(AdminPages, AnswersByPathMethodAndPhase) {
  const struct {
    const char* name;
    std::string request;
    Phase phase;
    const char* status;
    const char* body;
  } rows[] = {
      {"alive while starting", "GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n", Phase::starting, "200", "alive\n"},
      {"alive while draining", "GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n", Phase::draining, "200", "alive\n"},
      {"not ready yet", "GET /readyz HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n", Phase::starting, "503", "starting\n"},
      {"ready", "GET /readyz HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n", Phase::serving, "200", "serving\n"},
      {"ready no more", "GET /readyz HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n", Phase::draining, "503", "draining\n"},
      {"metrics", "GET /metrics HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n", Phase::serving, "200", "metric 1\n"},
      {"query", "GET /metrics?name=x HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n", Phase::serving, "200", "metric 1\n"},
      {"HEAD", "HEAD /metrics HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n", Phase::serving, "200", ""},
      {"HTTP/1.0", "GET /healthz HTTP/1.0\r\nHost: 127.0.0.1\r\n\r\n", Phase::serving, "200", "alive\n"},
      {"absolute target", "GET http://127.0.0.1:9128/healthz HTTP/1.1\r\nHost: evil.example\r\n\r\n", Phase::serving,
       "200", "alive\n"},
      {"no such page", "GET / HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n", Phase::serving, "404",
       "/healthz /readyz /metrics /ca /ca.crt /ca.der /ca.mobileconfig\n"},
      {"an authority while nothing is decrypted", "GET /ca.crt HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n", Phase::serving,
       "404", "tls_inspection.mode is off\n"},
      {"POST", "POST /metrics HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 3\r\n\r\nabc", Phase::serving, "405",
       "GET and HEAD only.\n"},
      {"CONNECT", "CONNECT 127.0.0.1:443 HTTP/1.1\r\nHost: 127.0.0.1:443\r\n\r\n", Phase::serving, "405", nullptr},
      {"OPTIONS *", "OPTIONS * HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n", Phase::serving, "405", nullptr},
      {"foreign host", "GET /metrics HTTP/1.1\r\nHost: evil.example\r\n\r\n", Phase::serving, "421", nullptr},
      {"foreign absolute target", "GET http://evil.example/metrics HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n", Phase::serving,
       "421", nullptr},
      {"known host", "GET /healthz HTTP/1.1\r\nHost: Proxy.Example.com:9128\r\n\r\n", Phase::serving, "200", "alive\n"},
      {"a balancer's check names no host", "GET /healthz HTTP/1.0\r\n\r\n", Phase::serving, "200", "alive\n"},
      {"the same for readiness", "GET /readyz HTTP/1.0\r\n\r\n", Phase::draining, "503", "draining\n"},
      {"no host", "GET /metrics HTTP/1.0\r\n\r\n", Phase::serving, "421", nullptr},
      {"no HTTP", "\x16\x03\x01\x02\r\n\r\n", Phase::serving, "400", nullptr},
      {"two hosts", "GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\nHost: a\r\n\r\n", Phase::serving, "400", nullptr},
  };
  for (const auto& row : rows) {
    const std::string got = answer(row.request, answers_in(row.phase));
    EXPECT_TRUE(got.starts_with(std::string("HTTP/1.1 ") + row.status + " ")) << row.name << "\n" << got;
    const auto head_end = got.find("\r\n\r\n");
    ASSERT_NE(head_end, std::string::npos) << row.name;
    const std::string body = got.substr(head_end + 4);
    EXPECT_TRUE(row.body == nullptr || body == row.body) << row.name << "\n" << body;
  }
}

TEST(AdminPages, WhoBlocksEverythingIsNotReady) {
  AdminAnswers answers = answers_in(Phase::serving);
  answers.lost = "ads, malware";
  const std::string ready = "GET /readyz HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n";
  const std::string got = answer(ready, answers);
  EXPECT_TRUE(got.starts_with("HTTP/1.1 503 ")) << got;
  EXPECT_TRUE(got.ends_with("\r\n\r\nlost: ads, malware\n")) << got;
  answers.phase = Phase::draining;
  EXPECT_TRUE(answer(ready, answers).ends_with("draining\n"));
}

TEST(AdminPages, EveryAnswerIsWellFramedAndCloses) {
  const std::string got = answer("HEAD /metrics HTTP/1.1\r\nHost: [::1]:9128\r\n\r\n", answers_in(Phase::serving));
  EXPECT_EQ(got,
            "HTTP/1.1 200 OK\r\nDate: Tue, 14 Nov 2023 22:13:20 GMT\r\nServer: bloomwall\r\n"
            "Content-Type: text/plain; version=0.0.4; charset=utf-8\r\nContent-Length: 9\r\nCache-Control: no-store\r\n"
            "X-Content-Type-Options: nosniff\r\nConnection: close\r\n\r\n");
  EXPECT_NE(
      answer("PUT / HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n", answers_in(Phase::serving)).find("\r\nAllow: GET, HEAD\r\n"),
      std::string::npos);
}

TEST(AdminPages, MetricsAreMadeOnlyWhenTheyAreAskedFor) {
  int made = 0;
  const AdminAnswers answers{.phase = Phase::serving, .metrics = [&] {
                               ++made;
                               return std::string();
                             }};
  answer("GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n", answers);
  answer("GET /metrics HTTP/1.1\r\nHost: evil.example\r\n\r\n", answers);
  answer("POST /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n", answers);
  EXPECT_EQ(made, 0);
  answer("GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n", answers);
  EXPECT_EQ(made, 1);
}

}  // namespace
}  // namespace bloomwall::proxy
