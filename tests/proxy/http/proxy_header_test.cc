// Every row is read whole, octet by octet, and cut at every place: the answer must be the same.
// SPDX-License-Identifier: Apache-2.0
#include "proxy/http/proxy_header.h"

#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <vector>

namespace bloomwall::proxy {
namespace {

using namespace std::string_literals;
using Result = ProxyHeaderReader::Result;

const std::string kSignature = "\r\n\r\n\0\r\nQUIT\n"s;

std::string binary(int command, int family, const std::string& body) {
  const auto octet = [](std::size_t value) { return static_cast<char>(value & 0xffU); };
  return kSignature + octet(static_cast<std::size_t>(command)) + octet(static_cast<std::size_t>(family)) +
         octet(body.size() >> 8U) + octet(body.size()) + body;
}
const std::string kBody4 = "\xc6\x33\x64\x07\xc0\x00\x02\x01\x12\x67\x00\x50"s;  // 198.51.100.7:4711 192.0.2.1:80
const std::string kBody6 =
    "\x20\x01\x0d\xb8"s + std::string(11, '\0') + "\x07" + std::string(15, '\0') + "\x01" + "\xff\xff\x00\x50"s;

struct Case {
  std::string_view name;
  std::string input;
  std::string_view want;  // "address port", "nobody", "malformed", "more"
};
void PrintTo(const Case& c, std::ostream* out) { *out << c.name; }

class ProxyHeader : public ::testing::TestWithParam<Case> {};

std::string told(const ProxyHeaderReader& reader, Result result) {
  if (result == Result::need_more) return "more";
  if (result == Result::malformed) return "malformed";
  if (!reader.source()) return "nobody";
  return reader.source()->address.text() + " " + std::to_string(reader.source()->port);
}

TEST_P(ProxyHeader, IsReadTheSameHoweverItIsCut) {
  const Case& c = GetParam();
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
    ::testing::Values(Case{"Tcp4", "PROXY TCP4 198.51.100.7 192.0.2.1 4711 80\r\n", "198.51.100.7 4711"},
                      Case{"Tcp6", "PROXY TCP6 2001:db8::7 2001:db8::1 65535 80\r\n", "2001:db8::7 65535"},
                      Case{"Longest", kLongest, "ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff 65535"},
                      Case{"PortZero", "PROXY TCP4 1.2.3.4 5.6.7.8 0 0\r\n", "1.2.3.4 0"},
                      Case{"Unknown", "PROXY UNKNOWN\r\n", "nobody"},
                      Case{"UnknownWithWords", "PROXY UNKNOWN ffff::1 x 1 2\r\n", "nobody"},
                      Case{"Begun", "PROXY TCP4 1.2.3.4 ", "more"}, Case{"Nothing", "", "more"},
                      Case{"NoHeader", "GET http://a/ HTTP/1.1\r\n", "malformed"},
                      Case{"NearlyAHeader", "POST http://a/ HTTP/1.1\r\n", "malformed"},
                      Case{"LowerCase", "proxy TCP4 1.2.3.4 5.6.7.8 1 2\r\n", "malformed"},
                      Case{"BareLf", "PROXY TCP4 1.2.3.4 5.6.7.8 1 2\n", "malformed"},
                      Case{"OtherProtocol", "PROXY TCP9 1.2.3.4 5.6.7.8 1 2\r\n", "malformed"},
                      Case{"Udp", "PROXY UDP4 1.2.3.4 5.6.7.8 1 2\r\n", "malformed"},
                      Case{"NoAddress", "PROXY TCP4 300.1.1.1 5.6.7.8 1 2\r\n", "malformed"},
                      Case{"NoDestination", "PROXY TCP4 1.2.3.4\r\n", "malformed"},
                      Case{"WrongFamily", "PROXY TCP4 2001:db8::7 2001:db8::1 1 2\r\n", "malformed"},
                      Case{"OtherWrongFamily", "PROXY TCP6 1.2.3.4 5.6.7.8 1 2\r\n", "malformed"},
                      Case{"Brackets", "PROXY TCP6 [::1] ::2 1 2\r\n", "malformed"},
                      Case{"HugePort", "PROXY TCP4 1.2.3.4 5.6.7.8 1 99999\r\n", "malformed"},
                      Case{"PortWithZeros", "PROXY TCP4 1.2.3.4 5.6.7.8 01 2\r\n", "malformed"},
                      Case{"TwoSpaces", "PROXY TCP4  1.2.3.4 5.6.7.8 1 2\r\n", "malformed"},
                      Case{"MoreWords", "PROXY TCP4 1.2.3.4 5.6.7.8 1 2 3\r\n", "malformed"},
                      Case{"SpaceAtTheEnd", "PROXY TCP4 1.2.3.4 5.6.7.8 1 2 \r\n", "malformed"},
                      Case{"Nul", "PROXY TCP4 1.2.3.4\0 5.6.7.8 1 2\r\n"s, "malformed"},
                      Case{"Endless", "PROXY UNKNOWN " + std::string(200, 'x'), "malformed"}),
    [](const auto& param) { return std::string(param.param.name); });

INSTANTIATE_TEST_SUITE_P(
    Binary, ProxyHeader,
    ::testing::Values(
        Case{"Tcp4", binary(0x21, 0x11, kBody4), "198.51.100.7 4711"},
        Case{"Tcp6", binary(0x21, 0x21, kBody6), "2001:db8::7 65535"},
        Case{"Tlvs",
             binary(0x21, 0x11,
                    kBody4 + "\x04\x00\x03"
                             "abc\x05\x00\x00"s),
             "198.51.100.7 4711"},
        Case{"Local", binary(0x20, 0x00, ""), "nobody"}, Case{"LocalWithJunk", binary(0x20, 0x11, "xyz"), "nobody"},
        Case{"Unspecified", binary(0x21, 0x00, "anything"), "nobody"},
        Case{"AtTheLimit", binary(0x20, 0, std::string(ProxyHeaderReader::kMostBytes - 16, 'x')), "nobody"},
        Case{"Begun", binary(0x21, 0x11, kBody4).substr(0, 20), "more"},
        Case{"TooLong", binary(0x20, 0, std::string(ProxyHeaderReader::kMostBytes - 15, 'x')), "malformed"},
        Case{"WrongSignature", "\r\n\r\n\0\r\nQUIX\n\x21\x11"s, "malformed"},
        Case{"Version1", binary(0x11, 0x11, kBody4), "malformed"},
        Case{"UnknownCommand", binary(0x22, 0x11, kBody4), "malformed"},
        Case{"Udp", binary(0x21, 0x12, kBody4), "malformed"}, Case{"Unix", binary(0x21, 0x31, kBody6), "malformed"},
        Case{"ShortBody", binary(0x21, 0x11, kBody4.substr(0, 11)), "malformed"},
        Case{"ShortBody6", binary(0x21, 0x21, kBody4), "malformed"},
        Case{"TlvCutShort", binary(0x21, 0x11, kBody4 + "\x04\x00"s), "malformed"},
        Case{"TlvTooLong",
             binary(0x21, 0x11,
                    kBody4 + "\x04\x00\x04"
                             "abc"s),
             "malformed"}),
    [](const auto& param) { return std::string(param.param.name); });

TEST(ProxyHeader, ErrorsAreFinal) {
  ProxyHeaderReader reader;
  const std::string bad = "GET / HTTP/1.1\r\n", good = "PROXY TCP4 1.2.3.4 5.6.7.8 1 2\r\n";
  EXPECT_EQ(reader.feed(bad).result, Result::malformed);
  EXPECT_EQ(reader.feed(good).result, Result::malformed);
}

}  // namespace
}  // namespace bloomwall::proxy
