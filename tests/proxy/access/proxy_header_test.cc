// Every row is read whole, octet by octet, and cut at every place: the answer must be the same.
// SPDX-License-Identifier: Apache-2.0
#include "proxy/access/proxy_header.h"

#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <vector>

namespace bloomwall::proxy {
namespace {

using namespace std::string_literals;
using HeaderResult = ProxyHeaderReader::Result;

const std::string kSignature = "\r\n\r\n\0\r\nQUIT\n"s;

std::string binary(int command, int family, const std::string& body) {
  const auto octet = [](std::size_t value) { return static_cast<char>(value & 0xffU); };
  return kSignature + octet(static_cast<std::size_t>(command)) + octet(static_cast<std::size_t>(family)) +
         octet(body.size() >> 8U) + octet(body.size()) + body;
}
const std::string kBody4 = "\xc6\x33\x64\x07\xc0\x00\x02\x01\x12\x67\x00\x50"s;  // 198.51.100.7:4711 192.0.2.1:80
const std::string kBody6 =
    "\x20\x01\x0d\xb8"s + std::string(11, '\0') + "\x07" + std::string(15, '\0') + "\x01" + "\xff\xff\x00\x50"s;

struct HeaderCase {
  std::string_view name;
  std::string input;
  std::string_view want;  // "address port", "nobody", "malformed", "more"
};
void PrintTo(const HeaderCase& c, std::ostream* out) { *out << c.name; }

class ProxyHeader : public ::testing::TestWithParam<HeaderCase> {};

std::string told(const ProxyHeaderReader& reader, HeaderResult result) {
  if (result == HeaderResult::need_more) return "more";
  if (result == HeaderResult::malformed) return "malformed";
  if (!reader.source()) return "nobody";
  return reader.source()->address.text() + " " + std::to_string(reader.source()->port);
}

TEST_P(ProxyHeader, IsReadTheSameHoweverItIsCut) {
  const HeaderCase& c = GetParam();
  const std::string rest = c.want == "more" || c.want == "malformed" ? "" : "GET / HTTP/1.1\r\n";
  const std::string input = c.input + rest;
  for (std::size_t cut = 0; cut <= input.size(); ++cut) {
    ProxyHeaderReader reader;
    const std::vector<char> first(input.begin(), input.begin() + static_cast<std::ptrdiff_t>(cut));
    const std::vector<char> second(input.begin() + static_cast<std::ptrdiff_t>(cut), input.end());
    const auto a = reader.feed(first);
    const auto b = reader.feed(second);
    ASSERT_EQ(told(reader, b.result), c.want) << "cut at " << cut;
    if (!rest.empty()) {
      EXPECT_EQ(a.consumed + b.consumed, c.input.size()) << "not one octet of what follows";
    }
  }
}

const std::string kLongest =
    "PROXY TCP6 ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff 65535 65535\r\n";

INSTANTIATE_TEST_SUITE_P(
    Text, ProxyHeader,
    ::testing::Values(HeaderCase{"Tcp4", "PROXY TCP4 198.51.100.7 192.0.2.1 4711 80\r\n", "198.51.100.7 4711"},
                      HeaderCase{"Tcp6", "PROXY TCP6 2001:db8::7 2001:db8::1 65535 80\r\n", "2001:db8::7 65535"},
                      HeaderCase{"Longest", kLongest, "ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff 65535"},
                      HeaderCase{"PortZero", "PROXY TCP4 1.2.3.4 5.6.7.8 0 0\r\n", "1.2.3.4 0"},
                      HeaderCase{"Unknown", "PROXY UNKNOWN\r\n", "nobody"},
                      HeaderCase{"UnknownWithWords", "PROXY UNKNOWN ffff::1 x 1 2\r\n", "nobody"},
                      HeaderCase{"Begun", "PROXY TCP4 1.2.3.4 ", "more"}, HeaderCase{"Nothing", "", "more"},
                      HeaderCase{"NoHeader", "GET http://a/ HTTP/1.1\r\n", "malformed"},
                      HeaderCase{"NearlyAHeader", "POST http://a/ HTTP/1.1\r\n", "malformed"},
                      HeaderCase{"LowerCase", "proxy TCP4 1.2.3.4 5.6.7.8 1 2\r\n", "malformed"},
                      HeaderCase{"BareLf", "PROXY TCP4 1.2.3.4 5.6.7.8 1 2\n", "malformed"},
                      HeaderCase{"OtherProtocol", "PROXY TCP9 1.2.3.4 5.6.7.8 1 2\r\n", "malformed"},
                      HeaderCase{"Udp", "PROXY UDP4 1.2.3.4 5.6.7.8 1 2\r\n", "malformed"},
                      HeaderCase{"NoAddress", "PROXY TCP4 300.1.1.1 5.6.7.8 1 2\r\n", "malformed"},
                      HeaderCase{"NoDestination", "PROXY TCP4 1.2.3.4\r\n", "malformed"},
                      HeaderCase{"WrongFamily", "PROXY TCP4 2001:db8::7 2001:db8::1 1 2\r\n", "malformed"},
                      HeaderCase{"OtherWrongFamily", "PROXY TCP6 1.2.3.4 5.6.7.8 1 2\r\n", "malformed"},
                      HeaderCase{"Brackets", "PROXY TCP6 [::1] ::2 1 2\r\n", "malformed"},
                      HeaderCase{"HugePort", "PROXY TCP4 1.2.3.4 5.6.7.8 1 99999\r\n", "malformed"},
                      HeaderCase{"PortWithZeros", "PROXY TCP4 1.2.3.4 5.6.7.8 01 2\r\n", "malformed"},
                      HeaderCase{"TwoSpaces", "PROXY TCP4  1.2.3.4 5.6.7.8 1 2\r\n", "malformed"},
                      HeaderCase{"MoreWords", "PROXY TCP4 1.2.3.4 5.6.7.8 1 2 3\r\n", "malformed"},
                      HeaderCase{"SpaceAtTheEnd", "PROXY TCP4 1.2.3.4 5.6.7.8 1 2 \r\n", "malformed"},
                      HeaderCase{"Nul", "PROXY TCP4 1.2.3.4\0 5.6.7.8 1 2\r\n"s, "malformed"},
                      HeaderCase{"Endless", "PROXY UNKNOWN " + std::string(200, 'x'), "malformed"}),
    [](const auto& param) { return std::string(param.param.name); });

INSTANTIATE_TEST_SUITE_P(
    Binary, ProxyHeader,
    ::testing::Values(
        HeaderCase{"Tcp4", binary(0x21, 0x11, kBody4), "198.51.100.7 4711"},
        HeaderCase{"Tcp6", binary(0x21, 0x21, kBody6), "2001:db8::7 65535"},
        HeaderCase{"Tlvs",
                   binary(0x21, 0x11,
                          kBody4 + "\x04\x00\x03"
                                   "abc\x05\x00\x00"s),
                   "198.51.100.7 4711"},
        HeaderCase{"Local", binary(0x20, 0x00, ""), "nobody"},
        HeaderCase{"LocalWithJunk", binary(0x20, 0x11, "xyz"), "nobody"},
        HeaderCase{"Unspecified", binary(0x21, 0x00, "anything"), "nobody"},
        HeaderCase{"AtTheLimit", binary(0x20, 0, std::string(ProxyHeaderReader::kMostBytes - 16, 'x')), "nobody"},
        HeaderCase{"Begun", binary(0x21, 0x11, kBody4).substr(0, 20), "more"},
        HeaderCase{"TooLong", binary(0x20, 0, std::string(ProxyHeaderReader::kMostBytes - 15, 'x')), "malformed"},
        HeaderCase{"WrongSignature", "\r\n\r\n\0\r\nQUIX\n\x21\x11"s, "malformed"},
        HeaderCase{"Version1", binary(0x11, 0x11, kBody4), "malformed"},
        HeaderCase{"UnknownCommand", binary(0x22, 0x11, kBody4), "malformed"},
        HeaderCase{"Udp", binary(0x21, 0x12, kBody4), "malformed"},
        HeaderCase{"Unix", binary(0x21, 0x31, kBody6), "malformed"},
        HeaderCase{"ShortBody", binary(0x21, 0x11, kBody4.substr(0, 11)), "malformed"},
        HeaderCase{"ShortBody6", binary(0x21, 0x21, kBody4), "malformed"},
        HeaderCase{"TlvCutShort", binary(0x21, 0x11, kBody4 + "\x04\x00"s), "malformed"},
        HeaderCase{"TlvTooLong",
                   binary(0x21, 0x11,
                          kBody4 + "\x04\x00\x04"
                                   "abc"s),
                   "malformed"}),
    [](const auto& param) { return std::string(param.param.name); });

TEST(ProxyHeader, ErrorsAreFinal) {
  ProxyHeaderReader reader;
  const std::string bad = "GET / HTTP/1.1\r\n", good = "PROXY TCP4 1.2.3.4 5.6.7.8 1 2\r\n";
  EXPECT_EQ(reader.feed(bad).result, HeaderResult::malformed);
  EXPECT_EQ(reader.feed(good).result, HeaderResult::malformed);
}

}  // namespace
}  // namespace bloomwall::proxy
