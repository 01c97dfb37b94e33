// Octets in the ring between a worker and the query log's thread: no octets are read beyond them, and what is taken for
// a row has the size that it says.
// SPDX-License-Identifier: Apache-2.0
#include <cstdint>
#include <cstdlib>
#include <string_view>
#include <vector>

#include "proxy/query_log/day_file.h"
#include "proxy/query_log/request_row.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace bloomwall::proxy;
  const std::vector<char> exact(data, data + size);
  const std::string_view octets(exact.data(), exact.size());
  const auto found = read_row(octets);
  if (!found) return 0;
  if (found->size > size) std::abort();
  const RequestRow& row = found->row;
  const SplitUrl split = split_url(row.url, row.host);
  if (joined_url(split.before, row.host, split.rest) != row.url) std::abort();
  return 0;
}
