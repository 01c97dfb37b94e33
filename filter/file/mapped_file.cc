// SPDX-License-Identifier: Apache-2.0
#include "filter/file/mapped_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <linux/fs.h>
#include <linux/magic.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <sys/vfs.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <ctime>
#include <vector>

#include "base/handles.h"
#include "filter/file/mapped_pages.h"
#include "filter/result.h"

namespace bloomwall::filter {
namespace {

// Waits until the clock that file times are taken from has gone on from this time, unless that takes longer than a
// tick. Returns for how long it has, in nanoseconds; not over 0: it has not.
std::int64_t age_after_tick(std::int64_t seconds, std::int64_t nanoseconds) {
  constexpr std::int64_t kTick = 20'000'000;  // ns; the kernel's is finer
  const auto age_of = [&] {
    timespec now{};
    clock_gettime(CLOCK_REALTIME_COARSE, &now);
    return (now.tv_sec - seconds) * 1'000'000'000 + now.tv_nsec - nanoseconds;
  };
  std::int64_t age = age_of();
  for (; age <= 0 && age > -kTick; age = age_of()) {
    const timespec wait{.tv_sec = 0, .tv_nsec = 1'000'000};
    nanosleep(&wait, nullptr);
  }
  return age;
}

// O_NONBLOCK: a FIFO would wait for a writer before fstat can tell what it is. Of no effect on regular files.
constexpr int kOpenToRead = O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK;
constexpr std::size_t kStep = std::size_t{64} << 20;  // between two looks at `go_on`
constexpr std::size_t kHugePage = std::size_t{2} << 20;
constexpr std::size_t kBuffer = std::size_t{1} << 20;

// Empty where the folder takes none. Not O_EXCL: it may get a name (kept_file.h).
UniqueFd nameless_file(const std::filesystem::path& folder) {
  UniqueFd file(::open(folder.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0600));
  if (file) return file;
  std::string name = (folder / ".served.XXXXXX").string();  // a file system without O_TMPFILE
  UniqueFd named(::mkostemp(name.data(), O_CLOEXEC));
  if (named) ::unlink(name.c_str());
  return named;
}

// Room for this copy and the one that will replace it, and a twentieth of the file system besides. `replaces`: octets
// that are given up once this copy is served. What lies in memory anyway is no folder for copies.
bool has_room(int folder_file, std::uint64_t bytes, std::uint64_t replaces) {
  struct statfs facts{};
  if (fstatfs(folder_file, &facts) != 0 || facts.f_type == TMPFS_MAGIC || facts.f_type == RAMFS_MAGIC) return false;
  const auto block = static_cast<std::uint64_t>(facts.f_bsize);
  const std::uint64_t free = facts.f_bavail * block;
  const std::uint64_t margin = facts.f_blocks * block / 20;
  return free > margin && free - margin >= bytes && (free - margin + replaces) / 2 >= bytes;
}

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

FileStamp stamp_of(const struct stat& status) {
  return {.device = status.st_dev,
          .inode = status.st_ino,
          .size = status.st_size,
          .seconds = status.st_mtim.tv_sec,
          .nanoseconds = status.st_mtim.tv_nsec};
}

std::optional<FileStamp> stamp_of(const std::filesystem::path& path) {
  struct stat status{};
  if (::stat(path.c_str(), &status) != 0) return std::nullopt;
  return stamp_of(status);
}

FileVersion version_of(const struct stat& status) {
  return {.stamp = stamp_of(status), .seconds = status.st_ctim.tv_sec, .nanoseconds = status.st_ctim.tv_nsec};
}

std::optional<FileVersion> version_of(const std::filesystem::path& path) {
  const UniqueFd file(::open(path.c_str(), kOpenToRead));
  struct stat status{};
  if (!file || fstat(file.get(), &status) != 0) return std::nullopt;
  return version_of(status);
}

bool is_stable(const FileVersion& version) {
  constexpr std::int64_t kCoarseTick = 2'000'000'000;  // ns, of FAT
  const bool is_coarse = version.nanoseconds == 0 && version.stamp.nanoseconds == 0;
  return age_after_tick(version.seconds, version.nanoseconds) > (is_coarse ? kCoarseTick : 0);
}

// A write within the tick in which the file was last written leaves its time as it is. What is read after that tick was
// written before any later time.
void let_tick_pass(const FileStamp& stamp) { age_after_tick(stamp.seconds, stamp.nanoseconds); }

Result<std::unique_ptr<MappedFile>> MappedFile::open(const std::filesystem::path& path) {
  UniqueFd file(::open(path.c_str(), kOpenToRead));
  if (!file) return system_error(path, "open");
  struct stat status{};
  if (fstat(file.get(), &status) != 0) return system_error(path, "look at");
  if (!S_ISREG(status.st_mode)) return unexpected(Error{Errc::io, path.string(), "is not a regular file"});
  std::unique_ptr<MappedFile> out(new MappedFile(path, std::move(file), version_of(status)));
  if (out->size_ == 0) return out;
  void* const at = mmap(nullptr, out->size_, PROT_READ, MAP_SHARED, out->file_.get(), 0);
  if (at == MAP_FAILED) return system_error(path, "map");
  out->address_ = static_cast<const std::byte*>(at);
  const BusGuard& guard = out->guard_.emplace(at, out->size_);
  if (!guard.guarded()) return unexpected(Error{Errc::limit, path.string(), "too many filter files are open"});
  return out;
}

MappedFile::MappedFile(std::filesystem::path path, UniqueFd file, const FileVersion& version)
    : path_(std::move(path)),
      file_(std::move(file)),
      version_(version),
      size_(static_cast<std::size_t>(version.stamp.size)),
      awaited_(size_) {}

MappedFile::~MappedFile() {
  guard_.reset();
  if (address_ != nullptr) munmap(const_cast<std::byte*>(address_), size_);
}

Result<std::size_t> MappedFile::read_at(std::uint64_t offset, std::span<std::byte> out) const {
  std::size_t done = 0;
  if (served_from_ == ServedFrom::memory_copy) {  // what is checked must be what is asked
    done = offset < size_ ? std::min<std::size_t>(out.size(), size_ - offset) : 0;
    std::copy_n(address_ + offset, done, out.begin());
    return done;
  }
  while (done < out.size()) {
    const ssize_t got = pread(file_.get(), out.data() + done, out.size() - done, static_cast<off_t>(offset + done));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return system_error(path_, "read");
    if (got == 0) break;
    done += static_cast<std::size_t>(got);
  }
  return done;
}

bool MappedFile::changed() const {
  if (served_from_ != ServedFrom::original) return false;
  struct stat status{};
  return fstat(file_.get(), &status) != 0 || stamp_of(status) != stamp();
}

Result<void> MappedFile::check_stamp() const {
  if (!changed()) return {};
  return unexpected(Error{Errc::io, path_.string(),
                          "was written to while it was read; put a whole file in its place by rename, and reload"});
}

// A signed file must not be writable by the user who delivers it: it could be changed after it was verified.
Result<void> MappedFile::check_writers() const {
  struct stat status{};
  if (fstat(file_.get(), &status) != 0) return system_error(path_, "look at");
  const bool by_owner = status.st_uid != 0 && status.st_uid != geteuid();
  if (!by_owner && (status.st_mode & (S_IWGRP | S_IWOTH)) == 0) return {};
  return unexpected(
      Error{Errc::io, path_.string(),
            fmt::format("is to be trusted by its signature, there is no room for a copy of it, and others "
                        "may write to it while it is served (owner {}, mode {:o}): give it to root with "
                        "mode 0644, or give state_dir more room",
                        status.st_uid, status.st_mode & 07777U)});
}

Result<void> MappedFile::own_copy(const OwnCopy& copy, const GoOn& go_on) {
  if (!copy.wanted || size_ == 0) return {};
  const bool to_disk = !copy.folder.empty() && (copy.to_disk || size_ > kTinyFile);
  if (to_disk) {
    const auto done = copy_to_folder(copy.folder, copy.replaces, go_on);
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
Result<bool> MappedFile::copy_to_folder(const std::filesystem::path& folder, std::uint64_t replaces,
                                        const GoOn& go_on) {
  UniqueFd copy = nameless_file(folder);
  if (!copy) return false;
  if (ioctl(copy.get(), FICLONE, file_.get()) != 0) {
    if (size_ > kMostCopied || !has_room(copy.get(), size_, replaces)) return false;
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
Result<bool> MappedFile::fill_file(const UniqueFd& copy, const GoOn& go_on) const {
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
  file_ = UniqueFd();
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
