// Any octets that a client sends first through a tunnel: cut anywhere they are the same to the end of their first line,
// and no line that ends in a version of HTTP/1, or begins with GET, passes whole.
// Input: one octet that seeds the cuts, then the octets.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "proxy/http/request_line_peek.h"
#include "tests/fuzz/require.h"

namespace {

using bloomwall::proxy::RequestLinePeek;
using Result = RequestLinePeek::Result;

using bloomwall::fuzz::require;

// "TOKEN target HTTP/1.1", with one space each.
bool is_request_line(std::string_view text) {
  const std::size_t end = text.find('\n');
  if (end == std::string_view::npos) return false;
  text = text.substr(0, end);
  const std::size_t method = text.find_first_not_of("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz");
  if (method == 0 || method == std::string_view::npos || text[method] != ' ') return false;
  return text.find(" HTTP/1.1", method) != std::string_view::npos;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  unsigned seed = data[0];
  const std::span<const char> bytes(reinterpret_cast<const char*>(data) + 1, size - 1);
  RequestLinePeek whole, pieces;
  const Result result = whole.feed(bytes);
  Result last = Result::relay;
  for (std::size_t at = 0; at < bytes.size();) {
    seed = seed * 1103515245 + 12345;
    const std::size_t take = std::min<std::size_t>(1 + (seed >> 16) % 20, bytes.size() - at);
    const std::vector<char> exact(bytes.begin() + static_cast<std::ptrdiff_t>(at),
                                  bytes.begin() + static_cast<std::ptrdiff_t>(at + take));
    last = pieces.feed(exact);
    at += take;
  }
  require(last == result);
  const std::string_view text(bytes.data(), bytes.size());
  if (text.starts_with("GET ") || text.starts_with("\r\nGET\t")) require(result == Result::http);
  if (is_request_line({bytes.data(), bytes.size()})) require(result == Result::http || result == Result::late);
  return 0;
}
