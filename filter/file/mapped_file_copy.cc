// The part of MappedFile that takes a copy of its own, so that what is verified is what is asked, whatever becomes of the
// file it was made from.
// SPDX-License-Identifier: Apache-2.0
#include <fcntl.h>
#include <fmt/format.h>
#include <linux/fs.h>
#include <linux/magic.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/vfs.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <vector>

#include "filter/file/mapped_file.h"

namespace bloomwall::filter {
namespace {

constexpr std::uint64_t kStep = std::uint64_t{64} << 20;  // between two looks at `go_on`
constexpr std::size_t kBuffer = std::size_t{1} << 20;

// Empty where the folder takes none.
Descriptor nameless_file(const std::filesystem::path& folder) {
  Descriptor file(::open(folder.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC | O_EXCL, 0600));
  if (file) return file;
  std::string name = (folder / ".served.XXXXXX").string();  // a file system without O_TMPFILE
  Descriptor named(::mkostemp(name.data(), O_CLOEXEC));
  if (named) ::unlink(name.c_str());
  return named;
}

// Room for this copy and the one that will replace it, and a twentieth of the file system besides. What lies in memory anyway
// is no folder for copies.
bool has_room(int folder_file, std::uint64_t bytes) {
  struct statfs facts{};
  if (fstatfs(folder_file, &facts) != 0 || facts.f_type == TMPFS_MAGIC || facts.f_type == RAMFS_MAGIC) return false;
  const auto block = static_cast<std::uint64_t>(facts.f_bsize);
  const std::uint64_t free = facts.f_bavail * block;
  const std::uint64_t margin = facts.f_blocks * block / 20;
  return free > margin && (free - margin) / 2 >= bytes;
}

}  // namespace

Result<void> MappedFile::check_stamp() const {
  if (!changed()) return {};
  return unexpected(Error{Errc::io, path_.string(),
                          "was written to while it was read; put a whole file in its place by rename, and reload"});
}

// Who signs a file does not trust those who bring it: they may not be able to change it once it is verified.
Result<void> MappedFile::check_writers() const {
  struct stat status{};
  if (fstat(file_.get(), &status) != 0) return system_error(path_, "look at");
  const bool by_owner = status.st_uid != 0 && status.st_uid != geteuid();
  if (!by_owner && (status.st_mode & (S_IWGRP | S_IWOTH)) == 0) return {};
  return unexpected(
      Error{Errc::untrusted, path_.string(),
            fmt::format("is to be trusted by its signature, there is no room for a copy of it, and others "
                        "may write to it while it is served (owner {}, mode {:o}): give it to root with "
                        "mode 0644, or give state_dir more room",
                        status.st_uid, status.st_mode & 07777U)});
}

Result<void> MappedFile::own_copy(const OwnCopy& copy, const GoOn& go_on) {
  if (!copy.wanted || size_ == 0) return {};
  const bool to_disk = !copy.folder.empty() && (copy.to_disk || size_ > kTinyFile);
  if (to_disk) {
    const auto done = copy_to_folder(copy.folder, go_on);
    if (!done) return unexpected(done.error());
    if (*done) return {};
  }
  if (size_ <= kSmallFile || (copy.required && copy.fits_memory)) return copy_to_memory(go_on);
  if (copy.required) {
    if (auto ok = check_writers(); !ok) return ok;
  }
  let_tick_pass(stamp());
  return check_stamp();
}

// False: there is no room, and nothing has changed.
Result<bool> MappedFile::copy_to_folder(const std::filesystem::path& folder, const GoOn& go_on) {
  Descriptor copy = nameless_file(folder);
  if (!copy) return false;
  if (ioctl(copy.get(), FICLONE, file_.get()) != 0) {
    if (size_ > kMostCopied || !has_room(copy.get(), size_)) return false;
    const auto filled = fill_file(copy, go_on);
    if (!filled || !*filled) return filled;
  }
  if (auto ok = check_stamp(); !ok) return unexpected(ok.error());
  struct stat status{};
  if (fstat(copy.get(), &status) != 0) return system_error(folder, "look at a copy in");
  if (static_cast<std::size_t>(status.st_size) != size_) {
    return unexpected(Error{Errc::too_short, path_.string(), "the file shrank while it was copied"});
  }
  void* const place = const_cast<std::byte*>(address_);
  if (mmap(place, size_, PROT_READ, MAP_SHARED | MAP_FIXED, copy.get(), 0) == MAP_FAILED) {
    return system_error(path_, "map the copy of");
  }
  file_ = std::move(copy);
  served_from_ = ServedFrom::file_copy;
  return true;
}

// False: the folder's disk is full or fails. Memory never holds much of it that could not be written and given up.
Result<bool> MappedFile::fill_file(const Descriptor& copy, const GoOn& go_on) const {
  std::vector<std::byte> buffer(kBuffer);
  if (posix_fallocate(copy.get(), 0, static_cast<off_t>(size_)) == ENOSPC) return false;
  std::uint64_t told = 0;
  for (std::uint64_t at = 0; at < size_;) {
    const auto got = read_at(at, std::span(buffer).first(std::min<std::uint64_t>(kBuffer, size_ - at)));
    if (!got) return unexpected(got.error());
    if (*got == 0) return unexpected(Error{Errc::too_short, path_.string(), "the file shrank while it was copied"});
    for (std::size_t written = 0; written < *got;) {
      const ssize_t done =
          pwrite(copy.get(), buffer.data() + written, *got - written, static_cast<off_t>(at + written));
      if (done < 0 && errno == EINTR) continue;
      if (done < 0) return false;
      written += static_cast<std::size_t>(done);
    }
    at += *got;
    if (at - told < kStep && at < size_) continue;
    sync_file_range(copy.get(), static_cast<off_t>(told), static_cast<off_t>(at - told), SYNC_FILE_RANGE_WRITE);
    posix_fadvise(file_.get(), static_cast<off_t>(told), static_cast<off_t>(at - told), POSIX_FADV_DONTNEED);
    told = at;
    if (go_on && !go_on(at)) return unexpected(Error{Errc::io, path_.string(), "loading was stopped"});
  }
  return true;
}

}  // namespace bloomwall::filter
