// SPDX-License-Identifier: Apache-2.0
#include "filter/file/mapped_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include <algorithm>

namespace bloomwall::filter {

Result<std::unique_ptr<MappedFile>> MappedFile::open(const std::filesystem::path& path) {
  // O_NONBLOCK: a FIFO would wait for a writer before fstat can tell what it is. Of no effect on regular files.
  Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK));
  if (!file) return system_error(path, "open");
  struct stat status{};
  if (fstat(file.get(), &status) != 0) return system_error(path, "look at");
  if (!S_ISREG(status.st_mode)) return unexpected(Error{Errc::io, path.string(), "is not a regular file"});
  std::unique_ptr<MappedFile> out(new MappedFile(path, std::move(file), static_cast<std::size_t>(status.st_size)));
  if (out->size_ == 0) return out;
  void* const at = mmap(nullptr, out->size_, PROT_READ, MAP_SHARED, out->file_.get(), 0);
  if (at == MAP_FAILED) return system_error(path, "map");
  out->address_ = static_cast<const std::byte*>(at);
  const BusGuard& guard = out->guard_.emplace(at, out->size_);
  if (!guard.guarded()) return unexpected(Error{Errc::limit, path.string(), "too many filter files are open"});
  return out;
}

MappedFile::MappedFile(std::filesystem::path path, Descriptor file, std::size_t size)
    : path_(std::move(path)), file_(std::move(file)), size_(size) {}

MappedFile::~MappedFile() {
  guard_.reset();
  if (address_ != nullptr) munmap(const_cast<std::byte*>(address_), size_);
}

Result<std::size_t> MappedFile::read_at(std::uint64_t offset, std::span<std::byte> out) const {
  std::size_t done = 0;
  if (is_copied_) {  // what is checked must be what is asked
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

}  // namespace bloomwall::filter
