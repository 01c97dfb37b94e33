// Lines of Squid's helpers, without sockets: as the proxy reads them, and as the helper passes them on.
// SPDX-License-Identifier: Apache-2.0
#include "proxy/answers/squid_helper.h"

#include <gtest/gtest.h>

#include <string>

#include "proxy/answers/squid_answers.h"

namespace bloomwall::proxy {
namespace {

TEST(HelperLine, HasAChannelOrNone) {
  HelperQuestion read;
  ASSERT_TRUE(read_helper_line("7 http://a.test/b%20c?d=%25 POST 192.0.2.1 anna%20b -", read));
  EXPECT_EQ(read.channel, "7");
  EXPECT_EQ(read.target, "http://a.test/b%20c?d=%25");  // as Squid has it: its escapes are the URL's own
  EXPECT_EQ(read.method, "POST");
  EXPECT_EQ(read.client, "192.0.2.1");
  EXPECT_EQ(read.user, "anna b");
  ASSERT_TRUE(read_helper_line("https://a.test/", read));
  EXPECT_EQ(read.channel, "");
  EXPECT_EQ(read.target, "https://a.test/");
  EXPECT_EQ(read.method, "GET");
}

TEST(HelperLine, NamesAConnectByItsMethodOrByHavingNoScheme) {
  HelperQuestion read;
  for (const char* line : {"a.test:443 CONNECT", "1 a.test:443", "a.test:443 -"}) {
    ASSERT_TRUE(read_helper_line(line, read)) << line;
    EXPECT_EQ(read.method, "CONNECT");
    EXPECT_EQ(read.target, "a.test:443");
  }
}

TEST(HelperLine, AsksAboutFtpAsAboutHttpAndAboutNothingElse) {
  HelperQuestion read;
  ASSERT_TRUE(read_helper_line("ftp://a.test/x GET", read));
  EXPECT_EQ(read.target, "http://a.test/x");
  EXPECT_FALSE(read_helper_line("3 urn:x GET", read));
  EXPECT_EQ(read.channel, "3");
  for (const char* line : {"gopher://a.test/ GET", "", "4", "-", "5 - GET"}) {
    EXPECT_FALSE(read_helper_line(line, read)) << line;
  }
}

// What the helper says to Squid by now.
std::string answers_of(SquidHelper& helper) {
  std::string all;
  for (std::string line; !(line = helper.next_answer()).empty();) all += line;
  return all;
}

TEST(SquidHelper, GivesEachQuestionANumberAndSquidItsChannel) {
  SquidHelper helper({});
  EXPECT_EQ(helper.take("40 http://a.test/ GET 192.0.2.1 -"), "1 http://a.test/ GET 192.0.2.1 -\n");
  EXPECT_EQ(helper.take("41 http://b.test/ GET 192.0.2.1 -"), "2 http://b.test/ GET 192.0.2.1 -\n");
  EXPECT_TRUE(helper.answer("2 ERR message=\"Blocked by filter x, decision A\" log=A"));
  EXPECT_TRUE(helper.answer("1 OK"));
  EXPECT_EQ(answers_of(helper), "41 ERR message=\"Blocked by filter x, decision A\" log=A\n40 OK\n");
  EXPECT_FALSE(helper.has_open());
}

TEST(SquidHelper, AnswersLinesWithoutChannelInTheirOrder) {
  SquidHelper helper({});
  helper.take("http://a.test/ GET");
  helper.take("http://b.test/ GET");
  helper.take("9 http://c.test/ GET");
  EXPECT_TRUE(helper.answer("2 OK"));
  EXPECT_EQ(answers_of(helper), "");
  EXPECT_TRUE(helper.answer("3 OK"));
  EXPECT_EQ(answers_of(helper), "9 OK\n");
  EXPECT_TRUE(helper.answer("1 ERR"));
  EXPECT_EQ(answers_of(helper), "ERR\nOK\n");
}

TEST(SquidHelper, LeavesNothingWithoutAnAnswer) {
  SquidHelper helper({});
  helper.take("1 http://a.test/ GET");
  helper.take("http://b.test/ GET");
  helper.take("http://c.test/ GET");
  helper.answer("3 OK");
  EXPECT_EQ(helper.open_lines(), "1 http://a.test/ GET\n2 http://b.test/ GET\n");
  helper.lose("away");
  EXPECT_EQ(answers_of(helper), "1 BH message=\"away\"\nBH message=\"away\"\nOK\n");
  EXPECT_FALSE(helper.has_open());
}

TEST(SquidHelper, BelievesNoAnswerToNoQuestion) {
  SquidHelper helper({});
  helper.take("1 http://a.test/ GET");
  for (const char* line : {"2 OK", "OK", "", "x OK", "1 YES", "1", "1x OK", "-1 OK"}) {
    EXPECT_FALSE(helper.answer(line)) << line;
  }
  EXPECT_TRUE(helper.answer("1 OK"));
  EXPECT_FALSE(helper.answer("1 OK"));
}

TEST(SquidHelper, RewritesWhatIsBlockedToThePage) {
  SquidHelper helper({.rewrites = true, .page = "http://page.test/?id={id}&again={id}"});
  EXPECT_EQ(helper.take("5 http://a.test/ 192.0.2.1/name anna GET myip=- myport=3128"),
            "1 http://a.test/ GET 192.0.2.1 anna\n");
  EXPECT_EQ(helper.take("6 http://b.test/ 192.0.2.1/- - GET"), "2 http://b.test/ GET 192.0.2.1 -\n");
  helper.take("7 http://c.test/ 192.0.2.1/- - GET");
  helper.answer("1 ERR message=\"Blocked by filter x, decision A\" log=A");
  helper.answer("2 OK");
  helper.answer("3 BH message=\"late\"");
  EXPECT_EQ(answers_of(helper),
            "5 OK status=302 url=\"http://page.test/?id=A&again=A\"\n6 OK\n7 BH message=\"late\"\n");
}

TEST(SquidHelper, RewritesToThePageAlsoWithoutAVerdictWhereItFailsClosed) {
  SquidHelper helper({.rewrites = true, .page = "http://page.test/?id={id}", .fails_closed = true});
  helper.take("7 http://c.test/ 192.0.2.1/- - GET");
  helper.take("8 http://c.test/ 192.0.2.1/- - GET");
  helper.answer("1 BH message=\"late\"");
  helper.lose("away");
  EXPECT_EQ(answers_of(helper),
            "7 OK status=302 url=\"http://page.test/?id=\"\n8 OK status=302 url=\"http://page.test/?id=\"\n");
}

}  // namespace
}  // namespace bloomwall::proxy
