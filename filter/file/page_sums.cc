// SPDX-License-Identifier: Apache-2.0
#include "filter/file/page_sums.h"

#include <fmt/format.h>

#include <cstring>

#include "filter/file/crc32c.h"

namespace bloomwall::filter {

std::vector<std::uint32_t> page_sums_of(std::span<const std::byte> pages) {
  std::vector<std::uint32_t> out;
  out.reserve(pages.size() / kPageBytes);
  for (std::size_t at = 0; at + kPageBytes <= pages.size(); at += kPageBytes) {
    out.push_back(crc32c(pages.subspan(at, kPageBytes)));
  }
  return out;
}

Result<PageSums> PageSums::parse(std::span<const std::byte> section, const Header& header) {
  PageSums out;
  std::uint64_t pages = 0;
  for (const SectionType type : {SectionType::hosts, SectionType::paths, SectionType::raw}) {
    const SectionEntry* const entry = header.find(type);
    if (entry == nullptr) continue;
    out.ranges_.push_back({.begin = entry->offset, .end = entry->offset + entry->length, .first = pages});
    pages += entry->length / kPageBytes;
  }
  if (section.size() % sizeof(std::uint32_t) != 0 || section.size() / sizeof(std::uint32_t) != pages) {
    return unexpected(
        Error{Errc::bad_section, "page sums", fmt::format("{} bytes for {} pages", section.size(), pages)});
  }
  out.sums_.resize(pages);
  if (pages != 0) std::memcpy(out.sums_.data(), section.data(), section.size());
  return out;
}

bool PageSums::matches(std::uint64_t offset, std::span<const std::byte> page) const {
  for (const Range& range : ranges_) {
    if (offset < range.begin || offset >= range.end) continue;
    return crc32c(page) == sums_[range.first + (offset - range.begin) / kPageBytes];
  }
  return true;
}

}  // namespace bloomwall::filter
