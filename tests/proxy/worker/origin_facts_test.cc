// SPDX-License-Identifier: Apache-2.0
#include "proxy/upstream/origin_facts.h"

#include <gtest/gtest.h>

#include <string>

namespace bloomwall::proxy {
namespace {

constexpr std::string_view kBoth = "\x02h2\x08http/1.1", kHttp2 = "\x02h2", kHttp1 = "\x08http/1.1";

struct Known {
  bool wants_certificate, lacks_http;
};
Known known(const OriginFacts& facts, std::string_view host, std::uint16_t port, std::string_view offer,
            OriginFacts::Clock::time_point now) {
  TlsRequest request;
  request.port = port;
  request.hello = TlsHello{.has_alpn = true, .alpn_to_origin = offer};
  facts.fill(request, host, now);
  return {request.origin_wants_certificate, request.origin_lacks_http};
}

TEST(OriginFactsOfHttp, AreOfWhatWasOffered) {
  OriginFacts facts;
  const auto now = OriginFacts::Clock::now();
  facts.note_no_http("a.test", 443, kHttp2, now);
  EXPECT_TRUE(known(facts, "a.test", 443, kHttp2, now).lacks_http);
  EXPECT_FALSE(known(facts, "a.test", 443, kBoth, now).lacks_http)
      << "a client that offers HTTP/2 alone speaks for itself";
  EXPECT_FALSE(known(facts, "a.test", 443, kHttp1, now).lacks_http);
  EXPECT_FALSE(known(facts, "a.test", 444, kHttp2, now).lacks_http);
  EXPECT_FALSE(known(facts, "b.test", 443, kHttp2, now).lacks_http);
  EXPECT_FALSE(known(facts, "a.test", 443, kHttp2, now).wants_certificate);
}

TEST(OriginFactsOfHttp, AnOriginThatWantsHttp11LacksNothing) {
  OriginFacts facts;
  const auto now = OriginFacts::Clock::now();
  facts.note_http11("a.test", 443, now);
  EXPECT_TRUE(facts.wants_http11("a.test", 443, now));
  EXPECT_FALSE(facts.wants_http11("a.test", 444, now));
  EXPECT_FALSE(facts.wants_http11("b.test", 443, now));
  EXPECT_FALSE(facts.wants_http11("a.test", 443, now + OriginFacts::kKeep));
  EXPECT_FALSE(known(facts, "a.test", 443, kBoth, now).lacks_http);
  EXPECT_FALSE(known(facts, "a.test", 443, kBoth, now).wants_certificate);
}

TEST(OriginFactsOfHttp, StandBesideClientCertificatesAndEndInTheirTime) {
  OriginFacts facts;
  const auto now = OriginFacts::Clock::now();
  facts.note_client_certificate("a.test", 443, now);
  facts.note_no_http("a.test", 443, kBoth, now);
  EXPECT_TRUE(known(facts, "a.test", 443, kHttp1, now).wants_certificate);
  EXPECT_TRUE(known(facts, "a.test", 443, kBoth, now).wants_certificate);
  EXPECT_TRUE(known(facts, "a.test", 443, kBoth, now).lacks_http);
  const auto late = now + OriginFacts::kKeep;
  EXPECT_FALSE(known(facts, "a.test", 443, kBoth, late).wants_certificate);
  EXPECT_FALSE(known(facts, "a.test", 443, kBoth, late).lacks_http);
}

TEST(OriginFactsOfHttp, AreForgottenOldestFirst) {
  OriginFacts facts;
  const auto now = OriginFacts::Clock::now();
  for (std::size_t i = 0; i <= OriginFacts::kMost; ++i) {
    facts.note_client_certificate("h" + std::to_string(i), 443, now);
  }
  EXPECT_FALSE(known(facts, "h0", 443, kHttp1, now).wants_certificate);
  EXPECT_TRUE(known(facts, "h1", 443, kHttp1, now).wants_certificate);
}

}  // namespace
}  // namespace bloomwall::proxy
