// SPDX-License-Identifier: Apache-2.0
#include "conf/forms.h"

#include <gtest/gtest.h>

#include <vector>

namespace bloomwall::conf {
namespace {

struct Rows {
  const char* name;
  const Form& form;
  std::vector<std::string> good, bad;
};

bool accepts(const Form& form, std::string value) { return form.check(value).has_value(); }

TEST(Forms, OfAnAddressThatNoOtherHostReaches) {
  for (const char* own : {"127.0.0.1:80", "127.9.9.9:0", "[::1]:80", "[0:0:0:0:0:0:0:1]:80", "[::ffff:127.0.0.1]:80"}) {
    EXPECT_TRUE(is_of_this_host(own)) << own;
  }
  for (const char* open : {":80", "0.0.0.0:80", "[::]:80", "128.0.0.1:80", "[::2]:80", "[1::1]:80", "[::127.0.0.1]:80",
                           "[::ffff:0.0.0.0]:80", "[::ffff:10.0.0.127]:80", "127.0.0.1", "", "localhost:80"}) {
    EXPECT_FALSE(is_of_this_host(open)) << open;
  }
}

TEST(Forms, TakeWhatTheySayAndNothingElse) {
  const std::string long_label(64, 'a'), longest_label(63, 'a');
  const std::string nul_inside("1.2.3.4\0:80", 11);
  const Rows all[] = {
      {"listen address",
       kListenAddress,
       {"127.0.0.1:3128", "0.0.0.0:0", ":3128", ":0", "[::1]:3128", "[::]:65535"},
       {"", ":", "127.0.0.1", "127.0.0.1:", "127.0.0.1:65536", "127.0.0.1:-1", "127.0.0.1:+1", "127.0.0.1:000080",
        "::1:80", "[127.0.0.1]:80", "[::1]", "[::1]80", "[::1%eth0]:80", "localhost:80", "1.2.3:80", "01.2.3.4:80",
        " 127.0.0.1:80", nul_inside}},
      {"name server",
       kDnsServer,
       {"192.0.2.1", "::1", "192.0.2.1:53", "[::1]:5353"},
       {"", "dns.example", "192.0.2.1:0", "[::1]", "192.0.2.1:dns"}},
      {"host and port",
       kHostPort,
       {"proxy.example.com:3128", "192.0.2.1:80", "[2001:db8::1]:80", "a:1", "under_score.example:1"},
       {"", "proxy.example.com", "proxy.example.com:0", ":3128", "proxy..example:1", "[proxy.example]:1", "a b:1",
        "-é:1", "http://proxy:1", long_label + ":1"}},
      {"network",
       kNetwork,
       {"10.0.0.0/8", "0.0.0.0/0", "192.0.2.1", "192.0.2.1/32", "::/0", "fd00::/8", "::1/128", "2001:db8::/33"},
       {"", "10.0.0.0/", "10.0.0.0/33", "::/129", "10.0.0.1/8", "fd00::1/8", "10/8", "10.0.0.0/8/8",
        "10.0.0.0/255.0.0.0", "private", "10.0.0.0/-8", "10.0.0.0/0008"}},
      {"destination",
       kDestination,
       {"loopback", "private", "link_local", "shared", "multicast", "unspecified", "10.0.0.0/8"},
       {"", "Loopback", "public", "10.0.0.1/8"}},
      {"bypass",
       kBypass,
       {"example.com", "EXAMPLE.com", "intranet", "10.0.0.0/8", "192.0.2.1", "::1", "fd00::/8"},
       {"", "1.2.3", "10.0.0.1/8", "*.example.com", ".example.com", "example.com/8", "fd00::g"}},
      {"host name",
       kHostName,
       {"a", "a.example", "xn--bcher-kva.example", longest_label, "1.2.3.4", "A.EXAMPLE"},
       {"", ".", "a.", ".a", "a..b", long_label, "a b", "bücher", "a/b", std::string(254, 'a')}},
      {"IP address", kIp, {"192.0.2.1", "::1", "::ffff:192.0.2.1"}, {"", "a", "192.0.2", "192.0.2.1:80", "[::1]"}},
      {"label",
       kLabel,
       {"a", "UT1.adult_2024-05", std::string(64, 'x')},
       {"", "a b", "a/b", "é", std::string(65, 'x')}},
      {"token",
       kToken,
       {"bloomwall", "a!#$%&'*+-.^_`|~9"},
       {"", "a b", "a,b", "a;b", "a\"b", "a\r\nb", std::string(1, '\0')}},
      {"contact",
       kContact,
       {"", "helpdesk@example.com", "https://example.com/help", "http://a"},
       {"javascript:alert(1)", "a@", "@example.com", "helpdesk", "a b@example.com", "https://", "https://a\"b",
        "a@b@c"}},
      {"report URL",
       kReportUrl,
       {"", "https://r.example/?id={id}&u={url}", "mailto:a@b.example?subject={id}"},
       {"javascript:x", "https://r.example/a b", "ftp://r.example", "//r.example"}},
      {"http URL", kHttpUrl, {"", "https://court.example/1"}, {"mailto:a@b", "https://a<b"}},
  };
  for (const Rows& rows : all) {
    for (const auto& value : rows.good) EXPECT_TRUE(accepts(rows.form, value)) << rows.name << ": " << value;
    for (const auto& value : rows.bad) EXPECT_FALSE(accepts(rows.form, value)) << rows.name << ": " << value;
  }
}

TEST(Forms, HostNamesBecomeLowerCase) {
  std::string value = "WWW.Example.COM";
  ASSERT_TRUE(kHostName.check(value).has_value());
  EXPECT_EQ(value, "www.example.com");
}

TEST(Forms, ANetworkWithTooManyBitsIsToldItsRightSpelling) {
  std::string value = "192.168.17.5/20";
  EXPECT_EQ(kNetwork.check(value).error(), "bits are set beyond the prefix; the network is 192.168.16.0/20");
  value = "2001:db8:ffff::1/33";
  EXPECT_EQ(kNetwork.check(value).error(), "bits are set beyond the prefix; the network is 2001:db8:8000::/33");
}

}  // namespace
}  // namespace bloomwall::conf
