// FilterFile::settle: where the bytes of a served filter are to be.
// SPDX-License-Identifier: Apache-2.0
#include "filter/file/filter_file.h"
#include "filter/file/mapped_file.h"

namespace bloomwall::filter {

Result<void> FilterFile::settle(MemoryUse use, const Progress& progress) {
  const std::uint64_t total = map_->bytes().size();
  const auto chosen = choose_residence(use, total, memory_facts(), path_);
  if (!chosen) return unexpected(chosen.error());
  const auto go_on = [&](std::uint64_t done) { return !progress || progress(done, total); };
  Result<void> outcome;
  switch (*chosen) {
    case Residence::unmanaged:
      break;
    case Residence::resident:
      outcome = map_->read_in(map_->bytes(), go_on);
      break;
    case Residence::locked:
      outcome = map_->read_in(map_->bytes(), go_on);
      if (outcome) outcome = map_->lock(map_->bytes());
      break;
    case Residence::copied:
      outcome = map_->copy_to_memory(go_on);
      break;
    case Residence::paged:
      outcome = settle_paged();
      break;
  }
  if (outcome) residence_ = *chosen;
  return outcome;
}

// Questions to P and R are anywhere: reading ahead of them would fill memory with what nobody asked for. All other sections
// are small and asked by every request. A system that locks no memory still gets them read in.
Result<void> FilterFile::settle_paged() {
  hosts_locked_ = true;
  for (const SectionEntry& section : header_.sections) {
    const std::span<const std::byte> bytes = section_bytes(section.type);
    if (section.type == SectionType::paths || section.type == SectionType::raw) {
      map_->expect_random(bytes);
      continue;
    }
    if (section.type == SectionType::leaves || section.type == SectionType::info) continue;  // no question reads them
    if (Result<void> read = map_->read_in(bytes); !read) return read;
    hosts_locked_ = map_->lock(bytes).has_value() && hosts_locked_;
  }
  return {};
}

bool FilterFile::is_cached(const std::byte* page) const { return map_->is_cached(page); }

}  // namespace bloomwall::filter
