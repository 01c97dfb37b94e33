// SPDX-License-Identifier: Apache-2.0
#include "filter/file/kept_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <linux/fs.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <span>
#include <string>
#include <vector>

#include "base/handles.h"
#include "filter/file/temp_file.h"

namespace bloomwall::filter {
namespace {

constexpr std::size_t kPiece = std::size_t{1} << 20;
constexpr mode_t kReadOnly = 0400;

Result<void> write_all(int into, std::span<const std::byte> bytes, const std::filesystem::path& target) {
  while (!bytes.empty()) {
    const ssize_t done = ::write(into, bytes.data(), bytes.size());
    if (done < 0 && errno == EINTR) continue;
    if (done < 0) return system_error(target, "write");
    bytes = bytes.subspan(static_cast<std::size_t>(done));
  }
  return {};
}

bool has_bytes(const std::filesystem::path& file, std::span<const std::byte> wanted) {
  const auto map = MappedFile::open(file);
  return map && (*map)->bytes().size() == wanted.size() && std::ranges::equal((*map)->bytes(), wanted) &&
         !(*map)->lost();
}

// From the beginning, whatever the place of the descriptor is.
Result<void> copy_all(int from, const TempFile& into, const std::filesystem::path& target) {
  if (ioctl(into.descriptor(), FICLONE, from) == 0) return {};
  std::vector<std::byte> buffer(kPiece);
  for (off_t at = 0;;) {
    const ssize_t got = ::pread(from, buffer.data(), buffer.size(), at);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return system_error(target, "copy");
    if (got == 0) return {};
    const auto piece = std::span(buffer).first(static_cast<std::size_t>(got));
    if (auto ok = write_all(into.descriptor(), piece, target); !ok) return ok;
    at += got;
  }
}

// False: it cannot be given a name: it had one once, or lies on another file system.
Result<bool> name_it(int file, const std::filesystem::path& target) {
  const std::filesystem::path link = fmt::format("/proc/self/fd/{}", file);
  std::filesystem::path temporary = target;
  temporary += ".new";
  ::unlink(temporary.c_str());  // of a process that was killed
  if (::linkat(AT_FDCWD, link.c_str(), AT_FDCWD, temporary.c_str(), AT_SYMLINK_FOLLOW) != 0) return false;
  const bool is_synced = ::fchmod(file, kReadOnly) == 0 && ::fsync(file) == 0;
  if (is_synced && ::rename(temporary.c_str(), target.c_str()) == 0) {
    const UniqueFd folder(::open(target.parent_path().c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (folder) ::fsync(folder.get());
    return true;
  }
  const int why = errno;
  ::unlink(temporary.c_str());
  return system_error(target, "keep", why);
}

template <typename Fill>
Result<void> write_file(const std::filesystem::path& target, const Fill& fill,
                        const FileAccess& access = {.mode = kReadOnly}) {
  auto into = TempFile::create(target, access);
  if (!into) return unexpected(into.error());
  if (auto ok = fill(*into); !ok) return ok;
  return into->commit();
}

}  // namespace

Result<bool> keep_served(const MappedFile& map, const std::filesystem::path& target, bool is_same) {
  if (map.served_from() == ServedFrom::original) return false;
  const bool is_small = map.bytes().size() <= kSmallFile;
  Result<void> written;
  if (map.served_from() == ServedFrom::memory_copy) {
    if (!is_small) return false;  // no room for it, or it would have been copied there
    if (is_same && has_bytes(target, map.bytes())) return true;
    written =
        write_file(target, [&](const TempFile& into) { return write_all(into.descriptor(), map.bytes(), target); });
  } else {
    struct stat served{}, there{};
    if (fstat(map.descriptor(), &served) != 0) return system_error(map.path(), "look at the copy of");
    if (::stat(target.c_str(), &there) == 0 && stamp_of(there).same_file(stamp_of(served))) return true;
    auto named = name_it(map.descriptor(), target);
    if (!named || *named) return named;
    if (is_same) return true;
    if (!is_small) return false;
    written = write_file(target, [&](const TempFile& into) { return copy_all(map.descriptor(), into, target); });
  }
  if (!written) return unexpected(written.error());
  return true;
}

Result<void> keep_copy(const std::filesystem::path& from, const std::optional<FileVersion>& version,
                       const std::filesystem::path& target, const FileAccess& access) {
  const UniqueFd file(::open(from.c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK));
  if (!file) return system_error(from, "open");
  const auto is_same = [&] {
    struct stat status{};
    return fstat(file.get(), &status) == 0 && S_ISREG(status.st_mode) && version == version_of(status);
  };
  const auto changed = [&] { return unexpected(Error{Errc::io, from.string(), "has changed since it was read"}); };
  if (!is_same()) return changed();
  const auto fill = [&](const TempFile& into) -> Result<void> {
    if (auto ok = copy_all(file.get(), into, target); !ok) return ok;
    if (!is_same()) return changed();
    return {};
  };
  return write_file(target, fill, access);
}

}  // namespace bloomwall::filter
