// What denials and errors look like on the wire (replies.h).
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "conf/sections.h"
#include "filter/policy/policy.h"
#include "proxy/reply/page_frame.h"
#include "proxy/reply/replies.h"
#include "proxy/tls/certificates.h"
#include "tests/proxy/http/transcript.h"

namespace bloomwall::proxy::http_test {
namespace {

const TimePoint kNow = TimePoint(std::chrono::seconds(784'111'777));  // Sun, 06 Nov 1994 08:49:37 GMT
const HeadLimits kReplyLimits;

struct Answer {
  int status = 0;
  std::string head, body, events;
  std::string field(std::string_view name) const {
    std::string found;
    for (std::size_t at = 0; (at = head.find("\r\n", at)) != std::string::npos;) {
      at += 2;
      const std::size_t colon = head.find(": ", at);
      if (colon == std::string::npos || !same_name(std::string_view(head).substr(at, colon - at), name)) continue;
      found += head.substr(colon + 2, head.find("\r\n", colon) - colon - 2);
    }
    return found;
  }
};

// Reads the answer with our own reader: it must be one whole message, with nothing behind it.
Answer read(const std::string& bytes, Method method) {
  ResponseReader reader(kReplyLimits);
  reader.start({method, false});
  const Transcript t = run(reader, {bytes});
  EXPECT_TRUE(reader.at_end()) << t.events;
  EXPECT_EQ(t.rest, "");
  return {reader.head().status, bytes.substr(0, bytes.find("\r\n\r\n") + 4), t.body, t.events};
}

ReplyContext context(std::string_view accept = {}, Method method = Method::get) {
  return {.now = kNow, .method = method, .accept = accept, .decision_id = "0123456789ABCDEF"};
}

Answer error(ErrorKind kind, const ReplyContext& with, std::string_view detail = "why") {
  std::string out;
  write_error(out, {kind, detail}, with);
  return read(out, with.method);
}

TEST(ErrorReply, EveryKindIsWholeAndSaysWhy) {
  for (std::size_t i = 0; i < kErrorKinds; ++i) {
    const auto kind = static_cast<ErrorKind>(i);
    for (const std::string_view accept : {"", "text/html", "application/json", "text/plain"}) {
      const Answer answer = error(kind, context(accept));
      EXPECT_EQ(answer.status, facts(kind).status);
      EXPECT_FALSE(reason_phrase(answer.status).empty()) << answer.status;
      const bool is_rule =
          kind == ErrorKind::client_denied || kind == ErrorKind::port_denied || kind == ErrorKind::destination_denied;
      const std::string phrase = is_rule ? " Not Allowed" : " " + std::string(reason_phrase(answer.status));
      EXPECT_NE(answer.head.substr(0, answer.head.find("\r\n") + 2).find(phrase + "\r\n"), std::string::npos);
      EXPECT_EQ(answer.field("Date"), "Sun, 06 Nov 1994 08:49:37 GMT");
      EXPECT_EQ(answer.field("Cache-Control"), "no-store");
      EXPECT_EQ(answer.field("X-Content-Type-Options"), "nosniff");
      EXPECT_EQ(answer.field("Proxy-Status"), "bloomwall; error=" + std::string(facts(kind).proxy_error) +
                                                  "; details=\"why; decision 0123456789ABCDEF\"");
      EXPECT_EQ(answer.field("Connection"), facts(kind).must_close ? "close" : "");
      std::string summary(page_text(after(PageText::error_bad_request, i), Language::en));
      EXPECT_EQ(page_texts()[static_cast<std::size_t>(PageText::error_bad_request) + i].name,
                std::string("error_") + to_string(kind));
      if (accept.empty() || accept == "text/html") summary = html_escaped(summary);
      EXPECT_NE(answer.body.find(summary), std::string::npos) << answer.body;
      EXPECT_NE(answer.body.find("why"), std::string::npos);
      EXPECT_NE(answer.body.find("0123456789ABCDEF"), std::string::npos)
          << "what a person reports can be found in the log";
    }
  }
}

TEST(ErrorReply, SaysInWordsWhatIsWrongWithACertificate) {
  for (const CertificateError cause : kCertificateErrors) {
    const std::string body = error(ErrorKind::origin_certificate, context("text/html"), to_string(cause)).body;
    EXPECT_NE(body.find("cannot prove who it is. "), std::string::npos) << to_string(cause);
    EXPECT_NE(body.find("Your request was not sent to it."), std::string::npos) << to_string(cause);
  }
}

TEST(ErrorReply, IsWrittenAsTheClientPrefers) {
  EXPECT_EQ(error(ErrorKind::dns_error, context("*/*")).field("Content-Type"), "text/plain; charset=utf-8");
  EXPECT_EQ(error(ErrorKind::dns_error, context("text/html")).field("Content-Type"), "text/html; charset=utf-8");
  EXPECT_NE(error(ErrorKind::dns_error, context("text/html")).field("Content-Security-Policy"), "");
  const Answer json = error(ErrorKind::dns_error, context("application/json"), "a \"quote\"");
  EXPECT_EQ(json.field("Content-Type"), "application/json");
  EXPECT_EQ(json.field("Content-Security-Policy"), "");
  EXPECT_EQ(nlohmann::json::parse(json.body)["detail"], "a \"quote\"");
  EXPECT_EQ(nlohmann::json::parse(json.body)["error"], "dns_error");
  const Answer connect = error(ErrorKind::dns_error, context("text/html", Method::connect));
  EXPECT_EQ(connect.field("Content-Type"), "text/plain; charset=utf-8");
}

TEST(ErrorReply, NamesTheProxyAsAStructuredItem) {
  ReplyContext with = context();
  with.proxy_name = "edge-1.example";
  EXPECT_TRUE(error(ErrorKind::dns_error, with).field("Proxy-Status").starts_with("edge-1.example; error="));
  with.proxy_name = "1st";
  EXPECT_TRUE(error(ErrorKind::dns_error, with).field("Proxy-Status").starts_with("\"1st\"; error="));
}

// RFC 9209 section 2.3: what it is about, whatever the status.
TEST(ErrorReply, NamesTheErrorThatItIs) {
  const struct {
    ErrorKind kind;
    std::string_view error;
  } rows[] = {
      {ErrorKind::dns_error, "dns_error"},
      {ErrorKind::dns_limit, "dns_error"},
      {ErrorKind::dns_timeout, "dns_timeout"},
      {ErrorKind::connection_limit, "connection_limit_reached"},
      {ErrorKind::connect_timeout, "connection_timeout"},
      {ErrorKind::connection_refused, "connection_refused"},
      {ErrorKind::upstream_timeout, "http_response_timeout"},
      {ErrorKind::parent_tls, "tls_protocol_error"},
      {ErrorKind::parent_certificate, "tls_certificate_error"},
      {ErrorKind::parent_auth, "proxy_configuration_error"},
      {ErrorKind::filter_late, "proxy_internal_error"},
      {ErrorKind::destination_denied, "destination_ip_prohibited"},
      {ErrorKind::loop, "proxy_loop_detected"},
  };
  for (const auto& row : rows) {
    EXPECT_TRUE(error(row.kind, context())
                    .field("Proxy-Status")
                    .starts_with("bloomwall; error=" + std::string(row.error) + "; "))
        << row.error;
  }
}

TEST(ErrorReply, SpecialFieldsOfSpecialKinds) {
  EXPECT_NE(error(ErrorKind::method_not_allowed, context()).field("Allow").find("GET"), std::string::npos);
  EXPECT_EQ(error(ErrorKind::too_many_requests, context()).field("Retry-After"), "1");
  EXPECT_EQ(error(ErrorKind::connection_limit, context()).field("Retry-After"), "5");
}

TEST(ErrorReply, AsksForALoginAndSaysWhomToAsk) {
  ReplyContext with = context("text/html");
  with.challenge = "Proxy-Authenticate: Basic realm=\"p\", charset=\"UTF-8\"\r\n";
  with.contact = "a <b@example.com>";
  with.locked_for = 77;
  const Answer html = error(ErrorKind::login_required, with);
  EXPECT_EQ(html.status, 407);
  EXPECT_EQ(html.field("Proxy-Authenticate"), "Basic realm=\"p\", charset=\"UTF-8\"");
  EXPECT_EQ(html.field("Connection"), "");
  EXPECT_NE(html.body.find("Contact: a &lt;b@example.com&gt;"), std::string::npos) << html.body;
  with.accept = "application/json";
  const Answer json = error(ErrorKind::login_locked, with);
  EXPECT_EQ(json.status, 429);
  EXPECT_EQ(json.field("Retry-After"), "77");
  EXPECT_EQ(json.field("Proxy-Authenticate"), "");
  EXPECT_EQ(nlohmann::json::parse(json.body)["contact"], "a <b@example.com>");
  EXPECT_EQ(error(ErrorKind::login_unchecked, with).field("Retry-After"), "1");
  EXPECT_EQ(error(ErrorKind::dns_error, with).body.find("Contact"), std::string::npos);
}

TEST(ErrorReply, HeadGetsNoBodyButItsLength) {
  const Answer get = error(ErrorKind::dns_error, context());
  std::string out;
  write_error(out, {ErrorKind::dns_error, "why"}, context({}, Method::head));
  EXPECT_TRUE(out.ends_with("\r\n\r\n"));
  EXPECT_NE(out.find("Content-Length: " + std::to_string(get.body.size()) + "\r\n"), std::string::npos);
}

TEST(ErrorReply, ConnectionIsSaidWhereItMatters) {
  ReplyContext with = context();
  with.close = true;
  EXPECT_EQ(error(ErrorKind::dns_error, with).field("Connection"), "close");
  with.close = false;
  with.client = Version::http10;
  EXPECT_EQ(error(ErrorKind::dns_error, with).field("Connection"), "keep-alive");
}

// ---- denials

struct Blocked {
  filter::FilterSpec filter{.name = "malware", .file = {}, .delta = {}};
  filter::Verdict verdict;
  conf::BlockPage page;
  std::string url = "http://bad.test/a?b", host = "bad.test", legal_link;
  BlockEnd end;
  Blocked() {
    verdict.decision = filter::Decision::blocked;
    verdict.reason = filter::VerdictReason::listed;
    verdict.expression = "bad.test/a";
  }
  std::string bytes(const ReplyContext& with) {
    verdict.filter = &filter;
    std::string out;
    write_block_reply(out,
                      {.verdict = &verdict,
                       .url = url,
                       .host = host,
                       .page = &page,
                       .html = &BlockTemplate::built_in(),
                       .legal_link = legal_link,
                       .end = end},
                      with);
    return out;
  }
  Answer answer(const ReplyContext& with) { return read(bytes(with), with.method); }
};

// Nobody lists it, so no filter is named.
TEST(Denial, OfWhatIsOnNoWhiteListNamesNoFilter) {
  Blocked blocked;
  blocked.filter.name = "otherwise";
  blocked.verdict.reason = filter::VerdictReason::default_deny;
  blocked.verdict.expression.clear();
  const Answer page = blocked.answer(context("text/html"));
  EXPECT_NE(
      page.body.find("This network has stopped this page of <strong>bad.test</strong>. It is on none of the lists"),
      std::string::npos)
      << page.body;
  EXPECT_EQ(page.body.find("otherwise"), std::string::npos) << page.body;
  EXPECT_EQ(page.field("Proxy-Status"),
            "bloomwall; error=http_request_denied; details=\"default_deny; decision 0123456789ABCDEF\"");
  EXPECT_TRUE(
      blocked.bytes(context()).starts_with("HTTP/1.1 403 Blocked: on no white list, decision 0123456789ABCDEF\r\n"));
  EXPECT_EQ(blocked.answer(context({}, Method::connect)).body,
            "blocked: on no white list, decision 0123456789ABCDEF\n");
  EXPECT_NE(blocked.answer(context("application/json")).body.find(R"("reason":"default_deny")"), std::string::npos);
}

constexpr Instant kHour = 3600, kHalfPastNine = 784'114'200;  // 1994-11-06 09:30:00 UTC

// 1994-11-06 09:49 in Berlin.
ReplyContext in_berlin(std::string_view accept, Method method = Method::get) {
  ReplyContext with = context(accept, method);
  with.zone = TimeZone::find("Europe/Berlin").value();
  return with;
}

struct EndCase {
  const char *name, *language, *title;
};
class DenialUntil : public testing::TestWithParam<EndCase> {};

TEST_P(DenialUntil, SaysItInTheReadersLanguage) {
  Blocked blocked;
  blocked.verdict.reason = filter::VerdictReason::default_deny;
  blocked.end = {.at = kHalfPastNine, .schedule = "bedtime"};
  ReplyContext with = in_berlin("text/html");
  with.accept_language = GetParam().language;
  const Answer page = blocked.answer(with);
  EXPECT_NE(page.body.find(GetParam().title), std::string::npos) << page.body;
  const Language language = choose_language(GetParam().language);
  EXPECT_EQ(page.body.find(page_text(PageText::reason_default_deny, language)), std::string::npos);
  EXPECT_NE(page.body.find(html_text(PageText::reason_default_deny_now, language)), std::string::npos);
}

INSTANTIATE_TEST_SUITE_P(
    Languages, DenialUntil,
    testing::Values(EndCase{"English", "en", "<h1>This page is blocked until 10:30 (bedtime)</h1>"},
                    EndCase{"German", "de", "<h1>Diese Seite ist bis 10:30 (bedtime) gesperrt</h1>"},
                    EndCase{"French", "fr", "jusqu’à 10:30 (bedtime)</h1>"},
                    EndCase{"Spanish", "es", "hasta: 10:30 (bedtime)</h1>"},
                    EndCase{"Italian", "it", "fino a: 10:30 (bedtime)</h1>"},
                    EndCase{"Dutch", "nl", "tot 10:30 (bedtime)</h1>"},
                    EndCase{"Polish", "pl", "do 10:30 (bedtime)</h1>"},
                    EndCase{"Portuguese", "pt", "até: 10:30 (bedtime)</h1>"}),
    [](const auto& row) { return std::string(row.param.name); });

TEST(Denial, SaysItsEndToPeopleInLocalTimeAndToProgramsInUtc) {
  Blocked blocked;
  blocked.end = {.at = kHalfPastNine, .schedule = "bedtime"};
  const auto json = nlohmann::json::parse(blocked.answer(in_berlin("application/json")).body);
  EXPECT_EQ(json.at("until"), "1994-11-06T09:30:00Z");
  EXPECT_EQ(json.at("schedule"), "bedtime");
  EXPECT_TRUE(
      blocked.answer(in_berlin("text/plain")).body.starts_with("This page is blocked until 10:30 (bedtime).\n"));
  EXPECT_EQ(blocked.answer(in_berlin({}, Method::connect)).body,
            "blocked by filter malware until 10:30 (bedtime), decision 0123456789ABCDEF\n");
  blocked.end = {.at = kHalfPastNine + 24 * kHour, .schedule = {}};
  EXPECT_TRUE(
      blocked.answer(in_berlin("text/plain")).body.starts_with("This page is blocked until 1994-11-07 10:30.\n"));
  EXPECT_FALSE(nlohmann::json::parse(blocked.answer(in_berlin("application/json")).body).contains("schedule"));
  blocked.verdict.reason = filter::VerdictReason::default_deny;
  blocked.filter.name = "otherwise";
  EXPECT_EQ(blocked.answer(in_berlin({}, Method::connect)).body,
            "blocked until 1994-11-07 10:30, decision 0123456789ABCDEF\n");
  blocked.end = {};
  EXPECT_FALSE(nlohmann::json::parse(blocked.answer(in_berlin("application/json")).body).contains("until"));
}

TEST(Denial, NamesTheCategoryBeforeTheList) {
  Blocked blocked;
  blocked.filter.name = "hagezi-nsfw";
  blocked.filter.category = "adult";
  const Answer page = blocked.answer(context("text/html"));
  EXPECT_NE(page.body.find("The filter adult (hagezi-nsfw) of this network"), std::string::npos) << page.body;
  EXPECT_NE(page.body.find("<dd>adult (hagezi-nsfw)</dd>"), std::string::npos);
  const auto json = nlohmann::json::parse(blocked.answer(context("application/json")).body);
  EXPECT_EQ(json.at("filter"), "hagezi-nsfw");
  EXPECT_EQ(json.at("category"), "adult");
  EXPECT_NE(blocked.answer(context("text/plain")).body.find("Filter: adult (hagezi-nsfw)\n"), std::string::npos);
  EXPECT_EQ(filter_title("ads", ""), "ads");
  EXPECT_EQ(filter_title("ads", "ads"), "ads");
}

TEST(ErrorReply, OfASiteNamesItsHost) {
  for (const ErrorKind kind : {ErrorKind::dns_error, ErrorKind::connect_timeout, ErrorKind::destination_denied}) {
    ReplyContext with = context("text/html");
    with.host = "shop.test";
    EXPECT_NE(error(kind, with).body.find(": shop.test</h1>"), std::string::npos) << error(kind, with).body;
    with.accept = "application/json";
    EXPECT_EQ(nlohmann::json::parse(error(kind, with).body).at("host"), "shop.test");
    with.accept = "text/plain";
    EXPECT_NE(error(kind, with).body.find("; host shop.test"), std::string::npos);
    with.host = "<b>\r\n\"";
    with.accept = "text/html";
    EXPECT_EQ(error(kind, with).body.find("<b>"), std::string::npos);
    with.accept = "application/json";
    EXPECT_EQ(nlohmann::json::parse(error(kind, with).body).at("host"), with.host);
  }
  ReplyContext with = context("application/json");
  with.host = "shop.test";
  EXPECT_FALSE(nlohmann::json::parse(error(ErrorKind::bad_request, with).body).contains("host"));
}

TEST(Denial, IsAPageWithEverythingAPersonNeeds) {
  Blocked blocked;
  blocked.page.contact = "helpdesk@example.com";
  blocked.page.report_url = "https://help.example/report?id={id}&url={url}";
  const Answer answer = blocked.answer(context("text/html"));
  EXPECT_EQ(answer.status, 403);
  EXPECT_EQ(answer.field("Content-Type"), "text/html; charset=utf-8");
  EXPECT_EQ(answer.field("Cache-Control"), "no-store");
  EXPECT_EQ(answer.field("Proxy-Status"),
            "bloomwall; error=http_request_denied; details=\"filter malware: listed; decision 0123456789ABCDEF\"");
  EXPECT_NE(answer.field("Content-Security-Policy").find("default-src 'none'"), std::string::npos);
  for (const std::string_view part :
       {"http://bad.test/a?b", "bad.test", "malware", "bad.test/a", "0123456789ABCDEF", "1994-11-06T08:49:37.000Z",
        ">1994-11-06 08:49:37 (UTC)<", "helpdesk@example.com", "href=\"mailto:helpdesk@example.com\"",
        "href=\"https://help.example/report?id=0123456789ABCDEF&amp;url=http%3A%2F%2Fbad.test%2Fa%3Fb\"",
        "This page is blocked", "on this filter&#39;s list"}) {
    EXPECT_NE(answer.body.find(part), std::string::npos) << part;
  }
  EXPECT_EQ(answer.body.find("{{"), std::string::npos);
  EXPECT_EQ(answer.body.find("legal reasons"), std::string::npos);
}

TEST(Denial, SaysInItsStatusLineWhichFilterItWas) {
  Blocked blocked;
  EXPECT_TRUE(
      blocked.bytes(context()).starts_with("HTTP/1.1 403 Blocked by filter malware, decision 0123456789ABCDEF\r\n"));
  EXPECT_TRUE(blocked.bytes(context({}, Method::connect))
                  .starts_with("HTTP/1.1 403 Blocked by filter malware, decision 0123456789ABCDEF\r\n"));
  blocked.filter.name = "evil\r\nSet-Cookie: a=b\x80" + std::string(1000, 'x');
  const std::string head = blocked.bytes(context());
  EXPECT_TRUE(head.starts_with("HTTP/1.1 403 Blocked by filter evil__Set-Cookie:_a=b_")) << head.substr(0, 200);
  EXPECT_LT(head.find("\r\n"), 150U);
}

TEST(Denial, IsShortForWhoAsksForNoPage) {
  Blocked blocked;
  for (const std::string_view accept : {"*/*", "image/avif,image/webp,*/*;q=0.8", "text/css,*/*;q=0.1"}) {
    const Answer answer = blocked.answer(context(accept));
    EXPECT_EQ(answer.field("Content-Type"), "text/plain; charset=utf-8") << accept;
    EXPECT_LT(answer.body.size(), 300U);
    EXPECT_NE(answer.body.find("malware"), std::string::npos);
  }
}

TEST(Denial, LeavesOutWhatIsNotConfigured) {
  Blocked blocked;
  const Answer answer = blocked.answer(context("text/html"));
  EXPECT_EQ(answer.body.find("href="), std::string::npos);
  EXPECT_EQ(answer.body.find("Contact"), std::string::npos);
}

TEST(Denial, ForLegalReasonsNamesWhoDemandedIt) {
  Blocked blocked;
  blocked.filter.status = 451;
  blocked.legal_link = "https://court.example/order?a=1&b=2";
  const Answer answer = blocked.answer(context("text/html"));
  EXPECT_EQ(answer.status, 451);
  EXPECT_EQ(answer.field("Link"), "<https://court.example/order?a=1&b=2>; rel=\"blocked-by\"");
  EXPECT_NE(answer.body.find("href=\"https://court.example/order?a=1&amp;b=2\""), std::string::npos);
  blocked.legal_link = "javascript:alert(1)";
  EXPECT_EQ(blocked.answer(context()).field("Link"), "");
  blocked.filter.status = 403;
  blocked.legal_link = "https://court.example/";
  EXPECT_EQ(blocked.answer(context()).field("Link"), "");
}

TEST(Denial, AsJson) {
  Blocked blocked;
  blocked.url = "http://bad.test/\"\\\x01\xff";
  const Answer answer = blocked.answer(context("application/json"));
  EXPECT_EQ(answer.field("Content-Type"), "application/json");
  const auto json = nlohmann::json::parse(answer.body);
  EXPECT_EQ(json["error"], "blocked");
  EXPECT_EQ(json["status"], 403);
  EXPECT_EQ(json["host"], "bad.test");
  EXPECT_EQ(json["filter"], "malware");
  EXPECT_EQ(json["reason"], "listed");
  EXPECT_EQ(json["decision_id"], "0123456789ABCDEF");
  EXPECT_EQ(json["expression"], "bad.test/a");
  EXPECT_FALSE(json.contains("contact"));
}

TEST(Denial, AsText) {
  Blocked blocked;
  const Answer answer = blocked.answer(context("text/plain"));
  EXPECT_EQ(answer.field("Content-Type"), "text/plain; charset=utf-8");
  EXPECT_EQ(
      answer.body,
      "This page is blocked.\n\nAddress: http://bad.test/a?b\nFilter: malware\nReason: Its address is on this filter's "
      "list.\nDecision: 0123456789ABCDEF\n");
}

TEST(Denial, OfConnectIsOneLine) {
  Blocked blocked;
  blocked.url = "bad.test:443";
  const Answer answer = blocked.answer(context("text/html", Method::connect));
  EXPECT_EQ(answer.body, "blocked by filter malware, decision 0123456789ABCDEF\n");
}

TEST(Denial, OfHeadHasNoBody) {
  Blocked blocked;
  EXPECT_TRUE(blocked.bytes(context({}, Method::head)).ends_with("\r\n\r\n"));
}

TEST(Denial, NothingForeignBecomesMarkupOrAField) {
  const std::string_view attacks[] = {"http://bad.test/<script>alert(1)</script>\"'><img/src=x>",
                                      "http://bad.test/\r\nSet-Cookie: evil=1\r\n\r\n<b>",
                                      "http://bad.test/{{report_link}}",
                                      "javascript:alert(1)//bad.test",
                                      "http://bad.test/\" onmouseover=alert(1) x=\"",
                                      "http://bad.test/</title><svg/onload=alert(2)>"};
  for (const std::string_view attack : attacks) {
    for (const std::string_view accept : {"text/html", "application/json", "text/plain"}) {
      Blocked blocked;
      blocked.url = attack;
      blocked.host = attack;
      blocked.verdict.expression = attack;
      blocked.page.report_url = "https://help.example/?u={url}";
      // Plain text says what the operator wrote as it is, which may be "Helpdesk <help@example.com>", within its line.
      const std::string_view by_operator = accept == "text/plain" ? "<b>a\r\nb" : attack;
      blocked.filter.name = std::string(by_operator);
      blocked.page.contact = std::string(by_operator);
      Answer answer = blocked.answer(context(accept));
      EXPECT_EQ(answer.field("Set-Cookie"), "");
      if (accept == "application/json") continue;
      if (accept == "text/plain") {
        EXPECT_EQ(std::ranges::count(answer.body, '\n'), 8) << answer.body;
        EXPECT_EQ(answer.body.find('\r'), std::string::npos) << answer.body;
        for (const char* line : {"\nFilter: <b>a\\x0D\\x0Ab\n", "\nContact: <b>a\\x0D\\x0Ab\n"}) {
          const auto at = answer.body.find(line);
          ASSERT_NE(at, std::string::npos) << answer.body;
          answer.body.erase(at, std::string_view(line).size() - 1);
        }
      }
      for (const std::string_view sign :
           {"<script>", "<img/src", "<b>", "<svg/onload", "\" onmouseover", "\"javascript:"}) {
        EXPECT_EQ(answer.body.find(sign), std::string::npos) << attack;
      }
    }
  }
}

TEST(ReportLink, EncodesWhatItFillsIn) {
  EXPECT_EQ(report_link("https://h.example/?i={id}&u={url}&again={id}", "A1", "http://x/?a=1&b=\"<\r\n"),
            "https://h.example/?i=A1&u=http%3A%2F%2Fx%2F%3Fa%3D1%26b%3D%22%3C%0D%0A&again=A1");
  EXPECT_EQ(report_link("mailto:help@example.com?subject={id}", "A1", ""), "mailto:help@example.com?subject=A1");
  EXPECT_EQ(report_link("javascript:alert({id})", "A1", ""), "");
  EXPECT_EQ(report_link("https://h.example/ {id}", "A1", ""), "");
  EXPECT_EQ(report_link("https://h.example/{what}", "A1", ""), "");
  EXPECT_EQ(report_link("", "A1", ""), "");
}

TEST(ReasonSentence, EveryReasonHasOne) {
  for (int reason = 0; reason <= static_cast<int>(filter::VerdictReason::bad_url); ++reason) {
    EXPECT_FALSE(reason_sentence(static_cast<filter::VerdictReason>(reason), Language::en).empty());
  }
}

// ---- Max-Forwards: 0

TEST(TraceReply, EchoesTheRequestWithoutCredentials) {
  RequestReader reader(kReplyLimits);
  run(reader, {std::string_view("TRACE http://a/x HTTP/1.1\r\nHost: a\r\nMax-Forwards: 0\r\nCookie: sid=s3cret\r\n"
                                "Authorization: Basic eA==\r\nProxy-Authorization: Basic eA==\r\nX: y\r\n\r\n")});
  std::string out;
  write_trace_reply(out, reader.head(), context({}, Method::trace));
  const Answer answer = read(out, Method::trace);
  EXPECT_EQ(answer.status, 200);
  EXPECT_EQ(answer.field("Content-Type"), "message/http");
  EXPECT_EQ(answer.body, "TRACE http://a/x HTTP/1.1\r\nHost: a\r\nMax-Forwards: 0\r\nX: y\r\n\r\n");
}

TEST(OptionsReply, SaysWhatIsAllowed) {
  std::string out;
  write_options_reply(out, context({}, Method::options));
  const Answer answer = read(out, Method::options);
  EXPECT_EQ(answer.status, 200);
  EXPECT_EQ(answer.field("Allow"), "GET, HEAD, POST, PUT, DELETE, PATCH, OPTIONS, TRACE, CONNECT");
  EXPECT_EQ(answer.field("Content-Length"), "0");
}

}  // namespace
}  // namespace bloomwall::proxy::http_test
