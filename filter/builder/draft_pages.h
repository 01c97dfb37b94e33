// Access to the pages of a file that is being written: PagedFile reads and writes large pieces of it past the page
// cache, DraftPages maps its pages for look-ups.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>

#include "base/handles.h"
#include "filter/bits/section.h"
#include "filter/file/filter_writer.h"
#include "filter/result.h"

namespace bloomwall::filter {

// Reads and writes large pieces of a file without leaving them in the page cache: O_DIRECT where the file system has
// it, else written back and dropped at once. So other programs keep their cache, such as a proxy that serves the last
// build.

// Offsets, lengths and addresses are multiples of 4096. Thread-safe.
class PagedFile {
 public:
  // Reopens the file of `descriptor`; `path` stands in errors.
  static Result<PagedFile> open(int descriptor, std::filesystem::path path);
  PagedFile(PagedFile&& other) noexcept
      : path_(std::move(other.path_)), file_(std::move(other.file_)), direct_(other.direct_) {}

  Result<void> read(std::uint64_t offset, std::span<std::byte> into);
  Result<void> write(std::uint64_t offset, std::span<const std::byte> bytes);
  std::uint64_t bytes_read() const { return read_.load(std::memory_order_relaxed); }
  std::uint64_t bytes_written() const { return written_.load(std::memory_order_relaxed); }

 private:
  PagedFile(std::filesystem::path path, UniqueFd file, bool direct)
      : path_(std::move(path)), file_(std::move(file)), direct_(direct) {}
  void drop(std::uint64_t offset, std::uint64_t bytes, bool written) const;
  std::filesystem::path path_;
  UniqueFd file_;
  bool direct_;
  std::atomic<std::uint64_t> read_ = 0, written_ = 0;
};

// The sections that can be asked; a missing one is false.
struct PageViews {
  SectionView hosts, paths, raw;
};

// The pages of a draft, mapped once every page is written: for exceptions and measurements. Takes address space, no
// memory but the page cache.
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
