// A regular file mapped read-only: its size from the open descriptor, guarded against SIGBUS. Neither copied nor moved
// (the guard knows its address); owned through unique_ptr.
// Errors: io where the system refuses, and for anything that is no regular file; an empty file maps to an empty span.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <filesystem>
#include <functional>
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

  // mapped_file_memory.cc. Ranges lie within bytes(). GoOn is told how much is done, and stops the rest with false: error io.
  using GoOn = std::function<bool(std::uint64_t done)>;
  // Every page of the range is in memory once, and mapped; in huge pages where the file system has large folios.
  Result<void> read_in(std::span<const std::byte> range, const GoOn& go_on = {}) const;
  Result<void> lock(std::span<const std::byte> range) const;   // reads it in, too
  void expect_random(std::span<const std::byte> range) const;  // no read-ahead
  // bytes() is an anonymous copy from now on, at the same address. Before anybody else reads it.
  Result<void> copy_to_memory(const GoOn& go_on = {});
  // Whether the page of this address can be read without waiting. One system call; where it can't, newer kernels begin to
  // read it. False where the file system can't say.
  bool is_cached(const std::byte* address) const;

 private:
  std::byte* reserve_copy() const;
  Result<void> fill_copy(std::byte* copy, const GoOn& go_on) const;
  MappedFile(std::filesystem::path path, Descriptor file, std::size_t size);
  std::filesystem::path path_;
  Descriptor file_;
  std::size_t size_;
  const std::byte* address_ = nullptr;
  std::optional<BusGuard> guard_;
  bool is_copied_ = false;
};

}  // namespace bloomwall::filter
