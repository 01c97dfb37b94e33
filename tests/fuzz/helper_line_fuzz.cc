// Any text as a helper's line: names and groups that are taken lie within their limits and hold no control octet, and
// what is escaped comes back.
// SPDX-License-Identifier: Apache-2.0
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "proxy/auth/helper_line.h"
#include "tests/fuzz/plain_text.h"
#include "tests/fuzz/require.h"

namespace {

constexpr std::string_view kTokenDigits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/=";

using bloomwall::fuzz::require;

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace bloomwall::proxy;
  using bloomwall::fuzz::is_plain;
  const std::vector<char> exact(data, data + size);
  const std::string_view text(exact.data(), exact.size());
  require(unescape_of_helper(escape_for_helper(text)) == text);
  std::string_view behind_channel = text;
  if (take_channel(behind_channel)) require(behind_channel.size() < text.size());
  for (const std::string_view line : {text, behind_channel}) {
    const auto answer = parse_helper_answer(line);
    if (!answer) continue;
    require(answer->user.size() <= 255 && is_plain(answer->user));
    require(answer->token.size() <= kMostHelperToken &&
            answer->token.find_first_not_of(kTokenDigits) == std::string::npos);
    require(answer->token.empty() == (answer->result != HelperAnswer::Result::more));
    require(answer->groups.size() <= kMostHelperGroups);
    for (const std::string& group : answer->groups) require(!group.empty() && group.size() <= 64 && is_plain(group));
    require(answer->message.size() <= 200 && is_plain(answer->message));
  }
  return 0;
}
