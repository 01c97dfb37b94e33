// The file of trust exceptions: what a line may say, and what is said of a line that is wrong.
// SPDX-License-Identifier: Apache-2.0
#include "proxy/tls/trust_exceptions.h"

#include <gtest/gtest.h>

#include <string>

namespace bloomwall::proxy {
namespace {

const std::string kKey = "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08";
constexpr std::int64_t kNow = 1'800'000'000;  // 2027-01-15

struct ExceptionLine {
  const char* line;
  const char* error;  // nullptr: none
};

TEST(TrustExceptions, ALineIsRightOrSaysWhatIsWrong) {
  const char *const host = "expected one host", *const key = "expected the SHA-256",
                    *const day = "expected the last day";
  const std::vector<ExceptionLine> lines{
      {"", nullptr},
      {"  # only a comment", nullptr},
      {"a.test KEY 2027-12-31", nullptr},
      {"\ta.test\tKEY  2027-12-31\r", nullptr},
      {"A.Test KEY 2028-02-29 # leap year", nullptr},
      {"_x.a.test KEY 2027-12-31", nullptr},
      {"192.0.2.1 KEY 2027-12-31", nullptr},
      {"2001:DB8::1 KEY 2027-12-31", nullptr},
      {"a.test sha256/n4bQgYhMfWWaL+qgxVrQFaO/TxsrC4Is0V1sFbDwCgg= 2027-12-31", nullptr},
      {"a.test sha256//n4bQgYhMfWWaL+qgxVrQFaO/TxsrC4Is0V1sFbDwCgg= 2027-12-31", nullptr},
      {"*.a.test KEY 2027-12-31", host},
      {"a.test:443 KEY 2027-12-31", host},
      {"[2001:db8::1] KEY 2027-12-31", host},
      {".a.test KEY 2027-12-31", host},
      {"a..test KEY 2027-12-31", host},
      {"a.test. KEY 2027-12-31", host},
      {"b\xc3\xbc"
       "cher.test KEY 2027-12-31",
       host},
      {"a.test", key},
      {"a.test 2027-12-31", key},
      {"a.test KEY0 2027-12-31", key},
      {"a.test sha256/n4bQgYhMfWWaL 2027-12-31", key},
      {"a.test sha256/n4bQgYhMfWWaL+qgxVrQFaO/TxsrC4Is0V1sFbDwC=== 2027-12-31", key},
      {"a.test sha256/n4bQgYhMfWWaL+qgxVrQFaO/TxsrC4Is0V1s*bDwCgg= 2027-12-31", key},
      {"a.test sha256/n4bQgYhMfWWaL+qgxVrQFaO/Txsr=4Is0V1sFbDwCgg= 2027-12-31", key},
      {"a.test sha256/n4bQgYhMfWWaL+qgxVrQFaO/TxsrC4Is0V1sFbDwCgh= 2027-12-31", key},
      {"a.test KEY", day},
      {"a.test KEY 2027-02-29", day},
      {"a.test KEY 2027-13-01", day},
      {"a.test KEY 2027-1-01", day},
      {"a.test KEY 31.12.2027", day},
      {"a.test KEY never", day},
      {"a.test KEY -027-01-01", day},
      {"a.test KEY 2027-12-31 more", "expected nothing"},
  };
  for (const ExceptionLine& row : lines) {
    std::string line = row.line;
    if (const auto at = line.find("KEY"); at != std::string::npos) line.replace(at, 3, kKey);
    const auto parsed = TrustExceptions::parse("# first\n" + line + "\n", "FILE");
    ASSERT_EQ(parsed.has_value(), row.error == nullptr) << line << (parsed ? "" : parsed.error());
    if (row.error != nullptr) {
      EXPECT_TRUE(parsed.error().starts_with(std::string("FILE:2: ") + row.error)) << parsed.error();
    }
  }
}

TEST(TrustExceptions, HoldForOneHostOneKeyAndUntilTheEndOfTheDay) {
  const auto parsed = TrustExceptions::parse("a.test " + kKey + " 2027-01-15\n2001:DB8:0::1 " + kKey + " 2027-12-31\n" +
                                                 "a.test " + std::string(64, '1') + " 2027-12-31",
                                             "FILE");
  ASSERT_TRUE(parsed.has_value());
  const KeyHash key = *parse_key_hash(kKey);
  EXPECT_EQ(parsed->end_of("a.test", key, kNow), 1'800'057'600) << "2027-01-16, 0:00";
  EXPECT_TRUE(parsed->end_of("a.test", key, 1'800'057'599));
  EXPECT_FALSE(parsed->end_of("a.test", key, 1'800'057'600));
  EXPECT_TRUE(parsed->end_of("a.test", *parse_key_hash(std::string(64, '1')), 1'800'057'600));
  EXPECT_FALSE(parsed->end_of("a.test", *parse_key_hash(std::string(64, '2')), kNow));
  EXPECT_FALSE(parsed->end_of("b.test", key, kNow));
  EXPECT_FALSE(parsed->end_of("x.a.test", key, kNow));
  EXPECT_TRUE(parsed->end_of("2001:db8::1", key, kNow)) << "as IpAddress writes it";
}

TEST(TrustExceptions, BothSpellingsOfAKeyAreOne) {
  EXPECT_EQ(parse_key_hash(kKey), parse_key_hash("sha256/n4bQgYhMfWWaL+qgxVrQFaO/TxsrC4Is0V1sFbDwCgg="));
}

}  // namespace
}  // namespace bloomwall::proxy
