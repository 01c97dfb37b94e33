// FilterFile::settle: where the bytes of a served filter are to be.
// SPDX-License-Identifier: Apache-2.0
#include "filter/file/filter_file.h"

namespace bloomwall::filter {

Result<void> FilterFile::settle(MemoryUse use, const Progress& progress, OwnCopy copy) {
  const std::uint64_t total = map_->bytes().size();
  const MemoryFacts memory = memory_facts();
  const auto chosen = choose_residence(use, total, memory, path_);
  if (!chosen) return unexpected(chosen.error());
  const auto go_on = [&](std::uint64_t done) { return !progress || progress(done, total); };
  if (*chosen != Residence::copied) {
    copy.to_disk = use == MemoryUse::paged;
    copy.fits_memory = *chosen != Residence::paged;
    if (auto ok = map_->own_copy(copy, go_on); !ok) return ok;
  }
  const bool is_in_memory = map_->served_from() == ServedFrom::memory_copy;
  Result<void> outcome;
  switch (*chosen) {
    case Residence::unmanaged:
      break;
    case Residence::resident:
      if (!is_in_memory) outcome = map_->read_in(map_->bytes(), go_on);
      break;
    case Residence::locked:
      outcome = map_->read_in(map_->bytes(), go_on);
      if (outcome) outcome = map_->lock(map_->bytes());
      break;
    case Residence::copied:
      outcome = map_->copy_to_memory(go_on);
      break;
    case Residence::paged:
      if (!is_in_memory) outcome = settle_paged();
      break;
  }
  if (!outcome) return outcome;
  residence_ = is_in_memory && *chosen != Residence::locked ? Residence::copied : *chosen;
  return {};
}

// Questions to P and R are anywhere: reading ahead of them would fill memory with what nobody asked for. All other sections
// are small and asked by every request. A system that locks no memory still gets them read in.
Result<void> FilterFile::settle_paged() {
  auto sums = read_page_sums();
  if (!sums) return unexpected(sums.error());
  page_sums_ = *std::move(sums);
  hosts_locked_ = true;
  for (const SectionEntry& section : header_.sections) {
    const std::span<const std::byte> bytes = section_bytes(section.type);
    if (section.type == SectionType::paths || section.type == SectionType::raw) {
      map_->expect_random(bytes);
      continue;
    }
    if (section.type == SectionType::leaves || section.type == SectionType::info ||
        section.type == SectionType::page_sums || section.type == SectionType::networks) {
      continue;  // no question reads them here: networks have been read into memory of their own
    }
    if (Result<void> read = map_->read_in(bytes); !read) return read;
    hosts_locked_ = map_->lock(bytes).has_value() && hosts_locked_;
  }
  return {};
}

bool FilterFile::is_cached(const std::byte* page) const { return map_->is_cached(page); }

}  // namespace bloomwall::filter
