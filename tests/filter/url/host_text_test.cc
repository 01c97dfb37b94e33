// SPDX-License-Identifier: Apache-2.0
#include "filter/url/host_text.h"

#include <gtest/gtest.h>

#include <string>
#include <string_view>

#include "filter/url/host.h"

namespace bloomwall::filter {
namespace {

TEST(TopLevels, AreThoseOfTheSuffixListAndCountries) {
  for (const char* const label : {"com", "COM", "zip", "uk", "za", "ZA", "xn--p1ai", "ck", "er", "np"}) {
    EXPECT_TRUE(is_top_level_domain(label)) << label;
    EXPECT_TRUE(is_public_suffix(label)) << label;
    EXPECT_TRUE(is_known_top_level(label)) << label;
  }
  for (const char* const label : {"", "z", "zz", "intranet", "js", "php", "exe", "x.za", "qq"}) {
    EXPECT_FALSE(is_top_level_domain(label)) << label;
    EXPECT_FALSE(is_known_top_level(label)) << label;
  }
  for (const char* const label : {"example", "test", "local", "onion", "i2p", "bit", "LAN", "\u0440\u0444"}) {
    EXPECT_TRUE(is_known_top_level(label)) << label;
  }
  EXPECT_FALSE(is_top_level_domain("bit")) << "an entry of a list, as every single word is";
}

TEST(TopLevels, EndHostsOfEverySpelling) {
  for (const char* const host :
       {"x.za", "x.co.za.", "x.COM", "x.\u0440\u0444", "x\u3002com", "\u00e9.example", "x.onion"}) {
    EXPECT_TRUE(ends_in_known_top_level(host)) << host;
  }
  for (const char* const host : {"za", "banner.js", "x.", "", "x.nosuchtld", "x.\u00e9"}) {
    EXPECT_FALSE(ends_in_known_top_level(host)) << host;
  }
}

struct Case {
  std::string_view text, want;
};

TEST(BareHost, HasNothingAround) {
  for (const Case& row :
       {Case{"a.example", "a.example"}, Case{" a.example,", "a.example"}, Case{"a.example ; ,", "a.example"},
        Case{"a.example\u00a0", "a.example"}, Case{"\u3000\u00a0a.example\u200b\t", "a.example"},
        Case{"\u2028a.example\u205f", "a.example"}, Case{"b\u00fccher.example", "b\u00fccher.example"}, Case{",", ","},
        Case{"", ""}, Case{"\u00a0", ""}, Case{"a\u00a0b", "a\u00a0b"}, Case{"\xc2", "\xc2"}}) {
    EXPECT_EQ(bare_host(row.text), row.want) << row.text;
  }
  EXPECT_TRUE(has_unicode_blank("a\u00a0b"));
  EXPECT_FALSE(has_unicode_blank("b\u00fccher a"));
  EXPECT_EQ(with_plain_blanks("a\u00a0b\u3000c\u00fc"), "a b c\u00fc");
}

TEST(GluedComments, BeginBehindANameWithADot) {
  for (const Case& row :
       {Case{"a.example#why", "a.example"}, Case{"a.example#", "a.example"}, Case{"a.example#see x/y", "a.example"},
        Case{"0.0.0.0 a.example#b.example", "0.0.0.0 a.example"}, Case{"192.0.2.1#x", "192.0.2.1"},
        Case{"192.0.2.0/24#x", "192.0.2.0/24"}, Case{"192.0.2.77/24#x", "192.0.2.77/24"},
        Case{"[2001:db8::1]:80#x", "[2001:db8::1]:80"}, Case{"*.a.example#x", "*.a.example"},
        Case{"||a.example^#x", "||a.example^"}, Case{"a\u3002example#x", "a\u3002example"},
        // something else
        Case{"intranet#x", "intranet#x"}, Case{"#x", "#x"}, Case{"a.example/b#x", "a.example/b#x"},
        Case{"http://a.example#x", "http://a.example#x"}, Case{"a.example?b#x", "a.example?b#x"},
        Case{"a.example##.ad", "a.example##.ad"}, Case{"a.example#@#.ad", "a.example#@#.ad"},
        Case{"a.example#$?#x", "a.example#$?#x"}, Case{"||a.example^$script#x", "||a.example^$script#x"},
        Case{"address=/a.example/#", "address=/a.example/#"}}) {
    EXPECT_EQ(without_glued_comment(row.text), row.want) << row.text;
  }
}

TEST(Ports, AreOfHostsAlone) {
  const auto told = [](std::string_view text) {
    const HostAndPort parts = split_port(text);
    return std::string(parts.host) + (parts.has_colon ? " " : "") + std::string(parts.port);
  };
  for (const Case& row : {Case{"a.example:80", "a.example 80"}, Case{"a.example:", "a.example "},
                          Case{"a.example", "a.example"}, Case{"a.example:65535", "a.example 65535"},
                          Case{"a.example:65536", "a.example:65536"}, Case{"a.example:x", "a.example:x"},
                          Case{"192.0.2.1:8080", "192.0.2.1 8080"}, Case{"2001:db8::1", "2001:db8::1"},
                          Case{"[2001:db8::1]:80", "[2001:db8::1] 80"}, Case{"[2001:db8::1]", "[2001:db8::1]"},
                          Case{":80", ":80"}, Case{"name:192.0.2.0-192.0.2.9", "name:192.0.2.0-192.0.2.9"}}) {
    EXPECT_EQ(told(row.text), row.want) << row.text;
  }
  EXPECT_TRUE(is_other_port("8080"));
  EXPECT_FALSE(is_other_port("443"));
  EXPECT_FALSE(is_other_port(""));
}

}  // namespace
}  // namespace bloomwall::filter
