// Reading and writing the files of a build in slices: header and sections (work_header.h).
// A file appears under its name only when it is whole (temp_file.h), and its bytes follow from its inputs alone, so
// that attempts of the same task that run twice replace each other by the same.
// Errors: io, those of parse_work(), bad_digest where a section is not what was written, limit.
// Threads: a reader is const and shared by all; a writer is one thread's, but for write_at().
// Memory: a section as it is read; nothing of records and pages.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <vector>

#include "base/handles.h"
#include "filter/file/temp_file.h"
#include "filter/slices/work_header.h"

namespace bloomwall::filter {

class WorkFile {
 public:
  // Of that kind, or an error that says what it is.
  static Result<WorkFile> open(const std::filesystem::path& path, WorkKind kind);
  static Result<WorkFile> open(const std::filesystem::path& path);  // of any kind

  const WorkHeader& header() const { return header_; }
  const std::filesystem::path& path() const { return path_; }
  // A section with a sum of its own, compared with it; empty where there is none.
  Result<std::vector<std::byte>> section(WorkSection type) const;
  // All of `into`, from an offset of the file.
  Result<void> read_at(std::uint64_t offset, std::span<std::byte> into) const;
  void forget_cached(std::uint64_t offset, std::uint64_t bytes) const;  // in the page cache

 private:
  WorkFile(std::filesystem::path path, UniqueFd file) : path_(std::move(path)), file_(std::move(file)) {}
  std::filesystem::path path_;
  UniqueFd file_;
  WorkHeader header_;
};

class WorkWriter {
 public:
  static Result<WorkWriter> create(const std::filesystem::path& target, const FileAccess& access);

  // A section with a sum of its own, behind the others; nothing where it is empty.
  Result<void> add(WorkSection type, std::span<const std::byte> bytes);
  // A section without: its place, at a multiple of 4096, and its bytes one after the other or anywhere in it.
  std::uint64_t begin(WorkSection type);
  Result<void> append(std::span<const std::byte> bytes);
  void end(std::uint64_t length);
  int descriptor() const { return file_.descriptor(); }
  const std::filesystem::path& path() const { return file_.path(); }

  // Completes the header, writes it and puts the file in its place. Once.
  Result<void> commit(WorkHeader& header);

 private:
  explicit WorkWriter(TempFile file) : file_(std::move(file)) {}
  Result<void> write_at(std::uint64_t offset, std::span<const std::byte> bytes) const;
  TempFile file_;
  std::vector<WorkEntry> table_;
  std::uint64_t end_ = kHeaderBytes, appended_ = 0;
};

}  // namespace bloomwall::filter
