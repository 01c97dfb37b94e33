// SPDX-License-Identifier: Apache-2.0
#include "proxy/auth/password_hash.h"

#include <gtest/gtest.h>

#include <string>

#include "tests/proxy/auth/hashes.h"

namespace bloomwall::proxy {
namespace {

using namespace bloomwall::test;
using Compared = PasswordHasher::Result;

TEST(PasswordHash, OfEachFormIsTakenAndCompared) {
  PasswordHasher hasher;
  for (const std::string_view hash : {kYescrypt, kYescryptUsual, kBcrypt, kBcryptOfHtpasswd, kSha512, kSha256}) {
    EXPECT_EQ(find_hash_fault(hash), std::nullopt) << hash;
    EXPECT_EQ(hasher.compare(std::string(kPassword), std::string(hash)), Compared::same) << hash;
    for (const char* wrong : {"", "open sesam", "open sesame ", "Open sesame"}) {
      EXPECT_EQ(hasher.compare(wrong, std::string(hash)), Compared::different) << hash;
    }
  }
}

TEST(PasswordHash, OfAnotherFormIsRefusedWithWhatToDo) {
  for (const char* hash :
       {"$apr1$saltsalt$9eMSZqfJhBBVZ8kyVrHBz1", "$1$saltsalt$qjXMvbEw8oaL.CzflDtaK/", "{SHA}W6ph5Mm5", "{SSHA}abc",
        "open sesame", "", "$argon2id$v=19$m=65536,t=3,p=4$c2FsdA$aGFzaA", "$2a$04$x"}) {
    const auto fault = find_hash_fault(hash);
    ASSERT_TRUE(fault.has_value()) << hash;
    EXPECT_NE(fault->find("htpasswd -B"), std::string::npos) << *fault;
    EXPECT_EQ(fault->find("open sesame"), std::string::npos) << "a password may stand there";
  }
}

// Each check of such a one would hold up everybody who waits.
TEST(PasswordHash, ThatCostsTooMuchIsRefused) {
  const auto replaced = [](std::string_view hash, std::string_view what, std::string_view with) {
    std::string text(hash);
    return text.replace(text.find(what), what.size(), with);
  };
  for (const std::string& hash :
       {replaced(kBcrypt, "$04$", "$16$"), replaced(kBcrypt, "$04$", "$31$"), replaced(kBcrypt, "$04$", "$03$"),
        replaced(kSha512, "=1000", "=1000001"), replaced(kSha256, "=1000", "=99999999999999999999"),
        replaced(kYescrypt, "j75", "jDT"), replaced(kYescrypt, "j75", "jzz")}) {
    EXPECT_TRUE(find_hash_fault(hash).has_value()) << hash;
  }
  EXPECT_EQ(find_hash_fault(replaced(kBcrypt, "$04$", "$15$")), std::nullopt);
  EXPECT_EQ(find_hash_fault(replaced(kYescrypt, "j75", "jCT")), std::nullopt);
}

TEST(PasswordHash, ThatIsCutShortIsRefused) {
  for (const std::string_view hash : {kYescrypt, kBcrypt, kSha512, kSha256}) {
    for (std::size_t size = 0; size < hash.size(); ++size) {
      EXPECT_TRUE(find_hash_fault(hash.substr(0, size)).has_value()) << hash.substr(0, size);
    }
    EXPECT_TRUE(find_hash_fault(std::string(hash) + "x").has_value()) << hash;
    EXPECT_TRUE(find_hash_fault(std::string(hash.substr(0, hash.size() - 1)) + "*").has_value()) << hash;
  }
}

}  // namespace
}  // namespace bloomwall::proxy
