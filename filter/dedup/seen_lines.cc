// SPDX-License-Identifier: Apache-2.0
#include "filter/dedup/seen_lines.h"

#include <fmt/format.h>
#include <sys/mman.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "filter/bits/bloom_math.h"
#include "filter/builder/quantity.h"
#include "filter/builder/ram_budget.h"

namespace bloomwall::filter {

void SeenLines::Unmap::operator()(std::byte* memory) const noexcept { munmap(memory, bytes); }

SeenLines::SeenLines(const Geometry& geometry, const SeriesKey& key, Memory memory)
    : geometry_(geometry), keys_(key), memory_(std::move(memory)), writer_(geometry, memory_.get(), SectionKind::raw) {}

Result<SeenLines> SeenLines::create(const Geometry& geometry, const SeriesKey& key) {
  const std::uint64_t bytes = geometry.bytes();
  // The kernel promises more than it has: what is not there shows in the middle, and the process is killed.
  if (const std::uint64_t free = available_ram(); bytes > free) {
    return unexpected(Error{
        Errc::limit, {}, fmt::format("{} of memory are wanted, {} are free", format_bytes(bytes), format_bytes(free))});
  }
  void* const at = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (at == MAP_FAILED) {
    return unexpected(
        Error{Errc::limit, {}, fmt::format("cannot get {} of memory: {}", format_bytes(bytes), std::strerror(errno))});
  }
  madvise(at, bytes, MADV_HUGEPAGE);  // without it the same, only slower
  return SeenLines(geometry, key, Memory(static_cast<std::byte*>(at), Unmap{bytes}));
}

double SeenLines::fill() const { return fill_error(geometry_.layout, writer_.bytes()); }

}  // namespace bloomwall::filter
