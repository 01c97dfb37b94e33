// A regular file mapped read-only: its size from the open descriptor, guarded against SIGBUS. Neither copied nor moved
// (the guard knows its address); owned through unique_ptr.
// Errors: io where the system refuses, and for anything that is no regular file; an empty file maps to an empty span.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>

#include "filter/file/bus_guard.h"
#include "filter/file/descriptor.h"

namespace bloomwall::filter {

class MappedFile {
 public:
  static Result<std::unique_ptr<MappedFile>> open(const std::filesystem::path& path);
  ~MappedFile();
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;

  std::span<const std::byte> bytes() const { return {address_, size_}; }
  bool lost() const { return guard_ && guard_->lost(); }
  int descriptor() const { return file_.get(); }
  // Fills `out` from the file itself, so that a failing disk is an error and not a signal. Less than all of it: end of
  // file.
  Result<std::size_t> read_at(std::uint64_t offset, std::span<std::byte> out) const;

 private:
  MappedFile(std::filesystem::path path, Descriptor file, std::size_t size);
  std::filesystem::path path_;
  Descriptor file_;
  std::size_t size_;
  const std::byte* address_ = nullptr;
  std::optional<BusGuard> guard_;
};

}  // namespace bloomwall::filter
