// SPDX-License-Identifier: Apache-2.0
#include "proxy/access/user_name.h"

#include <gtest/gtest.h>

#include <string>

namespace bloomwall::proxy {
namespace {

TEST(FoldedUserName, IsTheSameForEverySpellingThatLdapTakesForOne) {
  for (const char* name :
       {"anna", "Anna", "ANNA", " anna", "anna ", "\tanna", "anna\xc2\xa0", "an\xc2\xadna", "\xef\xbc\xa1nna",
        "\xe2\x80\x8b"
        "anna",
        "ann\xe2\x93\x90"}) {
    EXPECT_EQ(fold_user_name(name), "anna") << name;
  }
  for (const char* name : {"Anna Maria", "anna  maria",
                           "ANNA\xe2\x80\x83"
                           "Maria"}) {
    EXPECT_EQ(fold_user_name(name), "anna maria") << name;
  }
  for (const char* name : {"j\xc3\xbcrgen", "J\xc3\x9cRGEN", "ju\xcc\x88rgen"}) {
    EXPECT_EQ(fold_user_name(name), "j\xc3\xbcrgen") << name;
  }
  EXPECT_EQ(fold_user_name("Stra\xc3\x9f"
                           "e"),
            fold_user_name("STRASSE"));
}

TEST(FoldedUserName, KeepsWhatIsDifferentApart) {
  EXPECT_NE(fold_user_name("anna"), fold_user_name("hanna"));
  EXPECT_NE(fold_user_name("a nna"), fold_user_name("anna"));
  EXPECT_EQ(fold_user_name("A.nna@Example.COM"), "a.nna@example.com");
}

TEST(FoldedUserName, OfATicketKeepsItsRealm) {
  EXPECT_EQ(fold_principal_name("Anna@EXAMPLE.COM"), "anna@EXAMPLE.COM");
  EXPECT_EQ(fold_principal_name("Anna  Maria@Example.COM"), "anna maria@Example.COM");
  EXPECT_EQ(fold_principal_name("HTTP/Proxy@x@EXAMPLE.COM"), "http/proxy@x@EXAMPLE.COM") << "the last @";
  EXPECT_EQ(fold_principal_name("ANNA"), "anna");
  EXPECT_EQ(fold_principal_name("ANNA@"), "anna@");
  EXPECT_NE(fold_principal_name("anna@A.TEST"), fold_principal_name("anna@a.test")) << "realms are told apart by case";
  EXPECT_EQ(fold_principal_name("@EXAMPLE.COM"), std::nullopt) << "nobody's";
  EXPECT_EQ(fold_principal_name(std::string(200, 'A') + "@" + std::string(54, 'B'))->size(), 255U);
  EXPECT_EQ(fold_principal_name(std::string(200, 'A') + "@" + std::string(55, 'B')), std::nullopt);
}

TEST(FoldedUserName, OfOtherOctetsFoldsAsciiAlone) {
  EXPECT_EQ(fold_user_name("J\xdcRGEN"), "j\xdcrgen") << "Latin-1";
  EXPECT_EQ(fold_user_name("A\xed\xa0\x80"), "a\xed\xa0\x80") << "a surrogate";
}

TEST(FoldedUserName, IsNothingWhereNothingOrTooMuchIsLeft) {
  for (const char* name : {"", " ", "\xc2\xa0", "\xc2\xad"}) EXPECT_EQ(fold_principal_name(name), std::nullopt) << name;
  for (const char* name : {"", " ", "\xc2\xa0", "\xc2\xad"}) EXPECT_EQ(fold_user_name(name), std::nullopt) << name;
  EXPECT_EQ(fold_user_name(std::string(255, 'A')), std::string(255, 'a'));
  EXPECT_EQ(fold_user_name(std::string(256, 'a')), std::nullopt);
  std::string longest;
  for (int i = 0; i < 85; ++i) longest += "\xef\xb7\xba";  // each becomes 18 letters
  EXPECT_EQ(fold_user_name(longest), std::nullopt);
}

}  // namespace
}  // namespace bloomwall::proxy
