// SPDX-License-Identifier: Apache-2.0
#include "proxy/access/target_check.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <ostream>
#include <string>
#include <string_view>
#include <vector>

#include "tests/filter/policy/policy_maker.h"
#include "tests/proxy/http/transcript.h"

namespace bloomwall::proxy::http_test {
namespace {

const HeadLimits kTargetLimits;

// One policy for all rows: making filter files is the slow part.
const filter::Policy& policy() {
  static const filter::PolicyMaker made(
      {{.name = "bad", .entries = {"S blocked.test", "D mixed.test/bad/", "X 192.0.2.66", "X [2001:db8::66]"}},
       {.name = "watch", .entries = {"S watched.test"}, .action = filter::FilterAction::monitor}},
      "good.blocked.test\n");
  return *made.policy;
}

std::string target_text(const CheckedTarget& checked) {
  std::string out = filter::PolicyMaker::say(checked.verdict);
  switch (checked.route) {
    case Route::forward:
      out += " -> ";
      break;
    case Route::tunnel:
      out += " => ";
      break;
    case Route::answer_trace:
      out += " trace ";
      break;
    case Route::answer_options:
      out += " options ";
      break;
  }
  return out.append(checked.host).append(":").append(std::to_string(checked.port));
}

struct TargetCase {
  std::string_view name;
  std::string_view request_line;
  std::string_view want;
  TargetRules rules = {};
  std::string_view fields = "Host: x\r\n";
};
void PrintTo(const TargetCase& c, std::ostream* out) { *out << c.name; }

class Judged : public ::testing::TestWithParam<TargetCase> {};

TEST_P(Judged, AsTheRulesSay) {
  const TargetCase& c = GetParam();
  RequestReader reader(kTargetLimits);
  const Transcript t = run(reader, {std::string(c.request_line) + "\r\n" + std::string(c.fields) + "\r\n"});
  ASSERT_EQ(t.events.find("error"), std::string::npos) << t.events;
  const AccessRules access = *AccessRules::build({});
  TargetCheck judge(c.rules);
  const auto judged = judge.request(reader.head(), policy(), access);
  EXPECT_EQ(judged ? target_text(*judged) : error_text(judged.error()), c.want);
}

const TargetRules kStrict{.strict_path = true};
const TargetRules kTransparent{.accept_origin_form = true};
const TargetRules kNamed{.via_name = "wall"};

INSTANTIATE_TEST_SUITE_P(
    Forwarded, Judged,
    ::testing::Values(
        TargetCase{"PlainHost", "GET http://a.test/x HTTP/1.1", "allowed unlisted -> a.test:80"},
        TargetCase{"PortOfTheTarget", "GET http://a.test:8080/ HTTP/1.1", "allowed unlisted -> a.test:8080"},
        TargetCase{"CanonicalHost", "GET HTTP://A.Test.:080/ HTTP/1.1", "allowed unlisted -> a.test:80"},
        TargetCase{"Blocked", "GET http://blocked.test/x HTTP/1.1",
                   "blocked listed bad S blocked.test -> blocked.test:80"},
        TargetCase{"BlockedSubdomain", "GET http://w.blocked.test/ HTTP/1.1",
                   "blocked listed bad S blocked.test -> w.blocked.test:80"},
        TargetCase{"AllowListed", "GET http://good.blocked.test/ HTTP/1.1",
                   "allowed allow_list S good.blocked.test -> good.blocked.test:80"},
        TargetCase{"BlockedInDisguise", "GET http://BLOCKED.test.:80/ HTTP/1.1",
                   "blocked listed bad S blocked.test -> blocked.test:80"},
        TargetCase{"BlockedAddress", "GET http://192.0.2.66/ HTTP/1.1",
                   "blocked listed bad X 192.0.2.66 -> 192.0.2.66:80"},
        TargetCase{"BlockedAddressSpeltOddly", "GET http://0300.0.0x242/ HTTP/1.1",
                   "blocked listed bad X 192.0.2.66 -> 192.0.2.66:80"},
        TargetCase{"BlockedIpv6", "GET http://[2001:DB8:0::66]/ HTTP/1.1",
                   "blocked listed bad X [2001:db8::66] -> [2001:db8::66]:80"},
        TargetCase{"BlockedDirectory", "GET http://mixed.test/bad/x HTTP/1.1",
                   "blocked listed bad D mixed.test/bad/ -> mixed.test:80"},
        TargetCase{"BesideTheDirectory", "GET http://mixed.test/good HTTP/1.1", "allowed unlisted -> mixed.test:80"},
        TargetCase{"DotSegments", "GET http://mixed.test/good/../bad/x HTTP/1.1",
                   "blocked listed bad D mixed.test/bad/ -> mixed.test:80"},
        TargetCase{"EscapedPath", "GET http://mixed.test/%62ad/x HTTP/1.1",
                   "blocked listed bad D mixed.test/bad/ -> mixed.test:80"},
        TargetCase{"HostFieldDoesNotDecide",
                   "GET http://blocked.test/ HTTP/1.1",
                   "blocked listed bad S blocked.test -> blocked.test:80",
                   {},
                   "Host: a.test\r\n"},
        TargetCase{"Monitored", "GET http://watched.test/ HTTP/1.1",
                   "monitored listed watch S watched.test -> watched.test:80"},
        TargetCase{"AmbiguousPathIsJudgedInAllForms", "GET http://mixed.test/x/..%2fbad/y HTTP/1.1",
                   "blocked listed bad D mixed.test/bad/ -> mixed.test:80"}),
    [](const auto& param) { return std::string(param.param.name); });

INSTANTIATE_TEST_SUITE_P(
    Refused, Judged,
    ::testing::Values(
        TargetCase{"Userinfo", "GET http://a.test@blocked.test/ HTTP/1.1", "error bad_target 400\n"},
        TargetCase{"AddressThatIsNone", "GET http://1.2.3.256/ HTTP/1.1", "error bad_target 400\n"},
        TargetCase{"EscapedSeparator", "GET http://a%2ftest/ HTTP/1.1", "error bad_target 400\n"},
        TargetCase{"Https", "GET https://a.test/ HTTP/1.1", "error not_implemented 501\n"},
        TargetCase{"Ftp", "GET ftp://a.test/ HTTP/1.1", "error not_implemented 501\n"},
        TargetCase{"Gopher", "GET gopher://a.test/ HTTP/1.1", "error not_implemented 501\n"},
        TargetCase{"OriginForm", "GET /x HTTP/1.1", "error misdirected 421\n", {}, "Host: blocked.test\r\n"},
        TargetCase{"StrictPath", "GET http://a.test/a%2fb/..%2fc HTTP/1.1", "error ambiguous_path 400\n", kStrict},
        TargetCase{"StrictPathThatIsPlain", "GET http://a.test/a/b HTTP/1.1", "allowed unlisted -> a.test:80", kStrict},
        TargetCase{"ViaNamesUsAgainAndAgain", "GET http://a.test/ HTTP/1.1", "error loop 502\n", kNamed,
                   "Host: x\r\nVia: 1.1 wall, 1.1 WALL (x)\r\nVia: 1.1 other, 1.0 wall, HTTP/1.1 wall\r\n"},
        TargetCase{"ViaNamesUsInAChain", "GET http://a.test/ HTTP/1.1", "allowed unlisted -> a.test:80", kNamed,
                   "Host: x\r\nVia: 1.1 wall, 1.1 wall\r\nVia: 1.0 wall, 1.1 wallet, wall\r\n"}),
    [](const auto& param) { return std::string(param.param.name); });

INSTANTIATE_TEST_SUITE_P(
    Connect, Judged,
    ::testing::Values(TargetCase{"Allowed", "CONNECT a.test:443 HTTP/1.1", "allowed unlisted => a.test:443"},
                      TargetCase{"Blocked", "CONNECT blocked.test:443 HTTP/1.1",
                                 "blocked listed bad S blocked.test => blocked.test:443"},
                      TargetCase{"BlockedInDisguise", "CONNECT BLOCKED.TEST.:443 HTTP/1.1",
                                 "blocked listed bad S blocked.test => blocked.test:443"},
                      TargetCase{"PathEntriesDoNotBlockTheHost", "CONNECT mixed.test:443 HTTP/1.1",
                                 "allowed unlisted => mixed.test:443"},
                      TargetCase{"PortOutsideTheRules", "CONNECT a.test:22 HTTP/1.1", "error port_denied 403\n"},
                      TargetCase{"BlockedOnAnyPort", "CONNECT blocked.test:22 HTTP/1.1",
                                 "blocked listed bad S blocked.test => blocked.test:22"},
                      TargetCase{"OddAddressIsDialledAsJudged", "CONNECT 0x7f.1:443 HTTP/1.1",
                                 "allowed unlisted => 127.0.0.1:443"},
                      TargetCase{"Ipv6", "CONNECT [2001:db8::66]:443 HTTP/1.1",
                                 "blocked listed bad X [2001:db8::66] => [2001:db8::66]:443"},
                      TargetCase{"OnATransparentListener", "CONNECT a.test:443 HTTP/1.1",
                                 "error method_not_allowed 405\n", kTransparent}),
    [](const auto& param) { return std::string(param.param.name); });

INSTANTIATE_TEST_SUITE_P(
    Transparent, Judged,
    ::testing::Values(
        TargetCase{"RoutedByHost", "GET /x HTTP/1.1", "allowed unlisted -> a.test:8080", kTransparent,
                   "Host: a.test:8080\r\n"},
        TargetCase{"JudgedByHost", "GET /x HTTP/1.1", "blocked listed bad S blocked.test -> blocked.test:80",
                   kTransparent, "Host: Blocked.test\r\n"},
        TargetCase{"PathCounts", "GET /bad/x HTTP/1.1", "blocked listed bad D mixed.test/bad/ -> mixed.test:80",
                   kTransparent, "Host: mixed.test\r\n"},
        TargetCase{"PathOfTwoSlashesIsNoAuthority", "GET //blocked.test/x HTTP/1.1", "allowed unlisted -> a.test:80",
                   kTransparent, "Host: a.test\r\n"},
        TargetCase{"WithoutHost", "GET /x HTTP/1.0", "error misdirected 421\n", kTransparent, ""},
        TargetCase{"Asterisk", "OPTIONS * HTTP/1.1", "allowed unlisted -> a.test:80", kTransparent, "Host: a.test\r\n"},
        TargetCase{"AbsoluteFormStillWorks", "GET http://blocked.test/ HTTP/1.1",
                   "blocked listed bad S blocked.test -> blocked.test:80", kTransparent, "Host: a.test\r\n"}),
    [](const auto& param) { return std::string(param.param.name); });

INSTANTIATE_TEST_SUITE_P(MaxForwards, Judged,
                         ::testing::Values(TargetCase{"TraceOfZero",
                                                      "TRACE http://a.test/ HTTP/1.1",
                                                      "allowed unlisted trace a.test:80",
                                                      {},
                                                      "Host: x\r\nMax-Forwards: 0\r\n"},
                                           TargetCase{"OptionsOfZero",
                                                      "OPTIONS http://a.test HTTP/1.1",
                                                      "allowed unlisted options a.test:80",
                                                      {},
                                                      "Host: x\r\nMax-Forwards: 00\r\n"},
                                           TargetCase{"OptionsOfOne",
                                                      "OPTIONS http://a.test HTTP/1.1",
                                                      "allowed unlisted -> a.test:80",
                                                      {},
                                                      "Host: x\r\nMax-Forwards: 1\r\n"},
                                           TargetCase{"GetOfZero",
                                                      "GET http://a.test/ HTTP/1.1",
                                                      "allowed unlisted -> a.test:80",
                                                      {},
                                                      "Host: x\r\nMax-Forwards: 0\r\n"},
                                           TargetCase{"BlockedAllTheSame",
                                                      "TRACE http://blocked.test/ HTTP/1.1",
                                                      "blocked listed bad S blocked.test trace blocked.test:80",
                                                      {},
                                                      "Host: x\r\nMax-Forwards: 0\r\n"},
                                           TargetCase{"AsteriskAsksAboutTheProxy", "OPTIONS * HTTP/1.1",
                                                      "allowed unlisted options :0"}),
                         [](const auto& param) { return std::string(param.param.name); });

TEST(TargetCheck, SaysHowAnotherSchemeIsAskedFor) {
  for (const auto& [scheme, by_connect] : {std::pair("https", true), std::pair("WSS", true), std::pair("ws", true),
                                           std::pair("ftp", false), std::pair("x-y", false)}) {
    RequestReader reader(kTargetLimits);
    run(reader, {std::string("GET ") + scheme + "://a.test/ HTTP/1.1\r\nHost: a.test\r\n\r\n"});
    const AccessRules access = *AccessRules::build({});
    TargetCheck judge(TargetRules{});
    const auto judged = judge.request(reader.head(), policy(), access);
    ASSERT_FALSE(judged);
    EXPECT_EQ(judged.error().detail.find("are asked for by CONNECT") != std::string_view::npos, by_connect) << scheme;
  }
}

// A request inside TLS that was made for one host.
TEST(TargetCheckInsideTls, HostMustBeTheTunnels) {
  struct Row {
    const char* line;
    const char* host;
    const char* expected;
  };
  constexpr Row kRows[] = {
      {"GET /good HTTP/1.1", "mixed.test", "mixed.test:443"},
      {"GET /good HTTP/1.1", "MIXED.test:443", "mixed.test:443"},
      {"GET /good HTTP/1.1", "mixed.test.", "mixed.test:443"},
      {"GET https://mixed.test/good HTTP/1.1", "mixed.test", "mixed.test:443"},
      {"GET /bad/x HTTP/1.1", "mixed.test", "blocked"},
      {"GET /%62ad/x HTTP/1.1", "mixed.test", "blocked"},
      {"GET https://mixed.test/bad/x HTTP/1.1", "mixed.test", "blocked"},
      {"GET / HTTP/1.1", "other.test", "misdirected"},
      {"GET / HTTP/1.1", "blocked.test", "blocked"},
      {"GET /bad/x HTTP/1.1", "other.test", "blocked"},  // it would be one, if the tunnel's host answered
      {"GET https://other.test/ HTTP/1.1", "other.test", "misdirected"},
      {"GET http://mixed.test/good HTTP/1.1", "mixed.test", "misdirected"},  // the origin would be asked in clear
      {"GET http://other.test/ HTTP/1.1", "other.test", "misdirected"},
      {"GET HTTP://blocked.test/ HTTP/1.1", "mixed.test", "blocked"},
      {"GET http://mixed.test/bad/x HTTP/1.1", "mixed.test", "blocked"},
      {"GET ftp://mixed.test/good HTTP/1.1", "mixed.test", "not_implemented"},
      {"CONNECT mixed.test:443 HTTP/1.1", "mixed.test:443", "method_not_allowed"},
  };
  TargetCheck judge{TargetRules{}};
  for (const Row& row : kRows) {
    RequestReader reader(kTargetLimits);
    run(reader, {std::string(row.line) + "\r\nHost: " + row.host + "\r\n\r\n"});
    const auto checked = judge.inside(reader.head(), {.host = "mixed.test", .port = 443, .scheme = Scheme::https},
                                      policy(), Waiting::blocking);
    std::string got;
    if (!checked) {
      got = to_string(checked.error().kind);
    } else if (checked->verdict.decision == filter::Decision::blocked) {
      got = "blocked";
    } else {
      got = std::string(checked->host) + ":" + std::to_string(checked->port);
    }
    EXPECT_EQ(got, row.expected) << row.line << " Host: " << row.host;
  }
}

// Networks, of an address that is about to be dialled for a request.
class SentTo : public ::testing::Test {
 protected:
  std::string say(std::string_view request_line, std::string_view to, std::string_view host = "x") {
    RequestReader reader(kTargetLimits);
    run(reader, {std::string(request_line) + "\r\nHost: " + std::string(host) + "\r\n\r\n"});
    return text(judge_.request_to(addresses(to), reader.head(), *made_.policy));
  }
  std::string say_inside(std::string_view tunnel, std::string_view request_line, std::string_view host) {
    RequestReader reader(kTargetLimits);
    run(reader, {std::string(request_line) + "\r\nHost: " + std::string(host) + "\r\n\r\n"});
    return text(judge_.inside_to(addresses("192.0.2.5"), reader.head(), {tunnel, 80}, *made_.policy));
  }
  // Separated by blanks.
  TargetCheck::Addresses addresses(std::string_view texts) {
    addresses_.clear();
    while (!texts.empty()) {
      const std::size_t end = std::min(texts.find(' '), texts.size());
      const auto address = filter::read_address(texts.substr(0, end));
      EXPECT_TRUE(address.has_value()) << texts;
      addresses_.push_back(address.value_or(IpAddress{}));
      texts.remove_prefix(std::min(end + 1, texts.size()));
    }
    return addresses_;
  }
  // What lets it pass is not the point here.
  static std::string text(const filter::Verdict& verdict) {
    return verdict.decision == filter::Decision::allowed ? "allowed" : filter::PolicyMaker::say(verdict);
  }

  static constexpr const char* kBlocked = "blocked delta bad N 192.0.2.0/24";
  const filter::PolicyMaker made_{
      {{.name = "bad", .entries = {"S blocked.test"}, .changes = "+N 192.0.2.0/24\n+N 2001:db8::/32\n"}},
      "free.test\nhttp://mixed.test/free/\n192.0.2.128/25\n"};
  TargetCheck judge_{TargetRules{}};
  std::vector<IpAddress> addresses_;
};

TEST_F(SentTo, ABlockedNetworkIsDeniedWhateverLeadsThere) {
  EXPECT_EQ(say("GET http://a.test/x HTTP/1.1", "192.0.2.5"), kBlocked);
  EXPECT_EQ(say("CONNECT a.test:443 HTTP/1.1", "192.0.2.5"), kBlocked);
  EXPECT_EQ(say("GET /x HTTP/1.1", "192.0.2.5", "a.test"), kBlocked);
  EXPECT_EQ(say("OPTIONS * HTTP/1.1", "192.0.2.5", "a.test:81"), kBlocked);
  EXPECT_EQ(say("GET http://a.test/ HTTP/1.1", "::ffff:192.0.2.5"), kBlocked);
  EXPECT_EQ(say("GET http://a.test/ HTTP/1.1", "2001:db8::7"), "blocked delta bad N [2001:db8::]/32");
  EXPECT_EQ(say("GET http://a.test/ HTTP/1.1", "2001:db9:: 192.0.2.5"), kBlocked) << "the worst over all";
  EXPECT_EQ(say("GET http://a.test/ HTTP/1.1", "192.0.3.0"), "allowed");
  EXPECT_EQ(say("GET http://blocked.test/ HTTP/1.1", "192.0.3.0"), "allowed") << "hosts are another question";
}

TEST_F(SentTo, AllowEntriesFreeTheAddress) {
  EXPECT_EQ(say("GET http://free.test/x HTTP/1.1", "192.0.2.5"), "allowed");
  EXPECT_EQ(say("CONNECT www.free.test:443 HTTP/1.1", "192.0.2.5"), "allowed");
  EXPECT_EQ(say("GET http://mixed.test/free/x HTTP/1.1", "192.0.2.5"), "allowed");
  EXPECT_EQ(say("GET /free/x HTTP/1.1", "192.0.2.5", "mixed.test"), "allowed");
  EXPECT_EQ(say("GET http://mixed.test/other HTTP/1.1", "192.0.2.5"), kBlocked);
  EXPECT_EQ(say("CONNECT mixed.test:443 HTTP/1.1", "192.0.2.5"), kBlocked) << "no URL is known";
  EXPECT_EQ(say("GET http://a.test/ HTTP/1.1", "192.0.2.200"), "allowed") << "a range of the allow list";
}

TEST_F(SentTo, InsideATunnelBothHostsNeedAPass) {
  EXPECT_EQ(say_inside("free.test", "GET /x HTTP/1.1", "free.test"), "allowed");
  EXPECT_EQ(say_inside("free.test", "GET /x HTTP/1.1", "a.test"), kBlocked);
  EXPECT_EQ(say_inside("a.test", "GET /x HTTP/1.1", "free.test"), kBlocked);
  EXPECT_EQ(say_inside("free.test", "GET http://a.test/x HTTP/1.1", "free.test"), kBlocked);
  EXPECT_EQ(say_inside("mixed.test", "GET /free/x HTTP/1.1", "mixed.test"), "allowed");
}

TEST_F(SentTo, WhatWasLetInBeforeIsAskedByItsHostOrUrl) {
  const filter::Policy& policy = *made_.policy;
  EXPECT_EQ(text(judge_.host_to(addresses("192.0.2.5"), "a.test", policy)), kBlocked);
  EXPECT_EQ(text(judge_.host_to(addresses("192.0.2.5"), "free.test", policy)), "allowed");
  EXPECT_EQ(text(judge_.url_to(addresses("192.0.2.5"), "http://mixed.test/free/x", policy)), "allowed");
  EXPECT_EQ(text(judge_.url_to(addresses("192.0.2.5"), "http://mixed.test/x", policy)), kBlocked);
  EXPECT_EQ(judge_.url_to(addresses("192.0.3.0"), "http://u@a.test/", policy).decision, filter::Decision::rejected);
}

TEST(SniCheck, IsAboutTheHostAlone) {
  TargetCheck judge({});
  const auto say = [&](std::string_view name) {
    const auto sni = judge.sni(name, policy());
    return sni ? filter::PolicyMaker::say(sni->verdict) + " " + std::string(sni->host) : error_text(sni.error());
  };
  EXPECT_EQ(say("a.test"), "allowed unlisted a.test");
  EXPECT_EQ(say("Blocked.TEST."), "blocked listed bad S blocked.test blocked.test");
  EXPECT_EQ(say("w.blocked.test"), "blocked listed bad S blocked.test w.blocked.test");
  EXPECT_EQ(say("mixed.test"), "allowed unlisted mixed.test");
  EXPECT_EQ(say("192.0.2.66"), "blocked listed bad X 192.0.2.66 192.0.2.66");
  EXPECT_EQ(say("2001:db8::66"), "blocked listed bad X [2001:db8::66] [2001:db8::66]");
  EXPECT_EQ(say("[2001:db8::66]"), "error bad_target 400\n");
  EXPECT_EQ(say("a.test:443"), "error bad_target 400\n");
  EXPECT_EQ(say("a/b"), "error bad_target 400\n");
}

TEST(SniCheck, KnowsWhenUrlEntriesCouldNotBeAsked) {
  TargetCheck judge({});
  EXPECT_TRUE(judge.sni("mixed.test", policy())->verdict.host_has_marks);
  EXPECT_FALSE(judge.sni("a.test", policy())->verdict.host_has_marks);
}

TEST(CheckedTarget, GivesTheHostFieldThePortTheTargetGave) {
  RequestReader reader(kTargetLimits);
  const AccessRules access = *AccessRules::build({});
  TargetCheck judge({});
  run(reader, {std::string_view("GET http://a.test/ HTTP/1.1\r\nHost: x\r\n\r\n")});
  EXPECT_EQ(judge.request(reader.head(), policy(), access)->host_field_port, 0);
  reader.next();
  run(reader, {std::string_view("GET http://a.test:80/ HTTP/1.1\r\nHost: x\r\n\r\n")});
  EXPECT_EQ(judge.request(reader.head(), policy(), access)->host_field_port, 80);
}

TEST(DisplayUrl, IsWhatAPersonKnowsTheRequestBy) {
  const auto shown = [](std::string_view request) {
    RequestReader reader(kTargetLimits);
    run(reader, {request});
    std::string out;
    append_display_url(out, reader.head());
    return out;
  };
  EXPECT_EQ(shown("GET http://u:secret@A.test:81?q HTTP/1.1\r\nHost: x\r\n\r\n"), "http://A.test:81/?q");
  EXPECT_EQ(shown("GET http://a.test HTTP/1.1\r\nHost: x\r\n\r\n"), "http://a.test/");
  EXPECT_EQ(shown("CONNECT a.test:443 HTTP/1.1\r\nHost: x\r\n\r\n"), "a.test:443");
  EXPECT_EQ(shown("GET /x?y HTTP/1.1\r\nHost: a.test:81\r\n\r\n"), "http://a.test:81/x?y");
  EXPECT_EQ(shown("GET /x HTTP/1.0\r\n\r\n"), "/x");
  EXPECT_EQ(shown("OPTIONS * HTTP/1.1\r\nHost: a.test\r\n\r\n"), "http://a.test");
}

}  // namespace
}  // namespace bloomwall::proxy::http_test
