// SPDX-License-Identifier: Apache-2.0
#include "filter/builder/draft_pages.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "base/handles.h"
#include "filter/result.h"

namespace bloomwall::filter {

Result<PagedFile> PagedFile::open(int descriptor, std::filesystem::path path) {
  const std::string again = fmt::format("/proc/self/fd/{}", descriptor);
  UniqueFd direct(::open(again.c_str(), O_RDWR | O_CLOEXEC | O_DIRECT));
  if (direct) return PagedFile(std::move(path), std::move(direct), true);
  UniqueFd cached(::open(again.c_str(), O_RDWR | O_CLOEXEC));
  if (!cached) cached = UniqueFd(fcntl(descriptor, F_DUPFD_CLOEXEC, 0));  // no /proc
  if (!cached) return system_error(path, "open once more");
  return PagedFile(std::move(path), std::move(cached), false);
}

void PagedFile::drop(std::uint64_t offset, std::uint64_t bytes, bool written) const {
  if (direct_) return;
  const auto at = static_cast<off_t>(offset);
  const auto size = static_cast<off_t>(bytes);
  constexpr unsigned kWriteBack = SYNC_FILE_RANGE_WAIT_BEFORE | SYNC_FILE_RANGE_WRITE | SYNC_FILE_RANGE_WAIT_AFTER;
  if (written) sync_file_range(file_.get(), at, size, kWriteBack);
  posix_fadvise(file_.get(), at, size, POSIX_FADV_DONTNEED);
}

Result<void> PagedFile::read(std::uint64_t offset, std::span<std::byte> into) {
  const std::uint64_t begin = offset;
  const std::uint64_t bytes = into.size();
  while (!into.empty()) {
    const ssize_t done = pread(file_.get(), into.data(), into.size(), static_cast<off_t>(offset));
    if (done < 0 && errno == EINTR) continue;
    if (done < 0) return system_error(path_, "read");
    if (done == 0) return unexpected(Error{Errc::io, path_.string(), "was cut short while it was written"});
    into = into.subspan(static_cast<std::size_t>(done));
    offset += static_cast<std::uint64_t>(done);
  }
  drop(begin, bytes, false);
  read_.fetch_add(bytes, std::memory_order_relaxed);
  return {};
}

Result<void> PagedFile::write(std::uint64_t offset, std::span<const std::byte> bytes) {
  const std::uint64_t begin = offset;
  const std::uint64_t size = bytes.size();
  while (!bytes.empty()) {
    const ssize_t done = pwrite(file_.get(), bytes.data(), bytes.size(), static_cast<off_t>(offset));
    if (done < 0 && errno == EINTR) continue;
    if (done < 0) return system_error(path_, "write");
    bytes = bytes.subspan(static_cast<std::size_t>(done));
    offset += static_cast<std::uint64_t>(done);
  }
  drop(begin, size, true);
  written_.fetch_add(size, std::memory_order_relaxed);
  return {};
}

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
