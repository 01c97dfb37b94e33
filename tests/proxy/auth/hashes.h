// Hashes of the password "open sesame", made by crypt(3) with the least cost that each form has.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

namespace bloomwall::test {

inline constexpr std::string_view kPassword = "open sesame";
inline constexpr std::string_view kYescrypt = "$y$j75$0123456789abcdef$kjcjmXZd.oWTjCQUAlVkj/Ko1QLZHCCNWiKWLtbMOT1";
inline constexpr std::string_view kYescryptUsual =
    "$y$j9T$abcdefghij./0123$4N5m1sTJS7pM7Y2HtzTRI.YoN.guNeE3Mlw1TVOURH4";
inline constexpr std::string_view kBcrypt = "$2b$04$abcdefghijklmnopqrstuu/LVz6MZlItEy42I2juLihZ66HnQx/cy";
inline constexpr std::string_view kBcryptOfHtpasswd = "$2y$04$abcdefghijklmnopqrstuu/LVz6MZlItEy42I2juLihZ66HnQx/cy";
inline constexpr std::string_view kSha512 =
    "$6$rounds=1000$saltsalt$/IiX/CoEcxCZ9SksEXnbjfCT1LGvD4z5OpJkaFYl/T37OAwuKZ8I8BixDhruhPLkw6lS7dw/6wQWgQnGo7lLg/";
inline constexpr std::string_view kSha256 = "$5$rounds=1000$saltsalt$nKsyTQBmKz4GdCft0Sv/FbzLiu0y3wFdEXOzudLQLJ5";

// A line of a users file.
inline std::string user_line(std::string_view name, std::string_view rest = "", std::string_view hash = kBcrypt) {
  return std::string(name) + ":" + std::string(hash) + std::string(rest) + "\n";
}

}  // namespace bloomwall::test
