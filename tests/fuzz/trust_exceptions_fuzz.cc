// The file of trust exceptions from anywhere: what is taken holds for its host and key only, and ends.
// SPDX-License-Identifier: Apache-2.0
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "proxy/tls/trust_exceptions.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace bloomwall::proxy;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto parsed = TrustExceptions::parse(text, "FILE");
  if (!parsed) {
    if (!parsed.error().starts_with("FILE:")) std::abort();
    return 0;
  }
  constexpr std::int64_t kYear10000 = 253'402'300'800;
  for (const char* const host : {"a.test", "2001:db8::1", "", "*"}) {
    if (parsed->end_of(host, KeyHash{}, kYear10000)) std::abort();
    if (parsed->end_of(host, KeyHash{}, 0) && !parsed->has(host)) std::abort();
  }
  if (parsed->has("") || parsed->has("*")) std::abort();
  return 0;
}
