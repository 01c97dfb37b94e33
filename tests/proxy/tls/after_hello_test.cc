// SPDX-License-Identifier: Apache-2.0
#include "proxy/tls/after_hello.h"

#include <gtest/gtest.h>

#include <ostream>
#include <string>
#include <string_view>
#include <vector>

#include "tests/proxy/tls/hello_maker.h"

namespace bloomwall::proxy::http_test {
namespace {

using namespace std::string_literals;
using AfterResult = AfterHello::Result;

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

struct AfterHelloCase {
  std::string_view name;
  std::string bytes;
  AfterResult result;
  std::string first = kFirst;  // extensions of the first hello
  bool answer_is_readable = false;
};
void PrintTo(const AfterHelloCase& c, std::ostream* out) { *out << c.name; }

class AfterHelloRules : public ::testing::TestWithParam<AfterHelloCase> {};

TEST_P(AfterHelloRules, HoldHoweverItIsCut) {
  const AfterHelloCase& c = GetParam();
  ClientHelloReader reader;
  reader.feed(client_hello(c.first));
  AfterHello whole(reader);
  AfterHello octets(reader);
  if (!c.answer_is_readable) {
    whole.on_unreadable_answer();
    octets.on_unreadable_answer();
  }
  EXPECT_EQ(whole.feed(c.bytes), c.result) << whole.why();
  AfterResult last = AfterResult::relay;
  for (std::size_t at = 0; at < c.bytes.size() && last != AfterResult::done && last != AfterResult::malformed; ++at) {
    const std::vector<char> exact{c.bytes[at]};
    last = octets.feed(exact);
  }
  EXPECT_EQ(last, c.result);
  EXPECT_STREQ(octets.why(), whole.why());
}

INSTANTIATE_TEST_SUITE_P(
    Rules, AfterHelloRules,
    ::testing::Values(
        AfterHelloCase{"Nothing", "", AfterResult::relay},
        AfterHelloCase{"ChangeCipherSpecAlone", kCipherSpec, AfterResult::relay},
        AfterHelloCase{"HandshakeOfTls13", kCipherSpec + kData, AfterResult::done},
        AfterHelloCase{"NoCompatibilityMode", kData, AfterResult::done},
        AfterHelloCase{"KeyExchangeOfTls12", records(handshake("key", 16)), AfterResult::done},
        AfterHelloCase{"CertificateOfTls12", records(handshake("certificate", 11)), AfterResult::done},
        AfterHelloCase{"FinishedOfAResumedTls12", kCipherSpec + "\x16\x03\x03\x00\x28"s + std::string(40, 'f'),
                       AfterResult::done},
        AfterHelloCase{"FinishedThatBeginsLikeAHello", kCipherSpec + "\x16\x03\x03\x00\x28\x01"s + std::string(39, 'f'),
                       AfterResult::done},
        AfterHelloCase{"FinishedThatBeginsMoreLikeAHello",
                       kCipherSpec + "\x16\x03\x03\x00\x28\x01\x00"s + std::string(38, 'f'), AfterResult::done},
        AfterHelloCase{"SameHelloAgain", hello("a.test"), AfterResult::relay},
        AfterHelloCase{"SameHelloBehindChangeCipherSpec", kCipherSpec + hello("a.test"), AfterResult::relay},
        AfterHelloCase{"SameHelloThenData", kCipherSpec + hello("a.test") + kData, AfterResult::done},
        AfterHelloCase{"AnotherName", hello("b.test"), AfterResult::malformed},
        AfterHelloCase{"AnotherNameBehindChangeCipherSpec", kCipherSpec + hello("b.test"), AfterResult::malformed},
        AfterHelloCase{"AnotherNameBehindManyOfThem", many(kCipherSpec, 20) + hello("b.test"), AfterResult::malformed},
        AfterHelloCase{"AnotherNameBehindAlerts", many(kAlert, 3) + hello("b.test"), AfterResult::malformed},
        AfterHelloCase{"AnotherNameInTinyRecords", kCipherSpec + hello("b.test", 1), AfterResult::malformed},
        AfterHelloCase{"AnotherNameInSmallRecords", hello("b.test", 7), AfterResult::malformed},
        AfterHelloCase{"AnotherNameInAThirdHello", hello("a.test") + kCipherSpec + hello("b.test"),
                       AfterResult::malformed},
        AfterHelloCase{"NoNameAnyMore", client_hello(""), AfterResult::malformed},
        AfterHelloCase{"ANameWhereThereWasNone", hello("a.test"), AfterResult::malformed, ""},
        AfterHelloCase{"NoNameTwice", client_hello("") + kData, AfterResult::done, ""},
        AfterHelloCase{"HalfASecondHello", hello("b.test").substr(0, 40), AfterResult::wait},
        AfterHelloCase{"OneOctetOfIt", "\x16", AfterResult::wait},
        AfterHelloCase{"HelloOver64KiB", "\x16\x03\x01\x00\x04\x01\x01\x00\x01"s, AfterResult::malformed},
        AfterHelloCase{"HelloOver64KiBBehindChangeCipherSpec",
                       kCipherSpec + "\x16\x03\x01\x00\x05\x01\x01\x00\x01\x03"s, AfterResult::malformed},
        AfterHelloCase{"AlertInsideIt", hello("b.test", 3).substr(0, 8) + kAlert, AfterResult::malformed},
        AfterHelloCase{"AnotherProtocol", "GET / HTTP/1.1\r\n", AfterResult::done},
        AfterHelloCase{"RecordOfVersion2", "\x14\x02\x03\x00\x01\x01"s, AfterResult::malformed},
        AfterHelloCase{"UnknownRecordType", "\x1a\x03\x03\x00\x01\x01"s, AfterResult::malformed},
        AfterHelloCase{"OversizedRecord", "\x14\x03\x03\x49\x00\x01"s, AfterResult::malformed},
        AfterHelloCase{"RecordsWithoutEnd", many(kCipherSpec, AfterHello::kMostSkipped + 1), AfterResult::malformed},
        AfterHelloCase{"EarlyData", kCipherSpec + many(kData, 200), AfterResult::relay, kFirst + kEarly},
        AfterHelloCase{"AnotherNameBehindEarlyData", kCipherSpec + kData + hello("b.test"), AfterResult::malformed,
                       kFirst + kEarly},
        AfterHelloCase{"SameHelloBehindEarlyData", kData + hello("a.test"), AfterResult::relay, kFirst + kEarly}),
    [](const auto& param) { return std::string(param.param.name); });

// The server has said nothing yet, or has asked for another hello.
INSTANTIATE_TEST_SUITE_P(
    Unanswered, AfterHelloRules,
    ::testing::Values(
        AfterHelloCase{"ChangeCipherSpecAlone", kCipherSpec, AfterResult::relay, kFirst, true},
        AfterHelloCase{"AlertAlone", kAlert, AfterResult::relay, kFirst, true},
        AfterHelloCase{"SameHelloBehindChangeCipherSpec", kCipherSpec + hello("a.test"), AfterResult::relay, kFirst,
                       true},
        AfterHelloCase{"EarlyData", kCipherSpec + many(kData, 200), AfterResult::relay, kFirst + kEarly, true},
        AfterHelloCase{"SameHelloBehindEarlyData", kData + hello("a.test"), AfterResult::relay, kFirst + kEarly, true},
        AfterHelloCase{"HalfASecondHello", hello("b.test").substr(0, 40), AfterResult::wait, kFirst, true},
        AfterHelloCase{"AnotherName", hello("b.test"), AfterResult::malformed, kFirst, true},
        AfterHelloCase{"Data", kData + hello("b.test"), AfterResult::malformed, kFirst, true},
        AfterHelloCase{"DataBehindChangeCipherSpec", kCipherSpec + kData, AfterResult::malformed, kFirst, true},
        AfterHelloCase{"EmptyData", "\x17\x03\x03\x00\x00"s, AfterResult::malformed, kFirst, true},
        AfterHelloCase{"HelloRequest", records(handshake("", 0)) + hello("b.test"), AfterResult::malformed, kFirst,
                       true},
        AfterHelloCase{"KeyUpdate", records(handshake("\x00"s, 24)), AfterResult::malformed, kFirst, true},
        AfterHelloCase{"HelloRequestBehindChangeCipherSpec", kCipherSpec + records(handshake("", 0)),
                       AfterResult::malformed, kFirst, true},
        AfterHelloCase{"KeyExchange", records(handshake("key", 16)), AfterResult::malformed, kFirst, true},
        AfterHelloCase{"AnotherProtocol", "GET / HTTP/1.1\r\n", AfterResult::malformed, kFirst, true},
        AfterHelloCase{"UnknownRecordType", "\x63\x03\x03\x00\x01\x01"s, AfterResult::malformed, kFirst, true}),
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
}  // namespace bloomwall::proxy::http_test
