// SPDX-License-Identifier: Apache-2.0
#include "proxy/auth/helper_line.h"

#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <vector>

namespace bloomwall::proxy {
namespace {

struct Case {
  std::string_view name, line;
  std::string_view want;  // result, user, groups, message
};

std::string say(const std::optional<HelperAnswer>& answer) {
  if (!answer) return "none";
  std::string out;
  switch (answer->result) {
    case HelperAnswer::Result::ok:
      out = "ok";
      break;
    case HelperAnswer::Result::error:
      out = "error";
      break;
    case HelperAnswer::Result::broken:
      out = "broken";
      break;
    case HelperAnswer::Result::more:
      out = "more";
      break;
  }
  out += "|" + answer->user + "|";
  for (const std::string& group : answer->groups) out += group + ";";
  return out + "|" + answer->message;
}

class HelperAnswerTest : public testing::TestWithParam<Case> {};

TEST_P(HelperAnswerTest, IsReadAsSquidReadsIt) {
  const std::vector<char> exact(GetParam().line.begin(), GetParam().line.end());
  EXPECT_EQ(say(parse_helper_answer({exact.data(), exact.size()})), GetParam().want);
}

INSTANTIATE_TEST_SUITE_P(
    Lines, HelperAnswerTest,
    testing::Values(
        Case{"Right", "OK", "ok|||"}, Case{"RightWithTheCarriageReturn", "OK\r", "ok|||"},
        Case{"User", "OK user=alice", "ok|alice||"},
        Case{"UserInQuotes", R"(OK user="a \"b\" c" group=x)", R"(ok|a "b" c|x;|)"},
        Case{"UserEscaped", "OK user=a%20b%zz", "ok|a b%zz||"},
        Case{"Groups", "OK group=a group=\"b c\" token=xx user=u", "ok|u|a;b c;|"},
        Case{"UserWithControls", "OK user=a%0ab", "ok|||"}, Case{"UserWithBlanksAround", "OK user=\" a\"", "ok|||"},
        Case{"EmptyValue", "OK user= group=", "ok|||"},
        Case{"Wrong", "ERR message=\"wrong password\"", "error|||wrong password"},
        Case{"WrongInWords", "ERR Invalid credentials", "error|||Invalid credentials"},
        Case{"WrongOfOld", "NA gone", "error|||gone"}, Case{"RightOfOld", "AF dG9r alice@A", "ok|alice@A||"},
        Case{"RightOfOldWithoutAName", "AF dG9r", "none"}, Case{"CannotTell", "BH message=x", "broken|||x"},
        Case{"CannotTellInWords", "BH gss_accept() failed: a=b", "broken|||gss_accept() failed: a=b"},
        Case{"Another", "TT token=xx", "more|||"}, Case{"AnotherOfOld", "TT xx==", "more|||"},
        Case{"AnotherWithoutAToken", "TT", "none"}, Case{"AnotherQuoted", "TT token=\"xx\" note=y", "more|||"},
        Case{"AnotherThatIsNoToken", "TT token=x%0D%0Ax", "none"}, Case{"AnotherOfPaddingAlone", "TT token===", "none"},
        Case{"QuoteNotClosed", "OK user=\"a", "none"}, Case{"Empty", "", "none"}, Case{"NoWord", "HELLO", "none"},
        Case{"WordTooLong", "OKAY", "none"}, Case{"LowerCase", "ok", "none"},
        Case{"Binary", "ERR message=\"\xff\x01z\"", "error|||??z"}),
    [](const auto& param) { return std::string(param.param.name); });

TEST(HelperLine, BoundsWhatAnAnswerMayHold) {
  std::string line =
      "OK user=" + std::string(256, 'u') + " message=" + std::string(1000, 'm') + " group=" + std::string(65, 'g');
  for (int i = 0; i < 200; ++i) line += " group=g" + std::to_string(i);
  const auto answer = parse_helper_answer(line);
  ASSERT_TRUE(answer.has_value());
  EXPECT_EQ(answer->user, "");
  EXPECT_EQ(answer->message.size(), 200U);
  EXPECT_EQ(answer->groups.size(), kMostHelperGroups);
  EXPECT_EQ(answer->groups.front(), "g0");
}

TEST(HelperLine, EscapesWhatSeparates) {
  EXPECT_EQ(escape_for_helper("a b%\n\"\xc3\xa4-._9"), "a%20b%25%0A%22%C3%A4-._9");
  std::string all;
  for (int c = 0; c < 256; ++c) all.push_back(static_cast<char>(c));
  EXPECT_EQ(unescape_of_helper(escape_for_helper(all)), all);
}

TEST(HelperLine, TakesTheChannelOff) {
  std::string_view line = "31 OK user=x";
  EXPECT_EQ(take_channel(line), 31U);
  EXPECT_EQ(line, "OK user=x");
  for (const char* text : {"OK", "31", " OK", "-1 OK", "1234567 OK", "", "3x OK"}) {
    line = text;
    EXPECT_EQ(take_channel(line), std::nullopt) << text;
  }
}

}  // namespace
}  // namespace bloomwall::proxy
