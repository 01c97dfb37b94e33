// Any octets behind a ClientHello: cut anywhere they end the same way, the only name that ever passes is the first
// one's, and nothing of a second hello passes before that is known.
// Input: one octet that seeds the cuts and says whether early data was offered and whether the server's answer could be
// read, then the octets.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "proxy/tls/after_hello.h"
#include "tests/fuzz/require.h"
#include "tests/proxy/tls/hello_maker.h"

namespace {

using bloomwall::proxy::AfterHello;
using bloomwall::proxy::ClientHelloReader;
using bloomwall::proxy::RetryPeek;
namespace hello = bloomwall::proxy::http_test;
using Result = AfterHello::Result;

using bloomwall::fuzz::require;

bool is_over(Result result) { return result == Result::done || result == Result::malformed; }

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < 2) return 0;
  unsigned seed = data[0];
  const bool early = (seed & 1U) != 0;
  const std::string first = hello::client_hello(hello::server_name("a.test") + (early ? hello::extension(42, "") : ""));
  ClientHelloReader reader;
  reader.feed(first);
  require(reader.offers_early_data() == early);
  const std::span<const char> bytes(reinterpret_cast<const char*>(data) + 1, size - 1);
  AfterHello whole(reader), pieces(reader);
  if ((seed & 2U) != 0) {
    whole.on_unreadable_answer();
    pieces.on_unreadable_answer();
  }
  const Result result = whole.feed(bytes);
  Result last = Result::relay;
  for (std::size_t at = 0; at < bytes.size() && !is_over(last);) {
    seed = seed * 1103515245 + 12345;
    const std::size_t take = std::min<std::size_t>(1 + (seed >> 16) % 40, bytes.size() - at);
    const std::vector<char> exact(bytes.begin() + static_cast<std::ptrdiff_t>(at),
                                  bytes.begin() + static_cast<std::ptrdiff_t>(at + take));
    last = pieces.feed(exact);
    at += take;
  }
  require(last == result);
  require(std::string_view(whole.why()) == pieces.why());
  RetryPeek peek, octets;
  RetryPeek::Result peeked = RetryPeek::Result::need_more;
  for (const char& c : bytes) peeked = octets.feed({&c, 1});
  require(peek.feed(bytes) == peeked);
  return 0;
}
