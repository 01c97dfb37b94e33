// SPDX-License-Identifier: Apache-2.0
#include "filter/builder/draft_pages.h"

#include <sys/mman.h>

#include <utility>

#include "filter/file/descriptor.h"

namespace bloomwall::filter {

Result<DraftPages> DraftPages::map(const FilterDraft& draft) {
  const std::size_t bytes = draft.end_of_pages();
  void* const at = mmap(nullptr, bytes, PROT_READ, MAP_SHARED, draft.descriptor(), 0);
  if (at == MAP_FAILED) return system_error(draft.path(), "map");
  DraftPages out(static_cast<std::byte*>(at), bytes);
  for (const FilterDraft::PageSection& s : draft.sections()) {
    PageViews& views = out.views_;
    SectionView& view = s.type == SectionType::hosts   ? views.hosts
                        : s.type == SectionType::paths ? views.paths
                                                       : views.raw;
    view = SectionView(s.geometry, out.address_ + s.offset, s.kind());
  }
  return out;
}

DraftPages::DraftPages(DraftPages&& other) noexcept
    : address_(std::exchange(other.address_, nullptr)), bytes_(other.bytes_), views_(other.views_) {}

DraftPages::~DraftPages() {
  if (address_ != nullptr) munmap(address_, bytes_);
}

}  // namespace bloomwall::filter
