// SPDX-License-Identifier: Apache-2.0
#include "proxy/http/after_hello.h"

#include <gtest/gtest.h>

#include <ostream>
#include <string>
#include <string_view>
#include <vector>

#include "tests/proxy/http/hello_maker.h"

namespace bloomwall::proxy::testing {
namespace {

using namespace std::string_literals;
using Result = AfterHello::Result;

const std::string kCipherSpec = "\x14\x03\x03\x00\x01\x01"s;
const std::string kAlert = "\x15\x03\x03\x00\x02\x01\x5a"s;
const std::string kData = "\x17\x03\x03\x00\x04"s + "data";
const std::string kEarly = extension(42, "");
const std::string kFirst = server_name("a.test");

std::string hello(std::string_view name, std::size_t record = 16384) { return client_hello(server_name(name), record); }
std::string many(const std::string& record, unsigned count) {
  std::string out;
  for (unsigned i = 0; i < count; ++i) out += record;
  return out;
}

struct Case {
  std::string_view name;
  std::string bytes;
  Result result;
  std::string first = kFirst;  // extensions of the first hello
  bool answer_is_readable = false;
};
void PrintTo(const Case& c, std::ostream* out) { *out << c.name; }

class AfterHelloRules : public ::testing::TestWithParam<Case> {};

TEST_P(AfterHelloRules, HoldHoweverItIsCut) {
  const Case& c = GetParam();
  ClientHelloReader reader;
  reader.feed(client_hello(c.first));
  AfterHello whole(reader);
  AfterHello octets(reader);
  if (!c.answer_is_readable) {
    whole.on_unreadable_answer();
    octets.on_unreadable_answer();
  }
  EXPECT_EQ(whole.feed(c.bytes), c.result) << whole.why();
  Result last = Result::relay;
  for (std::size_t at = 0; at < c.bytes.size() && last != Result::done && last != Result::malformed; ++at) {
    const std::vector<char> exact{c.bytes[at]};
    last = octets.feed(exact);
  }
  EXPECT_EQ(last, c.result);
  EXPECT_STREQ(octets.why(), whole.why());
}

INSTANTIATE_TEST_SUITE_P(
    Rules, AfterHelloRules,
    ::testing::Values(
        Case{"Nothing", "", Result::relay}, Case{"ChangeCipherSpecAlone", kCipherSpec, Result::relay},
        Case{"HandshakeOfTls13", kCipherSpec + kData, Result::done}, Case{"NoCompatibilityMode", kData, Result::done},
        Case{"KeyExchangeOfTls12", records(handshake("key", 16)), Result::done},
        Case{"CertificateOfTls12", records(handshake("certificate", 11)), Result::done},
        Case{"FinishedOfAResumedTls12", kCipherSpec + "\x16\x03\x03\x00\x28"s + std::string(40, 'f'), Result::done},
        Case{"FinishedThatBeginsLikeAHello", kCipherSpec + "\x16\x03\x03\x00\x28\x01"s + std::string(39, 'f'),
             Result::done},
        Case{"FinishedThatBeginsMoreLikeAHello", kCipherSpec + "\x16\x03\x03\x00\x28\x01\x00"s + std::string(38, 'f'),
             Result::done},
        Case{"SameHelloAgain", hello("a.test"), Result::relay},
        Case{"SameHelloBehindChangeCipherSpec", kCipherSpec + hello("a.test"), Result::relay},
        Case{"SameHelloThenData", kCipherSpec + hello("a.test") + kData, Result::done},
        Case{"AnotherName", hello("b.test"), Result::malformed},
        Case{"AnotherNameBehindChangeCipherSpec", kCipherSpec + hello("b.test"), Result::malformed},
        Case{"AnotherNameBehindManyOfThem", many(kCipherSpec, 20) + hello("b.test"), Result::malformed},
        Case{"AnotherNameBehindAlerts", many(kAlert, 3) + hello("b.test"), Result::malformed},
        Case{"AnotherNameInTinyRecords", kCipherSpec + hello("b.test", 1), Result::malformed},
        Case{"AnotherNameInSmallRecords", hello("b.test", 7), Result::malformed},
        Case{"AnotherNameInAThirdHello", hello("a.test") + kCipherSpec + hello("b.test"), Result::malformed},
        Case{"NoNameAnyMore", client_hello(""), Result::malformed},
        Case{"ANameWhereThereWasNone", hello("a.test"), Result::malformed, ""},
        Case{"NoNameTwice", client_hello("") + kData, Result::done, ""},
        Case{"HalfASecondHello", hello("b.test").substr(0, 40), Result::wait},
        Case{"OneOctetOfIt", "\x16", Result::wait},
        Case{"HelloOver64KiB", "\x16\x03\x01\x00\x04\x01\x01\x00\x01"s, Result::malformed},
        Case{"HelloOver64KiBBehindChangeCipherSpec", kCipherSpec + "\x16\x03\x01\x00\x05\x01\x01\x00\x01\x03"s,
             Result::malformed},
        Case{"AlertInsideIt", hello("b.test", 3).substr(0, 8) + kAlert, Result::malformed},
        Case{"AnotherProtocol", "GET / HTTP/1.1\r\n", Result::done},
        Case{"RecordOfVersion2", "\x14\x02\x03\x00\x01\x01"s, Result::malformed},
        Case{"UnknownRecordType", "\x1a\x03\x03\x00\x01\x01"s, Result::malformed},
        Case{"OversizedRecord", "\x14\x03\x03\x49\x00\x01"s, Result::malformed},
        Case{"RecordsWithoutEnd", many(kCipherSpec, AfterHello::kMostSkipped + 1), Result::malformed},
        Case{"EarlyData", kCipherSpec + many(kData, 200), Result::relay, kFirst + kEarly},
        Case{"AnotherNameBehindEarlyData", kCipherSpec + kData + hello("b.test"), Result::malformed, kFirst + kEarly},
        Case{"SameHelloBehindEarlyData", kData + hello("a.test"), Result::relay, kFirst + kEarly}),
    [](const auto& param) { return std::string(param.param.name); });

// The server has said nothing yet, or has asked for another hello.
INSTANTIATE_TEST_SUITE_P(
    Unanswered, AfterHelloRules,
    ::testing::Values(
        Case{"ChangeCipherSpecAlone", kCipherSpec, Result::relay, kFirst, true},
        Case{"AlertAlone", kAlert, Result::relay, kFirst, true},
        Case{"SameHelloBehindChangeCipherSpec", kCipherSpec + hello("a.test"), Result::relay, kFirst, true},
        Case{"EarlyData", kCipherSpec + many(kData, 200), Result::relay, kFirst + kEarly, true},
        Case{"SameHelloBehindEarlyData", kData + hello("a.test"), Result::relay, kFirst + kEarly, true},
        Case{"HalfASecondHello", hello("b.test").substr(0, 40), Result::wait, kFirst, true},
        Case{"AnotherName", hello("b.test"), Result::malformed, kFirst, true},
        Case{"Data", kData + hello("b.test"), Result::malformed, kFirst, true},
        Case{"DataBehindChangeCipherSpec", kCipherSpec + kData, Result::malformed, kFirst, true},
        Case{"EmptyData", "\x17\x03\x03\x00\x00"s, Result::malformed, kFirst, true},
        Case{"HelloRequest", records(handshake("", 0)) + hello("b.test"), Result::malformed, kFirst, true},
        Case{"KeyUpdate", records(handshake("\x00"s, 24)), Result::malformed, kFirst, true},
        Case{"HelloRequestBehindChangeCipherSpec", kCipherSpec + records(handshake("", 0)), Result::malformed, kFirst,
             true},
        Case{"KeyExchange", records(handshake("key", 16)), Result::malformed, kFirst, true},
        Case{"AnotherProtocol", "GET / HTTP/1.1\r\n", Result::malformed, kFirst, true},
        Case{"UnknownRecordType", "\x63\x03\x03\x00\x01\x01"s, Result::malformed, kFirst, true}),
    [](const auto& param) { return std::string(param.param.name); });

std::string server_hello(std::string_view random) {
  return records(handshake("\x03\x03" + std::string(random) + "rest", 2));
}

TEST(RetryPeek, KnowsAServerHelloFromARequestForAnotherHello) {
  const std::string retry =
      "\xcf\x21\xad\x74\xe5\x9a\x61\x11\xbe\x1d\x8c\x02\x1e\x65\xb8\x91\xc2\xa2\x11\x16\x7a\xbb\x8c\x5e\x07\x9e\x09"
      "\xe2\xc8\xa8\x33\x9c";
  const auto result_of = [](const std::string& bytes) {
    RetryPeek whole, octets;
    const auto result = whole.feed(bytes);
    auto last = RetryPeek::Result::need_more;
    for (const char& c : bytes) last = octets.feed({&c, 1});
    EXPECT_EQ(last, result);
    return result;
  };
  EXPECT_EQ(result_of(server_hello(retry)), RetryPeek::Result::retry);
  EXPECT_EQ(result_of(server_hello(std::string(32, 'r'))), RetryPeek::Result::no_retry);
  EXPECT_EQ(result_of(server_hello(retry).substr(0, 42)), RetryPeek::Result::need_more);
  EXPECT_EQ(result_of(kAlert + server_hello(std::string(32, 'r'))), RetryPeek::Result::no_retry);
  EXPECT_EQ(result_of(server_hello(retry) + kCipherSpec), RetryPeek::Result::retry);
  EXPECT_EQ(result_of(server_hello(retry) + kCipherSpec + server_hello(std::string(32, 'r'))),
            RetryPeek::Result::no_retry);
  EXPECT_EQ(result_of(records(handshake("\x03\x03" + retry, 2), 30)), RetryPeek::Result::unknown) << "in pieces";
  EXPECT_EQ(result_of("HTTP/1.1 400 Bad Request\r\nConnection: close\r\n"), RetryPeek::Result::unknown);
}

}  // namespace
}  // namespace bloomwall::proxy::testing
