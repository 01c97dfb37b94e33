// Header and pages of an exact side from anywhere. The header's digest is put right, so that what lies behind it is
// reached.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <cstdlib>
#include <cstring>

#include "filter/file/exact_side.h"
#include "filter/file/leaves.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace bloomwall::filter;
  std::array<std::byte, kHeaderBytes> head{};
  std::memcpy(head.data(), data, std::min(size, head.size()));
  const auto digest = xxh128(std::span(head).first(kHeaderBytes - 16));
  std::memcpy(head.data() + kHeaderBytes - 16, digest.data(), digest.size());
  std::uint64_t file_bytes = 0;
  std::memcpy(&file_bytes, head.data() + 48, sizeof file_bytes);
  if (const auto header = parse_exact_header(head, file_bytes)) {
    if (header->pages > header->fingerprints || header->file_bytes < kHeaderBytes) std::abort();
  }
  std::array<std::byte, kExactPageBytes> page{};
  std::memcpy(page.data(), data, std::min(size, page.size()));
  std::uint64_t fingerprint = 0;
  if (size >= sizeof fingerprint) std::memcpy(&fingerprint, data + size - sizeof fingerprint, sizeof fingerprint);
  std::uint64_t first = 0;
  std::memcpy(&first, page.data(), sizeof first);
  ask_exact_page(page, fingerprint);
  // A sound page holds its first fingerprint, unless its numbers are out of order.
  ask_exact_page(page, first);
  return 0;
}
