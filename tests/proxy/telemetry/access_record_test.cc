// SPDX-License-Identifier: Apache-2.0
#include "proxy/telemetry/access_record.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

namespace bloomwall::proxy::http_test {
namespace {

using namespace std::chrono_literals;
using Format = conf::AccessLog::Format;

const TimePoint kStart = TimePoint(std::chrono::seconds(1'714'566'896) + 789ms);  // 2024-05-01T12:34:56.789Z

AccessRecord allowed() {
  return {.start = kStart,
          .duration = 12'345us,
          .dns = 250us,
          .connect = 1'500us,
          .client = "192.0.2.7",
          .client_port = 50000,
          .listener = "127.0.0.1:3128",
          .method = "GET",
          .url = "http://a.test/x?secret=1",
          .host = "a.test",
          .status = 200,
          .bytes_sent = 1234,
          .bytes_received = 321,
          .content_type = "text/html; charset=utf-8",
          .referer = "http://b.test/?r=2",
          .user_agent = "curl/8",
          .peer = "198.51.100.9:80"};
}
AccessRecord blocked() {
  return {.start = kStart,
          .duration = 90us,
          .client = "2001:db8::7",
          .client_port = 1,
          .method = "CONNECT",
          .url = "bad.test:443",
          .host = "bad.test",
          .status = 403,
          .bytes_sent = 99,
          .tunnel = true,
          .decision = filter::Decision::blocked,
          .reason = filter::VerdictReason::listed,
          .filter = "malware",
          .expression = "bad.test",
          .decision_id = "0123456789ABCDEF"};
}
std::string line(const AccessRecord& record, Format format, bool strip = false) {
  std::string out;
  append_line(out, record, {format, strip});
  return out;
}

TEST(AccessRecord, SquidLinesAreThoseAnalysersKnow) {
  EXPECT_EQ(line(allowed(), Format::squid),
            "1714566896.801     12 192.0.2.7 TCP_MISS/200 1234 GET http://a.test/x?secret=1 - "
            "HIER_DIRECT/198.51.100.9 text/html\n");
  EXPECT_EQ(line(blocked(), Format::squid),
            "1714566896.789      0 2001:db8::7 TCP_DENIED/403 99 CONNECT bad.test:443 - HIER_NONE/- - "
            "filter:malware 0123456789ABCDEF\n");
  EXPECT_EQ(line({.start = kStart, .client = "192.0.2.7", .status = 400}, Format::squid),
            "1714566896.789      0 192.0.2.7 NONE_NONE/400 0 - - - HIER_NONE/- -\n");
}

TEST(AccessRecord, SquidTagsFollowTheOutcome) {
  const auto tag = [](AccessRecord record) {
    const std::string text = line(record, Format::squid);
    const std::size_t begin = text.find(record.client) + record.client.size() + 1;
    return text.substr(begin, text.find(' ', begin) - begin);
  };
  AccessRecord record = allowed();
  EXPECT_EQ(tag(record), "TCP_MISS/200");
  record.status = 403;
  EXPECT_EQ(tag(record), "TCP_MISS/403") << "the origin's own refusal is no denial of ours";
  record.peer = {};
  EXPECT_EQ(tag(record), "TCP_DENIED/403");
  record.status = 502;
  EXPECT_EQ(tag(record), "NONE_NONE/502");
  record = allowed();
  record.tunnel = true;
  EXPECT_EQ(tag(record), "TCP_TUNNEL/200");
  record.peer_is_parent = true;
  EXPECT_NE(line(record, Format::squid).find("FIRSTUP_PARENT/"), std::string::npos);
  record.refused = true;
  for (const int status : {400, 403, 408}) {
    record.status = status;
    EXPECT_EQ(tag(record), "TCP_DENIED/" + std::to_string(status)) << "a tunnel that was dialled, and then refused";
  }
  record = allowed();
  record.tunnel = true;
  record.status = 403;
  record.decision = filter::Decision::blocked;
  EXPECT_EQ(tag(record), "TCP_DENIED/403") << "by its server name, once it was dialled";
  AccessRecord stranger{.start = kStart, .client = "192.0.2.7", .status = 403, .refused = true};
  EXPECT_EQ(tag(stranger), "TCP_DENIED/403") << "nothing was read of its request";
  stranger.status = 0;
  EXPECT_EQ(tag(stranger), "TCP_DENIED/000");
}

TEST(AccessRecord, CombinedLines) {
  EXPECT_EQ(line(allowed(), Format::combined),
            "192.0.2.7 - - [01/May/2024:12:34:56 +0000] \"GET http://a.test/x?secret=1 HTTP/1.1\" 200 1234 "
            "\"http://b.test/?r=2\" \"curl/8\" TCP_MISS:HIER_DIRECT\n");
  AccessRecord empty{.start = kStart, .client = "192.0.2.7", .http10 = true};
  EXPECT_EQ(line(empty, Format::combined),
            "192.0.2.7 - - [01/May/2024:12:34:56 +0000] \"- - HTTP/1.0\" 000 0 \"-\" \"-\" NONE_NONE:HIER_NONE\n");
}

TEST(AccessRecord, TheUserStandsWhereEachFormatHasIt) {
  AccessRecord record = allowed();
  record.user = "d\xc3\xb6rte \"x\" [y";
  EXPECT_NE(line(record, Format::json).find(",\"user\":\"d\\u00F6rte \\\"x\\\" [y\","), std::string::npos)
      << line(record, Format::json);
  EXPECT_TRUE(line(record, Format::combined).starts_with("192.0.2.7 - d%C3%B6rte%20%22x%22%20[y ["))
      << line(record, Format::combined);
  EXPECT_NE(line(record, Format::squid).find(" d%C3%B6rte%20%22x%22%20[y HIER_DIRECT/"), std::string::npos)
      << line(record, Format::squid);
  record = {.start = kStart, .client = "192.0.2.7", .status = 407, .refused = true};
  EXPECT_NE(line(record, Format::squid).find("TCP_DENIED/407"), std::string::npos);
}

// Two words behind what readers of these formats know, and only where there is something to look up.
TEST(AccessRecord, WhatDecidedAndItsIdStandInEveryFormat) {
  AccessRecord denied = allowed();
  denied.status = 403;
  denied.peer = {};
  denied.error = "destination_denied";
  denied.refused = true;
  denied.decision_id = "0123456789ABCDEF";
  AccessRecord failed = allowed();
  failed.status = 502;
  failed.error = "dns_error";
  for (const Format format : {Format::combined, Format::squid}) {
    EXPECT_TRUE(line(blocked(), format).ends_with(" filter:malware 0123456789ABCDEF\n")) << line(blocked(), format);
    EXPECT_TRUE(line(denied, format).ends_with(" error:destination_denied 0123456789ABCDEF\n"));
    EXPECT_TRUE(line(failed, format).ends_with(" error:dns_error -\n")) << line(failed, format);
    EXPECT_EQ(line(allowed(), format).find("error:"), std::string::npos);
  }
}

TEST(AccessRecord, JsonHoldsEveryField) {
  const auto json = nlohmann::json::parse(line(allowed(), Format::json));
  EXPECT_EQ(json["start_time"], "2024-05-01T12:34:56.789Z");
  EXPECT_EQ(json["inbound_remote_addr"], "192.0.2.7:50000");
  EXPECT_EQ(json["listener"], "127.0.0.1:3128");
  EXPECT_EQ(json["proxy_type"], "http");
  EXPECT_EQ(json["method"], "GET");
  EXPECT_EQ(json["url"], "http://a.test/x?secret=1");
  EXPECT_EQ(json["requested_host"], "a.test");
  EXPECT_EQ(json["status"], 200);
  EXPECT_EQ(json["allow"], true);
  EXPECT_EQ(json["decision"], "allowed");
  EXPECT_EQ(json["decision_reason"], "unlisted");
  EXPECT_EQ(json["outbound_remote_addr"], "198.51.100.9:80");
  EXPECT_EQ(json["bytes_sent"], 1234);
  EXPECT_EQ(json["bytes_received"], 321);
  EXPECT_EQ(json["duration_ms"], 12.345);
  EXPECT_EQ(json["dns_lookup_time_ms"], 0.25);
  EXPECT_EQ(json["conn_establish_time_ms"], 1.5);
  EXPECT_EQ(json["content_type"], "text/html; charset=utf-8");
  EXPECT_EQ(json["referer"], "http://b.test/?r=2");
  EXPECT_EQ(json["user_agent"], "curl/8");
  EXPECT_FALSE(json.contains("id"));
  EXPECT_FALSE(json.contains("enforce_would_deny"));
}

TEST(AccessRecord, JsonOfADenialAndOfAMonitoredRequest) {
  AccessRecord record = blocked();
  auto json = nlohmann::json::parse(line(record, Format::json));
  EXPECT_EQ(json["inbound_remote_addr"], "[2001:db8::7]:1");
  EXPECT_EQ(json["proxy_type"], "connect");
  EXPECT_EQ(json["allow"], false);
  EXPECT_EQ(json["decision"], "blocked");
  EXPECT_EQ(json["decision_reason"], "listed");
  EXPECT_EQ(json["filter"], "malware");
  EXPECT_EQ(json["expression"], "bad.test");
  EXPECT_EQ(json["id"], "0123456789ABCDEF");
  record.decision = filter::Decision::monitored;
  json = nlohmann::json::parse(line(record, Format::json));
  EXPECT_EQ(json["allow"], true);
  EXPECT_EQ(json["enforce_would_deny"], true);
}

TEST(AccessRecord, JsonOfAnException) {
  AccessRecord record = blocked();
  record.exception = 7;
  EXPECT_NE(line(record, Format::json).find(R"("exception_id":7,"exception":7,)"), std::string::npos)
      << "the old name, too";
  EXPECT_EQ(line(blocked(), Format::json).find("exception"), std::string::npos);
}

TEST(AccessRecord, JsonOfAnErrorAndOfASni) {
  AccessRecord record = blocked();
  record.sni = "other.test";
  record.error = "connection_refused";
  record.detail = "tried \"all\"";
  record.reused = true;
  const auto json = nlohmann::json::parse(line(record, Format::json));
  EXPECT_EQ(json["sni"], "other.test");
  EXPECT_EQ(json["error"], "connection_refused");
  EXPECT_EQ(json["error_detail"], "tried \"all\"");
  EXPECT_EQ(json["reused"], true);
}

TEST(AccessRecord, ARequestTheProxyRefusedWasNotAllowed) {
  AccessRecord record = allowed();
  record.error = "port_denied";
  record.status = 403;
  record.refused = true;
  auto json = nlohmann::json::parse(line(record, Format::json));
  EXPECT_EQ(json["allow"], false);
  EXPECT_EQ(json["decision"], "refused");
  EXPECT_EQ(json["decision_reason"], "port_denied");
  record.decision = filter::Decision::rejected;
  record.reason = filter::VerdictReason::bad_url;
  EXPECT_EQ(nlohmann::json::parse(line(record, Format::json))["decision"], "rejected");
  record = allowed();
  record.error = "connection_refused";
  record.status = 502;
  json = nlohmann::json::parse(line(record, Format::json));
  EXPECT_EQ(json["allow"], true);
  EXPECT_EQ(json["decision"], "allowed");
  record.error = "response_incomplete";
  record.status = 404;
  EXPECT_EQ(nlohmann::json::parse(line(record, Format::json))["decision"], "allowed") << "the origin's own refusal";
}

TEST(AccessRecord, QueriesCanBeLeftOut) {
  for (const Format format : {Format::json, Format::combined, Format::squid}) {
    const std::string text = line(allowed(), format, true);
    EXPECT_NE(text.find("http://a.test/x?"), std::string::npos);
    EXPECT_EQ(text.find("secret"), std::string::npos);
    EXPECT_EQ(text.find("r=2"), std::string::npos);
  }
  AccessRecord record = blocked();
  record.expression = "bad.test/x?secret=1";
  EXPECT_EQ(nlohmann::json::parse(line(record, Format::json, true))["expression"], "bad.test/x?")
      << "an entry with a query";
}

TEST(AccessRecord, NothingForeignBreaksALineOrReachesATerminal) {
  std::string nasty;
  for (int c = 0; c < 256; ++c) nasty.push_back(static_cast<char>(c));
  AccessRecord record = allowed();
  record.method = record.url = record.host = record.referer = record.user_agent = record.content_type = nasty;
  record.sni = record.expression = record.peer = record.client = nasty;
  for (const Format format : {Format::json, Format::combined, Format::squid}) {
    const std::string text = line(record, format);
    EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 1);
    EXPECT_TRUE(std::all_of(text.begin(), text.end() - 1, [](char c) { return c >= 0x20 && c < 0x7f; })) << text;
  }
  EXPECT_TRUE(nlohmann::json::accept(line(record, Format::json)));
  const std::string combined = line(record, Format::combined);
  EXPECT_EQ(std::count(combined.begin(), combined.end(), '"'), 6) << combined;
  const std::string squid = line(record, Format::squid);
  record = allowed();
  const std::string usual = line(record, Format::squid);
  EXPECT_EQ(std::count(squid.begin(), squid.end(), ' '), std::count(usual.begin(), usual.end(), ' ')) << squid;
}

TEST(AccessRecord, LengthsAreBounded) {
  const std::string huge(1 << 20, 'a');
  AccessRecord record = allowed();
  record.method = record.url = record.host = record.referer = record.user_agent = record.expression = huge;
  for (const Format format : {Format::json, Format::combined, Format::squid})
    EXPECT_LT(line(record, format).size(), 20'000U);
}

TEST(AccessRecord, BothSidesOfInterceptedTls) {
  AccessRecord record = allowed();
  EXPECT_EQ(line(record, Format::json).find("tls_"), std::string::npos) << "nothing to say";
  record.tls_action = "intercepted";
  record.tls_reason = "mark";
  record.tls_client = "1.2";
  record.tls_origin = "1.3";
  record.tls_client_resumed = true;
  record.tls_origin_alert = 40;
  record.tls_error = "expired";
  EXPECT_NE(line(record, Format::json)
                .find(R"("tls_action":"intercepted","tls_reason":"mark","tls_client":"1.2","tls_origin":"1.3",)"
                      R"("tls_client_resumed":true,"tls_origin_alert":40,"tls_error":"expired",)"),
            std::string::npos)
      << line(record, Format::json);
}

// Every text as long as it can be, and each octet one that takes the most room.
AccessRecord longest(const std::string& text) {
  AccessRecord record = blocked();
  record.user = record.method = record.url = record.host = record.sni = record.dialled_as = record.content_type = text;
  record.referer = record.user_agent = record.peer = record.filter = record.group = record.expression = text;
  record.listener = record.tls_error = record.error = record.detail = record.trace_id = record.tunnel_id = text;
  return record;
}

TEST(AccessRecord, MarksWhatWasCut) {
  const std::string begin = "http://a.test/", whole = begin + std::string(8192 - begin.size(), 'a');
  AccessRecord record = allowed();
  record.url = whole;
  EXPECT_EQ(line(record, Format::json).find("url_cut"), std::string::npos);
  EXPECT_EQ(line(record, Format::squid).find("..."), std::string::npos);
  const std::string longer = whole + "b";
  record.url = longer;
  const auto json = nlohmann::json::parse(line(record, Format::json));
  EXPECT_EQ(json["url"], whole);
  EXPECT_TRUE(json["url_cut"]);
  EXPECT_FALSE(json.contains("referer_cut"));
  for (const Format format : {Format::squid, Format::combined}) {
    EXPECT_NE(line(record, format).find("aaa... "), std::string::npos);
  }
}

TEST(AccessRecord, CutsNeitherCharactersNorEscapes) {
  for (const std::string_view character : {"\xc3\xa4", "\xe2\x82\xac", "\xf0\x9f\x98\x80", "%C3"}) {
    for (std::size_t before = 0; before < 5; ++before) {
      std::string url = "http://a.test/" + std::string(before, 'a');
      while (url.size() < 9000) url += character;
      AccessRecord record = allowed();
      record.url = url;
      const auto json = nlohmann::json::parse(line(record, Format::json));
      const std::string shown = json["url"];
      EXPECT_TRUE(json["url_cut"]);
      EXPECT_LE(shown.size(), 8192U);
      EXPECT_GT(shown.size(), 8192U - 4);
      EXPECT_TRUE(shown.ends_with(character)) << shown.substr(shown.size() - 8);
      EXPECT_EQ(url.substr(0, shown.size()), shown);
    }
  }
}

TEST(AccessRecord, IsAsShortAsItsReaderTakes) {
  constexpr std::size_t kMost = 8000;
  for (const std::string& text : {std::string(20'000, 'a'), std::string(20'000, '\x01'), std::string(20'000, '"')}) {
    const AccessRecord record = longest(text);
    for (const Format format : {Format::json, Format::combined, Format::squid}) {
      std::string out = "before ";
      append_line(out, record, {.format = format, .most = kMost});
      EXPECT_LE(out.size(), kMost + 7);
      EXPECT_TRUE(out.starts_with("before ") && out.ends_with('\n'));
      if (format != Format::json) continue;
      const auto json = nlohmann::json::parse(out.substr(7));
      EXPECT_TRUE(json["url_cut"]);
      EXPECT_EQ(json["id"], "0123456789ABCDEF");
    }
  }
  std::string whole;
  append_line(whole, allowed(), {.format = Format::json, .most = kMost});
  EXPECT_EQ(whole, line(allowed(), Format::json)) << "what is short stays as it is";
}

}  // namespace
}  // namespace bloomwall::proxy::http_test
