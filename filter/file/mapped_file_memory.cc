// The part of MappedFile that moves bytes between disk and memory before anything is asked, and says which are there.
// SPDX-License-Identifier: Apache-2.0
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/uio.h>

#include <algorithm>
#include <cerrno>

#include "filter/file/mapped_file.h"
#include "filter/file/system_page.h"

namespace bloomwall::filter {
namespace {

constexpr std::size_t kStep = std::size_t{64} << 20;  // between two looks at `go_on`
constexpr std::size_t kHugePage = std::size_t{2} << 20;

// False on kernels before 5.14, and where it fails.
bool populate([[maybe_unused]] std::span<std::byte> range) {
#ifdef MADV_POPULATE_READ
  return madvise(range.data(), range.size(), MADV_POPULATE_READ) == 0;
#else
  return false;
#endif
}

// Reads one octet of each page: what MADV_POPULATE_READ does, for kernels before 5.14.
void touch(std::span<const std::byte> range) {
  for (std::size_t at = 0; at < range.size(); at += system_page()) {
    static_cast<void>(*const_cast<const volatile std::byte*>(range.data() + at));
  }
}

}  // namespace

Result<void> MappedFile::read_in(std::span<const std::byte> range, const GoOn& go_on) const {
  const std::span<std::byte> all = system_pages_of(range);
  madvise(all.data(), all.size(), MADV_HUGEPAGE);  // a hint: file systems with large folios then use them
  for (std::size_t at = 0; at < all.size(); at += kStep) {
    const std::span<std::byte> step = all.subspan(at, std::min(kStep, all.size() - at));
    madvise(step.data(), step.size(), MADV_WILLNEED);
    if (!populate(step)) touch(step);
    if (lost()) return unexpected(Error{Errc::io, path_.string(), "the file failed while it was read into memory"});
    if (go_on && !go_on(at + step.size())) return unexpected(Error{Errc::io, path_.string(), "loading was stopped"});
  }
  return {};
}

Result<void> MappedFile::lock(std::span<const std::byte> range) const {
  const std::span<std::byte> all = system_pages_of(range);
  if (mlock(all.data(), all.size()) != 0) return system_error(path_, "lock in memory (see LimitMEMLOCK=, ulimit -l)");
  return {};
}

void MappedFile::expect_random(std::span<const std::byte> range) const {
  const std::span<std::byte> all = system_pages_of(range);
  madvise(all.data(), all.size(), MADV_RANDOM);
}

// Memory as far into a huge page as the mapping itself begins, or moving it there would split every one of them.
std::byte* MappedFile::reserve_copy() const {
  const std::size_t bytes = (size_ + system_page() - 1) / system_page() * system_page();
  void* const reserved = mmap(nullptr, bytes + kHugePage, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (reserved == MAP_FAILED) return nullptr;
  const auto begin = reinterpret_cast<std::uintptr_t>(reserved);
  const auto wanted = reinterpret_cast<std::uintptr_t>(address_) % kHugePage;
  const std::size_t before = (wanted + kHugePage - begin % kHugePage) % kHugePage;
  auto* const copy = static_cast<std::byte*>(reserved) + before;
  if (before != 0) munmap(reserved, before);
  if (before != kHugePage) munmap(copy + bytes, kHugePage - before);
  madvise(copy, bytes, MADV_HUGEPAGE);
  return copy;
}

Result<void> MappedFile::fill_copy(std::byte* copy, const GoOn& go_on) const {
  for (std::size_t at = 0; at < size_; at += kStep) {
    const std::span<std::byte> step(copy + at, std::min(kStep, size_ - at));
    const auto got = read_at(at, step);
    if (!got) return unexpected(got.error());
    if (*got < step.size()) {
      return unexpected(Error{Errc::too_short, path_.string(), "the file shrank while it was copied"});
    }
    // Memory holds it once, not twice.
    posix_fadvise(file_.get(), static_cast<off_t>(at), static_cast<off_t>(step.size()), POSIX_FADV_DONTNEED);
    if (go_on && !go_on(at + step.size())) return unexpected(Error{Errc::io, path_.string(), "loading was stopped"});
  }
  return {};
}

Result<void> MappedFile::copy_to_memory(const GoOn& go_on) {
  if (size_ == 0) return {};
  std::byte* const copy = reserve_copy();
  if (copy == nullptr) return system_error(path_, "reserve memory for a copy of");
  Result<void> outcome = fill_copy(copy, go_on);
  if (outcome) outcome = check_stamp();
  if (outcome && mprotect(copy, size_, PROT_READ) != 0) outcome = system_error(path_, "protect the copy of");
  void* const place = const_cast<std::byte*>(address_);
  if (outcome && mremap(copy, size_, size_, MREMAP_MAYMOVE | MREMAP_FIXED, place) == MAP_FAILED) {
    outcome = system_error(path_, "move the copy of");
  }
  if (!outcome) {
    munmap(copy, size_);
    return outcome;
  }
  served_from_ = ServedFrom::memory_copy;
  file_ = Descriptor();
  return {};
}

bool MappedFile::is_cached(const std::byte* address) const {
  if (served_from_ == ServedFrom::memory_copy) return true;
  std::byte octet{};
  const iovec into{&octet, 1};
  const auto offset = static_cast<off_t>(address - address_);
  // Not mincore(): it calls everything resident where the file is not ours to write.
  for (;;) {
    const ssize_t got = preadv2(file_.get(), &into, 1, offset, RWF_NOWAIT);
    if (got == 1) return true;
    if (got < 0 && errno == EINTR) continue;
    if (got < 0 && errno == EAGAIN) return false;
    return awaited_.has(static_cast<std::size_t>(offset));  // a file system that can't say, or a read that fails
  }
}

void MappedFile::note_awaited(const std::byte* address) const {
  awaited_.mark(static_cast<std::size_t>(address - address_));
}

}  // namespace bloomwall::filter
