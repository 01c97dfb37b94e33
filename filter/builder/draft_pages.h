// The pages of a draft, mapped so that they can be asked while they are not a file yet: for exceptions and measurements.
// Once every page is written. Address space, no memory but the page cache; unmapped with the object.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>

#include "filter/bits/section.h"
#include "filter/file/descriptor.h"
#include "filter/file/filter_draft.h"
#include "filter/result.h"

namespace bloomwall::filter {

// Large pieces of a file read and written without leaving them in the page cache: O_DIRECT where the file system has it, else
// written back and dropped at once. What else runs on the machine, a proxy that serves the last build of this very file,
// say, keeps its cache.

// Offsets, lengths and addresses are multiples of 4096. Thread-safe.
class PagedFile {
 public:
  // The open file `descriptor` once more; `path` stands in errors.
  static Result<PagedFile> open(int descriptor, std::filesystem::path path);
  PagedFile(PagedFile&& other) noexcept
      : path_(std::move(other.path_)), file_(std::move(other.file_)), direct_(other.direct_) {}

  Result<void> read(std::uint64_t offset, std::span<std::byte> into);
  Result<void> write(std::uint64_t offset, std::span<const std::byte> bytes);
  std::uint64_t bytes_read() const { return read_.load(std::memory_order_relaxed); }
  std::uint64_t bytes_written() const { return written_.load(std::memory_order_relaxed); }
  bool is_direct() const { return direct_; }

 private:
  PagedFile(std::filesystem::path path, Descriptor file, bool direct)
      : path_(std::move(path)), file_(std::move(file)), direct_(direct) {}
  void drop(std::uint64_t offset, std::uint64_t bytes, bool written) const;
  std::filesystem::path path_;
  Descriptor file_;
  bool direct_;
  std::atomic<std::uint64_t> read_ = 0, written_ = 0;
};

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
