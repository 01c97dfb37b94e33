// The pages of a draft, mapped so that they can be asked while they are not a file yet: for exceptions and measurements.
// Once every page is written. Address space, no memory but the page cache; unmapped with the object.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

#include "filter/bits/section.h"
#include "filter/file/filter_draft.h"

namespace bloomwall::filter {

// What there is to ask; a section that is not there is false.
struct PageViews {
  SectionView hosts, paths, raw;
};

class DraftPages {
 public:
  // Errors: io. The draft outlives it.
  static Result<DraftPages> map(const FilterDraft& draft);
  ~DraftPages();
  DraftPages(DraftPages&& other) noexcept;
  DraftPages& operator=(DraftPages&&) = delete;

  const PageViews& views() const { return views_; }

 private:
  DraftPages(std::byte* address, std::size_t bytes) : address_(address), bytes_(bytes) {}
  std::byte* address_;
  std::size_t bytes_;
  PageViews views_;
};

}  // namespace bloomwall::filter
