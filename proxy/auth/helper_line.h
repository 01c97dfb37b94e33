// The lines of Squid's helper protocol, which programs that check credentials speak on stdin and stdout. One line each,
// at most kMostHelperLine octets with its line feed:
//   [channel ]name password           Basic; each word %-escaped
//   [channel ]name group              external group
//   [channel ]YR base64               Negotiate
//   [channel ]KK base64               its next legs, of what was answered TT by the same process, on the same channel
//   [channel ]OK key=value ...        right; keys read: user, group (several), token, message, log
//   [channel ]ERR key=value ...       wrong
//   [channel ]BH message=...          the helper could not tell
//   [channel ]TT token=...            Negotiate: the client is to answer this token
// and of older helpers AF token name (right), NA message (wrong), TT token, and OK, ERR and BH with text instead of
// keys. A value is "quoted", with \ before a quote, or %-escaped up to the next blank. The channel tells answers apart
// where a helper takes several questions at a time.
// Pure functions; linear. Answers are not trusted: whatever no rule above describes is no answer.
// Source: Squid's cf.data.pre (auth_param, external_acl_type) and src/helper/Reply.cc.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace bloomwall::proxy {

inline constexpr std::size_t kMostHelperLine = std::size_t{64} << 10;
inline constexpr std::size_t kMostHelperGroups = 64;  // of one answer; others are dropped
inline constexpr std::size_t kMostHelperToken = std::size_t{16} << 10;

struct HelperAnswer {
  enum class Result : std::uint8_t { ok, error, broken, more };
  Result result = Result::broken;
  std::string user;                 // 1 to 255 octets, no control octets; empty: none was named
  std::vector<std::string> groups;  // likewise, at most 64 octets each
  std::string message;              // for the log; printable ASCII of at most 200 octets
  std::string token = {};           // more: of digits of base64, at least one and at most kMostHelperToken
};

// A word of a question: all but letters, digits and -._ as %XX.
std::string escape_for_helper(std::string_view text);
std::string unescape_of_helper(std::string_view text);
// Takes the channel and the blank behind it from the front of a line.
std::optional<std::uint32_t> take_channel(std::string_view& line);
// A line without its channel and line feed; nothing: it is no answer.
std::optional<HelperAnswer> parse_helper_answer(std::string_view line);

}  // namespace bloomwall::proxy
