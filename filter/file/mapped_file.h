// A regular file mapped read-only: its size from the open descriptor, guarded against SIGBUS. Neither copied nor moved
// (the guard knows its address); owned through unique_ptr.
// A mapping shows what others write into the file (cp, curl -o, rsync --inplace). For serving, either make a private
// copy first (own_copy), which no other user can open, or call changed() regularly.
// Errors: io where the system refuses, and for anything that is no regular file; an empty file maps to an empty span.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/stat.h>
#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <ctime>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <span>

#include "base/handles.h"
#include "filter/file/mapped_pages.h"
#include "filter/result.h"

namespace bloomwall::filter {

// What tells that a file was written to or replaced. Not its ctime, which a rename changes.
struct FileStamp {
  dev_t device = 0;
  ino_t inode = 0;
  off_t size = 0;
  std::int64_t seconds = 0, nanoseconds = 0;  // of the last change of its bytes
  bool same_file(const FileStamp& other) const { return device == other.device && inode == other.inode; }
  friend bool operator==(const FileStamp&, const FileStamp&) = default;
};
FileStamp stamp_of(const struct stat& status);
std::optional<FileStamp> stamp_of(const std::filesystem::path& path);  // nothing where there is none to be seen

// The stamp and the ctime, which no program can set: equal versions are equal bytes, if is_stable(). A link, a rename
// or another mode makes another version of the same bytes.
struct FileVersion {
  FileStamp stamp;
  std::int64_t seconds = 0, nanoseconds = 0;  // ctime
  friend bool operator==(const FileVersion&, const FileVersion&) = default;
};
FileVersion version_of(const struct stat& status);
// Opens the file, because network file systems revalidate their cached attributes on open() (close-to-open
// consistency).
std::optional<FileVersion> version_of(const std::filesystem::path& path);
// Whether every write from now on changes the version. File times have the resolution of the kernel's tick: if the file
// was changed in the current tick, waits for its end, 10 ms at most. False for times in the future, and for two seconds
// on file systems whose times are whole seconds.
bool is_stable(const FileVersion& version);
void let_tick_pass(const FileStamp& stamp);  // likewise, for the last write only

// The bytes that are served: of the original or of a private copy.
enum class ServedFrom : std::uint8_t { original, file_copy, memory_copy };

// How to copy a file that is going to be served.
struct OwnCopy {
  bool wanted = false;                // else the mapping stays what it is
  bool required = false;              // without a copy, only root and this user may have write access
  bool to_disk = false;               // small ones too, where there is a folder
  bool fits_memory = false;           // a copy in memory may be as large as the file
  std::filesystem::path folder = {};  // for copies, files without a name; empty: none
  std::uint64_t replaces = 0;         // octets on that disk that are given up once this copy is served
  friend bool operator==(const OwnCopy&, const OwnCopy&) = default;
};
// Up to this size memory always has room for a copy; up to the smaller one a file in a folder would not be worth its
// inode.
inline constexpr std::uint64_t kSmallFile = std::uint64_t{64} << 20;
inline constexpr std::uint64_t kTinyFile = std::uint64_t{4} << 20;
// Larger ones are copied to a folder only where its file system shares the blocks (reflink).
inline constexpr std::uint64_t kMostCopied = std::uint64_t{8} << 30;

class MappedFile {
 public:
  static Result<std::unique_ptr<MappedFile>> open(const std::filesystem::path& path);
  ~MappedFile();
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;

  const std::filesystem::path& path() const { return path_; }
  std::span<const std::byte> bytes() const { return {address_, size_}; }
  bool lost() const { return guard_ && guard_->lost(); }
  void mark_lost() const {
    if (guard_) guard_->mark_lost();
  }
  int descriptor() const { return file_.get(); }  // of the copy, where that is a file; -1 where it is in memory
  // Fills `out` from the file itself, so that a failing disk is an error and not a signal. Less than all of it: end of
  // file.
  Result<std::size_t> read_at(std::uint64_t offset, std::span<std::byte> out) const;

  ServedFrom served_from() const { return served_from_; }
  // As open() found it.
  const FileVersion& version() const { return version_; }
  const FileStamp& stamp() const { return version_.stamp; }
  // Whether what is mapped is not what open() found any more: written to, cut, or not to be looked at. Never true of a
  // copy. One system call.
  bool changed() const;

  // Between disk and memory. Ranges lie within bytes(). GoOn is told how much is done, and stops the rest with false:
  // error io.
  using GoOn = std::function<bool(std::uint64_t done)>;
  // Every page of the range is in memory once, and mapped; in huge pages where the file system has large folios.
  Result<void> read_in(std::span<const std::byte> range, const GoOn& go_on = {}) const;
  Result<void> lock(std::span<const std::byte> range) const;   // reads it in, too
  void expect_random(std::span<const std::byte> range) const;  // no read-ahead
  // Replaces bytes() by an anonymous copy at the same address. Call it before other threads read it.
  Result<void> copy_to_memory(const GoOn& go_on = {});
  // Whether the page of this address can be read without blocking. One system call; if it can't, newer kernels start to
  // read it. Where the file system can't report residency: whether note_awaited() was called for it.
  bool is_cached(const std::byte* address) const;
  void note_awaited(const std::byte* address) const;  // it has just been read

  // As far as `copy` wants and there is room: bytes() is a copy of its own from now on, at the same
  // address: a file without a name in the folder, which is page cache that can be written back and taken away, or
  // memory. Where it stays the original, what is read from now on can be told from what is written later by changed().
  // A file that is written to meanwhile is refused. Before anybody else reads it. Errors: io, too_short, untrusted.
  Result<void> own_copy(const OwnCopy& copy, const GoOn& go_on = {});

 private:
  MappedFile(std::filesystem::path path, UniqueFd file, const FileVersion& version);
  std::byte* reserve_copy() const;
  Result<void> fill_copy(std::byte* copy, const GoOn& go_on) const;
  Result<bool> copy_to_folder(const std::filesystem::path& folder, std::uint64_t replaces, const GoOn& go_on);
  Result<bool> fill_file(const UniqueFd& copy, const GoOn& go_on) const;
  Result<void> check_stamp() const;
  Result<void> check_writers() const;

  std::filesystem::path path_;
  UniqueFd file_;
  FileVersion version_;
  std::size_t size_;
  mutable AwaitedPages awaited_;
  const std::byte* address_ = nullptr;
  std::optional<BusGuard> guard_;
  ServedFrom served_from_ = ServedFrom::original;
};

}  // namespace bloomwall::filter
