// A section with memory of its own, for tests.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <memory>
#include <vector>

#include "filter/bits/section.h"

namespace bloomwall::filter {

class OwnedSection {
 public:
  explicit OwnedSection(const Geometry& geometry, SectionKind kind = SectionKind::paths)
      : memory_(geometry.bytes() + kLineBytes), writer_(geometry, aligned(), kind) {}
  SectionWriter& writer() { return writer_; }
  SectionView view() const { return writer_.view(); }

 private:
  std::byte* aligned() {
    void* at = memory_.data();
    std::size_t space = memory_.size();
    return static_cast<std::byte*>(std::align(kLineBytes, memory_.size() - kLineBytes, at, space));
  }
  std::vector<std::byte> memory_;
  SectionWriter writer_;
};

}  // namespace bloomwall::filter
