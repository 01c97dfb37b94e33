// SPDX-License-Identifier: Apache-2.0
#include "proxy/tls/client_hello.h"

#include <gtest/gtest.h>

#include <ostream>
#include <string>
#include <string_view>
#include <vector>

#include "tests/proxy/tls/hello_maker.h"

namespace bloomwall::proxy::http_test {
namespace {

using namespace std::string_literals;
using namespace std::string_view_literals;

const std::string kGrease = extension(0x1a1a, "");
const std::string kKeyShare = extension(51, std::string(1200, 'k'));  // as large as post-quantum ones
const std::string kEch = extension(0xfe0d, std::string(200, 'e'));

struct HelloCase {
  std::string_view name;
  std::string bytes;
  HelloResult result;
  std::string_view server = {};
};
void PrintTo(const HelloCase& c, std::ostream* out) { *out << c.name; }

HelloResult feed(ClientHelloReader& reader, std::string_view piece) {
  const std::vector<char> exact(piece.begin(), piece.end());
  return reader.feed(exact);
}

class HelloRules : public ::testing::TestWithParam<HelloCase> {};

TEST_P(HelloRules, HoldHoweverItIsCut) {
  const HelloCase& c = GetParam();
  ClientHelloReader whole;
  EXPECT_EQ(feed(whole, c.bytes), c.result) << whole.why();
  EXPECT_EQ(whole.name(), c.server);
  const std::string_view bytes = c.bytes;
  for (std::size_t at = 1; at < bytes.size(); ++at) {
    ClientHelloReader reader;
    feed(reader, bytes.substr(0, at));
    feed(reader, bytes.substr(at));
    ASSERT_EQ(reader.result(), c.result) << at;
    ASSERT_EQ(reader.name(), c.server);
    ASSERT_STREQ(reader.why(), whole.why());
  }
  ClientHelloReader octets;
  for (std::size_t at = 0; at < bytes.size(); ++at) feed(octets, bytes.substr(at, 1));
  EXPECT_EQ(octets.result(), c.result);
  EXPECT_EQ(octets.name(), c.server);
}

INSTANTIATE_TEST_SUITE_P(
    Understood, HelloRules,
    ::testing::Values(
        HelloCase{"PlainName", client_hello(server_name("a.test")), HelloResult::name, "a.test"},
        HelloCase{"NameAmongOthers", client_hello(kGrease + kKeyShare + server_name("a.test") + kEch),
                  HelloResult::name, "a.test"},
        HelloCase{"SpellingIsKept", client_hello(server_name("BLOCKED.Test.")), HelloResult::name, "BLOCKED.Test."},
        HelloCase{"AddressLiteral", client_hello(server_name("2001:db8::1")), HelloResult::name, "2001:db8::1"},
        HelloCase{"SeveralRecords", client_hello(kKeyShare + server_name("a.test"), 64), HelloResult::name, "a.test"},
        HelloCase{"OneOctetRecords", client_hello(server_name("a.test"), 1), HelloResult::name, "a.test"},
        HelloCase{"NoServerName", client_hello(kGrease + kKeyShare), HelloResult::no_name},
        HelloCase{"EncryptedHelloWithoutOuterName", client_hello(kEch), HelloResult::no_name},
        HelloCase{"NoExtensionsAtAll",
                  records(handshake("\x03\x01" + std::string(32, 'r') + vector_of(1, "") + vector_of(2, "\x13\x01") +
                                    vector_of(1, "\x01"))),
                  HelloResult::no_name},
        HelloCase{"EmptyExtensions", client_hello(""), HelloResult::no_name},
        HelloCase{"BytesAfterItsRecordDoNotCount", client_hello(server_name("a.test")) + "\x17\x03\x03\x00\x01x"s,
                  HelloResult::name, "a.test"},
        HelloCase{"NotTls", "SSH-2.0-x\r\n", HelloResult::not_tls},
        HelloCase{"Http", "GET / HTTP/1.1\r\n", HelloResult::not_tls},
        HelloCase{"TheFirstOctetAboveTlsRecords", "\x19\x03\x01\x00\x01x"s, HelloResult::not_tls},
        HelloCase{"TheFirstOctetBelowTlsRecords", "\x13\x03\x01\x00\x01x"s, HelloResult::not_tls},
        HelloCase{"LengthsLikeSslv2AndNoHello", "\x80\x2e\x02\x03\x01"s, HelloResult::not_tls},
        HelloCase{"HelloLikeSslv2OfNoVersion", "\x80\x2e\x01\x05\x01"s, HelloResult::not_tls},
        HelloCase{"BeginningLikeSslv2", "\x80\x2e\x01"s, HelloResult::need_more},
        HelloCase{"OnlyTheFirstOctet", "\x16", HelloResult::need_more},
        HelloCase{"HalfAHello", client_hello(server_name("a.test")).substr(0, 60), HelloResult::need_more}),
    [](const auto& param) { return std::string(param.param.name); });

INSTANTIATE_TEST_SUITE_P(
    Malformed, HelloRules,
    ::testing::Values(
        HelloCase{"Sslv2HelloOfTls", "\x80\x2e\x01\x03\x01"s, HelloResult::sslv2},
        HelloCase{"Sslv2HelloOfSslv2", "\x80\x2e\x01\x00\x02"s, HelloResult::sslv2},
        HelloCase{"ChangeCipherSpecFirst", "\x14\x03\x01\x00\x01\x01"s + client_hello(server_name("a.test")),
                  HelloResult::malformed},
        HelloCase{"AlertFirst", "\x15\x03\x01\x00\x02\x01\x5a"s + client_hello(server_name("a.test")),
                  HelloResult::malformed},
        HelloCase{"ApplicationDataFirst", "\x17\x03\x01\x00\x01x"s + client_hello(server_name("a.test")),
                  HelloResult::malformed},
        HelloCase{"HeartbeatFirst", "\x18\x03\x01\x00\x03\x01\x00\x00"s + client_hello(server_name("a.test")),
                  HelloResult::malformed},
        HelloCase{"EmptyRecordInTheMiddle",
                  client_hello(server_name("a.test"), 64).substr(0, 69) + "\x16\x03\x01\x00\x00"s,
                  HelloResult::malformed},
        HelloCase{"HelloRequestFirst", records(handshake("", 0)) + client_hello(server_name("a.test")),
                  HelloResult::malformed},
        HelloCase{"RecordOfVersion2", "\x16\x02\x00\x00\x05hello"s, HelloResult::malformed},
        HelloCase{"EmptyRecord", "\x16\x03\x01\x00\x00"s, HelloResult::malformed},
        HelloCase{"OversizedRecord", "\x16\x03\x01\x40\x01"s, HelloResult::malformed},
        HelloCase{"ServerHello", records(handshake(hello_body(""), 2)), HelloResult::malformed},
        HelloCase{"HelloOver64KiB", "\x16\x03\x01\x00\x04\x01\x01\x00\x01"s, HelloResult::malformed},
        HelloCase{"AlertInTheMiddle",
                  client_hello(server_name("a.test"), 64).substr(0, 69) + "\x15\x03\x01\x00\x02\x01\x00"s,
                  HelloResult::malformed},
        HelloCase{"SecondMessageInItsRecord", records(handshake(hello_body(server_name("a.test"))) + handshake("x", 3)),
                  HelloResult::malformed},
        HelloCase{"TwoNames", client_hello(server_name({{0, "ok.test"}, {0, "blocked.test"}})), HelloResult::malformed},
        HelloCase{"UnknownNameType", client_hello(server_name({{1, "ok.test"}})), HelloResult::malformed},
        HelloCase{"NameAndUnknownType", client_hello(server_name({{0, "ok.test"}, {1, "blocked.test"}})),
                  HelloResult::malformed},
        HelloCase{"TwoServerNameExtensions", client_hello(server_name("ok.test") + server_name("blocked.test")),
                  HelloResult::malformed},
        HelloCase{"AnyExtensionTwice", client_hello(server_name("ok.test") + kEch + kEch), HelloResult::malformed},
        HelloCase{"EmptyName", client_hello(server_name("")), HelloResult::malformed},
        HelloCase{"EmptyNameList", client_hello(extension(0, vector_of(2, ""))), HelloResult::malformed},
        HelloCase{"EmptyServerNameExtension", client_hello(extension(0, "")), HelloResult::malformed},
        HelloCase{"NulInName", client_hello(server_name("ok.test\0.blocked.test"s)), HelloResult::malformed},
        HelloCase{"SpaceInName", client_hello(server_name("ok test")), HelloResult::malformed},
        HelloCase{"NameAboveAscii",
                  client_hello(server_name("b\xc3\xbc"
                                           "cher.test")),
                  HelloResult::malformed},
        HelloCase{"ListLongerThanExtension", client_hello(extension(0, "\x00\xff\x00\x00\x01x"s)),
                  HelloResult::malformed},
        HelloCase{"ListShorterThanExtension", client_hello(extension(0, vector_of(2, "\x00\x00\x01x"s) + "y")),
                  HelloResult::malformed},
        HelloCase{"ExtensionLongerThanHello", client_hello("\x00\x05\xff\xff"s), HelloResult::malformed},
        HelloCase{"OctetsBehindExtensions", records(handshake(hello_body(server_name("a.test")) + "x")),
                  HelloResult::malformed},
        HelloCase{"OddCipherSuites", records(handshake(hello_body("", "\x13\x01\x13"))), HelloResult::malformed},
        HelloCase{"NoCipherSuites", records(handshake(hello_body("", ""))), HelloResult::malformed},
        HelloCase{"Truncated", records(handshake("\x03\x03" + std::string(20, 'r'))), HelloResult::malformed},
        HelloCase{"Version4", records(handshake("\x04\x03" + hello_body("").substr(2))), HelloResult::malformed}),
    [](const auto& param) { return std::string(param.param.name); });

TEST(UnknownRecordPeek, KnowsARecordFromOtherProtocols) {
  using Result = UnknownRecordPeek::Result;
  const auto result_of = [](std::string_view bytes) {
    UnknownRecordPeek whole, octets;
    const Result result = whole.feed(bytes);
    Result last = Result::undecided;
    for (const char& c : bytes) last = octets.feed({&c, 1});
    EXPECT_EQ(last, result) << bytes;
    return result;
  };
  const std::string hello = client_hello(server_name("a.test"));
  for (const int type : {0, 1, 4, 5, 0x13, 0x19, 0x1a, 0x47, 0x63, 0x80, 0xff}) {
    for (const std::string_view version : {std::string_view("\x03\x00", 2), std::string_view("\x03\x03")}) {
      const std::string record = static_cast<char>(type) + std::string(version) + "\x00\x01x"s;
      EXPECT_EQ(result_of(record + hello), Result::record) << type;
    }
  }
  for (const std::string_view socks : {"\x05\x03\x00\x01\x02"sv, "\x05\x03\x00"sv}) {
    EXPECT_EQ(result_of(socks), Result::undecided) << "three methods";
  }
  for (const std::string_view text :
       {"GET / HTTP/1.1\r\n"sv, "\x05\x01\x00"sv, "\x03\x00\x00\x13"sv, "\x04\x01\x00\x50"sv}) {
    EXPECT_EQ(result_of(text), Result::other) << text;
  }
  EXPECT_EQ(result_of("x"), Result::undecided);
}

std::string alpn(const std::vector<std::string>& protocols) {
  std::string list;
  for (const std::string& protocol : protocols) list += vector_of(1, protocol);
  return extension(16, vector_of(2, list));
}
std::string versions(std::string_view list) { return extension(43, vector_of(1, list)); }

TEST(HelloFacts, AreThoseOfTheHello) {
  const struct {
    const char* what;
    std::string extensions;
    std::size_t protocols;
    bool has_alpn, http1, http2, ech;
    int version;
  } rows[] = {
      {"nothing", "", 0, false, false, false, false, 0x0303},
      {"browser", alpn({"h2", "http/1.1"}) + kEch + versions("\x5a\x5a\x03\x04\x03\x03"), 2, true, true, true, true,
       0x0304},
      {"h2 alone", alpn({"h2"}) + versions("\x03\x04"), 1, true, false, true, false, 0x0304},
      {"http/1.1 alone", alpn({"http/1.1"}), 1, true, true, false, false, 0x0303},
      {"others", alpn({"imap", "http/1.0", "h2c"}), 3, true, false, false, false, 0x0303},
      {"GREASE among them", alpn({"\x0a\x0a", "http/1.1"}), 2, true, true, false, false, 0x0303},
      {"an empty list", extension(16, vector_of(2, "")), 0, true, false, false, false, 0x0303},
      {"an empty protocol", alpn({"", "http/1.1"}), 0, true, false, false, false, 0x0303},
      {"a protocol that is cut", extension(16, vector_of(2, "\x08http/1.")), 0, true, false, false, false, 0x0303},
      {"octets behind the list", extension(16, vector_of(2, vector_of(1, "h2")) + "x"), 0, true, false, false, false,
       0x0303},
      {"no list", extension(16, ""), 0, true, false, false, false, 0x0303},
      {"old versions", versions("\x03\x01\x03\x02"), 0, false, false, false, false, 0x0302},
      {"nothing but GREASE", versions("\x0a\x0a"), 0, false, false, false, false, 0},
      {"no GREASE, though like it", versions("\x03\x03\x1a\x2a"), 0, false, false, false, false, 0x1a2a},
      {"an odd list", versions("\x03\x04\x03"), 0, false, false, false, false, 0x0303},
      {"a list too long", extension(43, "\x04\x03\x04"), 0, false, false, false, false, 0x0303},
  };
  for (const auto& row : rows) {
    for (const bool named : {true, false}) {
      ClientHelloReader reader;
      const auto result = feed(reader, client_hello(row.extensions + (named ? server_name("a.test") : "")));
      ASSERT_EQ(result, named ? HelloResult::name : HelloResult::no_name) << row.what;
      const HelloFacts& facts = reader.facts();
      EXPECT_EQ(facts.protocols(), row.protocols) << row.what;
      EXPECT_EQ(facts.has_alpn, row.has_alpn) << row.what;
      EXPECT_EQ(facts.offers("http/1.1"), row.http1) << row.what;
      EXPECT_EQ(facts.offers("h2"), row.http2) << row.what;
      EXPECT_EQ(facts.has_ech, row.ech) << row.what;
      EXPECT_EQ(facts.highest_version, row.version) << row.what;
      EXPECT_FALSE(facts.offers_early_data);
    }
  }
  ClientHelloReader broken;
  feed(broken, client_hello(alpn({"h2"}) + kEch + kEch));
  EXPECT_EQ(broken.result(), HelloResult::malformed);
  EXPECT_TRUE(broken.facts().alpn.empty() && !broken.facts().has_ech && broken.facts().highest_version == 0);
}

TEST(ClientHelloReader, HoldsNothingOfAHelloThatWasRead) {
  ClientHelloReader reader;
  const std::string hello = client_hello(extension(0x4000, std::string(30'000, 'x')) + server_name("a.test"));
  feed(reader, std::string_view(hello).substr(0, 20'000));
  EXPECT_GE(reader.memory(), 19'000U);
  feed(reader, std::string_view(hello).substr(20'000));
  EXPECT_EQ(reader.name(), "a.test");
  EXPECT_LT(reader.memory(), 256U);
}

TEST(ClientHelloReader, TakesAHelloOfAlmost64KiB) {
  std::string extensions;
  for (std::uint16_t type = 0x4000; extensions.size() < 60000; ++type)
    extensions += extension(type, std::string(1000, 'x'));
  ClientHelloReader reader;
  EXPECT_EQ(feed(reader, client_hello(extensions + server_name("a.test"))), HelloResult::name);
  EXPECT_EQ(reader.name(), "a.test");
}

TEST(ClientHelloReader, BoundsAHelloInTinyRecords) {
  const std::string bytes = client_hello(extension(0x4000, std::string(30000, 'x')) + server_name("a.test"), 1);
  ClientHelloReader reader;
  EXPECT_EQ(feed(reader, bytes), HelloResult::malformed);
}

TEST(ClientHelloReader, IgnoresBytesAfterItsResult) {
  ClientHelloReader reader;
  feed(reader, client_hello(server_name("a.test")));
  EXPECT_EQ(feed(reader, client_hello(server_name("b.test"))), HelloResult::name);
  EXPECT_EQ(reader.name(), "a.test");
}

}  // namespace
}  // namespace bloomwall::proxy::http_test
