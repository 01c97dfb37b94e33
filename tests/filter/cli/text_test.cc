// SPDX-License-Identifier: Apache-2.0
#include "base/terminal.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <sstream>

#include "filter/cli/commands.h"

namespace bloomwall::filter {
namespace {

TEST(Printable, ShowsWhatATerminalWouldObey) {
  struct Case {
    std::string_view text, want;
  };
  using namespace std::string_view_literals;
  for (const auto& [text, want] : {Case{"http://example.com/a?b", "http://example.com/a?b"},
                                   Case{"", ""},
                                   Case{"a\tb\nc\rd", "a\\x09b\\x0Ac\\x0Dd"},
                                   Case{"\x1b[31m", "\\x1B[31m"},
                                   Case{"a\0b"sv, "a\\x00b"},
                                   Case{"\x7f", "\\x7F"},
                                   Case{"back\\slash", "back\\slash"},
                                   Case{"stra\xc3\x9f"
                                        "e",
                                        "stra\xc3\x9f"
                                        "e"},
                                   Case{"\xe2\x98\x83", "\xe2\x98\x83"},
                                   Case{"\xf0\x9f\x98\x80", "\xf0\x9f\x98\x80"},
                                   Case{"\xc2\x9b", "\\xC2\\x9B"},                 // C1: control sequence introducer
                                   Case{"\x9b", "\\x9B"},                          // the same as a bare octet
                                   Case{"a\xe2\x80\xae b", "a\\xE2\\x80\\xAE b"},  // right-to-left override
                                   Case{"\xe2\x81\xa7", "\\xE2\\x81\\xA7"},
                                   Case{"\xd8\x9c", "\\xD8\\x9C"},
                                   Case{"\xe2\x81\xaa\xd8\x9b", "\xe2\x81\xaa\xd8\x9b"},  // beside those
                                   Case{"\xc0\xaf", "\\xC0\\xAF"},                        // overlong
                                   Case{"\xe0\x80\xaf", "\\xE0\\x80\\xAF"},               // overlong
                                   Case{"\xed\xa0\x80", "\\xED\\xA0\\x80"},               // surrogate
                                   Case{"\xf4\x90\x80\x80", "\\xF4\\x90\\x80\\x80"},
                                   Case{"\xe2\x98", "\\xE2\\x98"}}) {  // cut short
    EXPECT_EQ(printable(text), want);
  }
}

TEST(Json, IsOneLineOfValidUtf8) {
  std::ostringstream out;
  print_json(out, {{"url", "a\nb\xff"}});
  EXPECT_EQ(out.str(), "{\"url\":\"a\\nb\xef\xbf\xbd\"}\n");
  std::ostringstream tall;
  print_json_tall(tall, {{"a", 1}, {"b", 2}});
  EXPECT_EQ(tall.str(), "{\n  \"a\": 1,\n  \"b\": 2\n}\n");
}

TEST(Messages, NameTheProgramAndThePlace) {
  std::ostringstream err;
  print_error(err, {Errc::io, "a\x1b.bwf", "no such file"});
  EXPECT_EQ(err.str(), "bloomwall-filter: a\\x1B.bwf: no such file\n");
}

}  // namespace
}  // namespace bloomwall::filter
