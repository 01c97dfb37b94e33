// Section `page_sums` of a .bwf file: CRC-32C of each page of 4 KiB of H, P and R, in this order, 4 bytes
// each, little-endian, and nothing else. Not critical, of files of bits alone. The digests of leaves are compared once,
// when a file is loaded; a page that comes from the disk weeks later is compared with its sum.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "filter/file/header.h"

namespace bloomwall::filter {

// Of whole pages.
std::vector<std::uint32_t> page_sums_of(std::span<const std::byte> pages);

// Of one file. Immutable; thread-safe. Memory: 4 bytes a page.
class PageSums {
 public:
  PageSums() = default;
  // `section`: its bytes, which have been compared with their digest. Errors: bad_section where they are not as many as
  // the header's pages.
  static Result<PageSums> parse(std::span<const std::byte> section, const Header& header);

  bool empty() const { return sums_.empty(); }
  // Whether the page at this offset of the file is what was written; true of what is no page of H, P or R.
  bool matches(std::uint64_t offset, std::span<const std::byte> page) const;

 private:
  struct Range {
    std::uint64_t begin = 0, end = 0;  // in the file
    std::size_t first = 0;             // of its sums
  };
  std::vector<Range> ranges_;
  std::vector<std::uint32_t> sums_;
};

// CRC-32C (Castagnoli): polynomial 0x1EDC6F41, reflected, begun and ended with all ones, as in RFC 3720 (iSCSI). By the
// processor's own instruction where it has one (x86-64 with SSE4.2, arm64 with CRC32): some 0.5 us for a page of 4 KiB.
// Pure and thread-safe.

std::uint32_t crc32c(std::span<const std::byte> bytes);
// The same without that instruction: for machines that lack it, and to compare.
std::uint32_t crc32c_portable(std::span<const std::byte> bytes);

}  // namespace bloomwall::filter
