// SPDX-License-Identifier: Apache-2.0
#include "filter/file/mapped_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include <algorithm>
#include <ctime>

namespace bloomwall::filter {
namespace {

// Waits until the clock that file times are taken from has gone on from this time, unless that takes longer than a tick.
// Returns for how long it has, in nanoseconds; not over 0: it has not.
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
  struct stat status{};
  if (::stat(path.c_str(), &status) != 0) return std::nullopt;
  return version_of(status);
}

bool is_settled(const FileVersion& version) {
  constexpr std::int64_t kCoarseTick = 2'000'000'000;  // ns, of FAT
  const bool is_coarse = version.nanoseconds == 0 && version.stamp.nanoseconds == 0;
  return age_after_tick(version.seconds, version.nanoseconds) > (is_coarse ? kCoarseTick : 0);
}

// A write within the tick in which the file was last written leaves its time as it is. What is read after that tick was
// written before any later time.
void let_tick_pass(const FileStamp& stamp) { age_after_tick(stamp.seconds, stamp.nanoseconds); }

Result<std::unique_ptr<MappedFile>> MappedFile::open(const std::filesystem::path& path) {
  // O_NONBLOCK: a FIFO would wait for a writer before fstat can tell what it is. Of no effect on regular files.
  Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK));
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

MappedFile::MappedFile(std::filesystem::path path, Descriptor file, const FileVersion& version)
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

}  // namespace bloomwall::filter
