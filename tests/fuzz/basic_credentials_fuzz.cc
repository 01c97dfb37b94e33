// Any text as a Proxy-Authorization field: what is taken for name and password has no octet that would cut it short,
// and both lie within their limits; a name that is folded stays as it is when it is folded again.
// SPDX-License-Identifier: Apache-2.0
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "proxy/access/user_name.h"
#include "proxy/auth/basic_credentials.h"
#include "tests/fuzz/plain_text.h"
#include "tests/fuzz/require.h"

using bloomwall::fuzz::require;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace bloomwall::proxy;
  using bloomwall::fuzz::is_plain;
  const std::vector<char> exact(data, data + size);
  const std::string_view text(exact.data(), exact.size());
  if (const auto folded = fold_user_name(text)) {
    require(!folded->empty() && folded->size() <= kMostUserName && fold_user_name(*folded) == folded);
  }
  for (const std::string_view token : {text, basic_token(text)}) {
    const auto got = decode_basic(token);
    if (!got) continue;
    require(!got->name.empty() && got->name.size() <= 255 && got->name.find(':') == std::string::npos);
    require(got->password.size() <= kMostPassword && is_plain(got->name) && is_plain(got->password));
  }
  return 0;
}
