// Any text as a helper's line: names and groups that are taken lie within their limits and hold no control octet, and
// what is escaped comes back.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "proxy/auth/helper_line.h"

namespace {

void require(bool condition) {
  if (!condition) std::abort();
}

bool is_plain(std::string_view text) {
  return std::none_of(text.begin(), text.end(),
                      [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; });
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace bloomwall::proxy;
  const std::vector<char> exact(data, data + size);
  const std::string_view text(exact.data(), exact.size());
  require(unescape_of_helper(escape_for_helper(text)) == text);
  std::string_view behind_channel = text;
  if (take_channel(behind_channel)) require(behind_channel.size() < text.size());
  for (const std::string_view line : {text, behind_channel}) {
    const auto answer = parse_helper_answer(line);
    if (!answer) continue;
    require(answer->user.size() <= 255 && is_plain(answer->user));
    require(answer->groups.size() <= kMostHelperGroups);
    for (const std::string& group : answer->groups) require(!group.empty() && group.size() <= 64 && is_plain(group));
    require(answer->message.size() <= 200 && is_plain(answer->message));
  }
  return 0;
}
