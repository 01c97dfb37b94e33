// SPDX-License-Identifier: Apache-2.0
#include "proxy/auth/basic_credentials.h"

#include <gtest/gtest.h>

#include <string>

#include "tests/proxy/auth/base64.h"

namespace bloomwall::proxy {
namespace {

using test::base64;

TEST(BasicCredentials, AreReadAsTheStandardsExamples) {
  const auto aladdin = decode_basic(basic_token("Basic QWxhZGRpbjpvcGVuIHNlc2FtZQ=="));
  ASSERT_TRUE(aladdin.has_value());
  EXPECT_EQ(aladdin->name, "Aladdin");
  EXPECT_EQ(aladdin->password, "open sesame");
  const auto pound = decode_basic(basic_token("bAsIc   dGVzdDoxMjPCow== "));
  ASSERT_TRUE(pound.has_value());
  EXPECT_EQ(pound->password, "123\xc2\xa3") << "RFC 7617 section 2.1";
}

TEST(BasicCredentials, OfOtherSchemesAreNone) {
  for (const char* value :
       {"", "Basic", "Basic ", "Basicx QWxhZGRpbjpvcGVu", "Bearer QWxhZGRpbjpvcGVu", "Negotiate YII="}) {
    EXPECT_EQ(basic_token(value), "") << value;
  }
}

TEST(BasicCredentials, RoundTripInEveryLength) {
  for (std::size_t size = 0; size < 40; ++size) {
    const std::string password(size, 'p');
    const auto got = decode_basic(base64("u:" + password));
    ASSERT_TRUE(got.has_value()) << size;
    EXPECT_EQ(got->name, "u");
    EXPECT_EQ(got->password, password);
  }
  EXPECT_EQ(decode_basic(base64("u:a:b:"))->password, "a:b:") << "the first colon counts";
}

TEST(BasicCredentials, InLatin1AreReadAsWell) {
  const auto java =
      decode_basic(base64("J\xfcrgen:gr\xfc\xdf"
                          "e"));
  ASSERT_TRUE(java.has_value());
  EXPECT_EQ(java->name, "Jürgen");
  EXPECT_EQ(java->password, "grüße");
  for (const char* text : {"Jürgen:grüße", "u:日本語", "u:😀"}) {
    const auto got = decode_basic(base64(text));
    ASSERT_TRUE(got.has_value());
    EXPECT_EQ(got->name + ":" + got->password, text) << "what is UTF-8 stays as it is";
  }
  EXPECT_EQ(decode_basic(base64("u:\xe9"))->password, "é") << "an octet that UTF-8 would go on from";
  EXPECT_EQ(decode_basic(base64("u:\xc3"))->password, "Ã");
  EXPECT_EQ(decode_basic(base64("u:" + std::string(kMostPassword / 2, '\xe9')))->password.size(), kMostPassword - 1);
  EXPECT_FALSE(decode_basic(base64("u:" + std::string(kMostPassword / 2 + 1, '\xe9'))).has_value());
  EXPECT_FALSE(decode_basic(base64("\xe9\x01:p")).has_value());
}

TEST(BasicCredentials, ThatAreMalformedAreNone) {
  const std::string nul("u:a\0b", 5);
  for (const std::string& token :
       {std::string("QWxhZGRpbjpvcGVuIHNlc2FtZQ="), std::string("QWxhZGRpbjpvcGVuIHNlc2FtZQ"), std::string("===="),
        std::string("QWxh*GRpbjpv"), std::string("QWxhZGRpbjpv\n"), std::string("dTp="), std::string("dTpwdw=a"),
        std::string("dTpwdx=="), base64("nocolon"), base64(":password"), base64("u\nv:p"), base64(nul), base64(" u:p"),
        base64("u :p"), base64("u:\x7f"), base64(std::string(256, 'u') + ":p"),
        base64("u:" + std::string(kMostPassword + 1, 'p')), base64("u:" + std::string(100'000, 'p'))}) {
    EXPECT_FALSE(decode_basic(token).has_value()) << token.substr(0, 40);
  }
  EXPECT_TRUE(decode_basic(base64("u v: p ")).has_value());
  EXPECT_TRUE(decode_basic(base64("u:" + std::string(kMostPassword, 'p'))).has_value());
}

}  // namespace
}  // namespace bloomwall::proxy
