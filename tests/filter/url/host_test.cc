// SPDX-License-Identifier: Apache-2.0
#include "filter/url/host.h"

#include <string>

#include <gtest/gtest.h>

namespace bloomwall::filter {
namespace {

std::string ascii(std::string_view utf8) {
  std::string out = "kept ";
  return append_ascii_host(utf8, out) ? out.substr(5) : out == "kept " ? "none" : "none, but something was written";
}

TEST(IdnaTest, ConvertsEachLabel) {
  EXPECT_EQ(ascii("b\u00FCcher.example"), "xn--bcher-kva.example");
  EXPECT_EQ(ascii("stra\u00DFe.B\u00DCCHER"), "xn--strae-oqa.xn--bcher-kva");
  EXPECT_EQ(ascii("www.\u65E5\u672C.test."), "www.xn--wgv71a.test.");
}

TEST(IdnaTest, EveryDotSeparates) { EXPECT_EQ(ascii("a\u3002b\uFF0Ec\uFF61\u00E9"), "a.b.c.xn--9ca"); }

TEST(IdnaTest, KeepsEmptyLabels) { EXPECT_EQ(ascii("..\u00E9."), "..xn--9ca."); }

TEST(IdnaTest, HyphensAreAllowedAnywhere) {
  EXPECT_EQ(ascii("-\u00E9"), "xn----bga");
  EXPECT_EQ(ascii("\u00E9-"), "xn----9fa");
  EXPECT_EQ(ascii("\u00E9a--b"), "xn--a--b-9oa");
  EXPECT_EQ(ascii("-\u00E9-"), "xn-----bja");
  EXPECT_EQ(ascii("\uFF0D\u00E9\uFE63"), "xn-----bja");
}

TEST(IdnaTest, RefusesWhatUts46Refuses) {
  for (const char* const name : {"xn--\u00E9", "XN--not-punycode-.\u00E9", "xn--\u00E9-", "\u0301a", "a\u200Db",
                                 "a\u05D0", "a\u0378b", "\uE000", "\xFF", "a\xC3", "\xC0\xAF\u00E9", "\xED\xA0\x80",
                                 "\u00E9%", "\u00E9 ", "\u00E9#", "\u00A8", "\u00E9<", "\u00E9^"}) {
    EXPECT_EQ(ascii(name), "none") << name;
  }
}

TEST(IdnaTest, TakesWhatUts46Tolerates) {
  EXPECT_EQ(ascii("\u2603.test"), "xn--n3h.test");
  EXPECT_EQ(ascii("\U0001F4A9.\u00E9"), "xn--ls8h.xn--9ca");
  EXPECT_EQ(ascii("xn--n3h.\u00E9"), "xn--n3h.xn--9ca");
}

TEST(IdnaTest, BoundsTheWhole) {
  std::string ignored = "\u00E9";  // soft hyphens make a long host of a short name
  while (ignored.size() < kMaxUnicodeHost) ignored += "\u00AD";
  EXPECT_EQ(ascii(ignored), "xn--9ca");
  EXPECT_EQ(ascii(ignored + "\u00AD"), "none");
  EXPECT_EQ(ascii(std::string(1010, 'a') + "..\u00E9"), std::string(1010, 'a') + "..xn--9ca");
  EXPECT_EQ(ascii(std::string(1011, 'a') + "..\u00E9"), "none");
}

TEST(IdnaTest, TablesHaveAVersion) { EXPECT_GE(unicode_version(), 0x0F0000U); }

struct Read {
  std::string host = "left over";
  HostReading reading;
};
Read read(std::string_view raw) {
  Read read;
  std::string scratch = "left over";
  read.reading = read_host(raw, read.host, scratch);
  return read;
}

TEST(ReadHostTest, TellsTheKind) {
  EXPECT_EQ(read("example.test").reading.kind, HostKind::name);
  EXPECT_EQ(read("0x7f.1").reading.kind, HostKind::ipv4);
  EXPECT_EQ(read("[::1]").reading.kind, HostKind::ipv6);
  EXPECT_EQ(read("[64:ff9b::1.2.3.4]").reading.kind, HostKind::ipv4);
}

TEST(ReadHostTest, LengthLimitsRejectButKeepTheForm) {
  const std::string label(63, 'a');
  EXPECT_EQ(read(label).reading.reason, UrlReason::none);
  EXPECT_EQ(read(label + "a").reading.reason, UrlReason::host_too_long);
  EXPECT_EQ(read(label + "a").host, label + "a");
  const std::string most = label + "." + label + "." + label + "." + std::string(61, 'b');
  ASSERT_EQ(most.size(), kMaxHost);
  EXPECT_EQ(read(most).reading.reason, UrlReason::none);
  EXPECT_EQ(read(most + ".").reading.reason, UrlReason::none);
  EXPECT_EQ(read(most + "b").reading.reason, UrlReason::host_too_long);
}

TEST(ReadHostTest, WithoutAFormNothingOldIsLeft) {
  for (const char* const raw : {"", ".", "[", "[]", "[1]", "1.2.3.4.5"}) {
    EXPECT_FALSE(read(raw).reading.has_canonical) << raw;
    EXPECT_NE(read(raw).host, "left over") << raw;
  }
}

}  // namespace
}  // namespace bloomwall::filter
