// SPDX-License-Identifier: Apache-2.0
#include "filter/lists/spool.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <stdlib.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstddef>
#include <cstring>
#include <filesystem>
#include <system_error>

namespace bloomwall::filter {

Result<UniqueFd> file_without_name() {
  std::error_code failed;
  const std::filesystem::path folder = std::filesystem::temp_directory_path(failed);
  if (failed) return unexpected(Error{Errc::io, folder.string(), failed.message()});
  std::string name = (folder / "bloomwall-lists-XXXXXX").string();
  UniqueFd file(::mkostemp(name.data(), O_CLOEXEC));
  if (!file)
    return unexpected(Error{Errc::io, folder.string(), fmt::format("cannot unpack here: {}", std::strerror(errno))});
  ::unlink(name.c_str());
  return file;
}

bool is_stopped(const UnpackLimit& limit) {
  return limit.stop != nullptr && limit.stop->load(std::memory_order_relaxed);
}

Error interrupted(const std::string& name) { return Error{Errc::io, name, "interrupted"}; }

Result<void> Spool::write(std::string_view piece) {
  if (is_stopped(limit_)) return unexpected(interrupted(name_));
  if (piece.size() > limit_.most_bytes - written_) {
    if (limit_.is_passed != nullptr) *limit_.is_passed = true;
    return unexpected(Error{Errc::limit, name_, too_large_});
  }
  while (!piece.empty()) {
    const ssize_t done = ::write(file_.get(), piece.data(), piece.size());
    if (done < 0 && errno == EINTR) continue;
    if (done < 0) return unexpected(Error{Errc::io, name_, fmt::format("cannot unpack: {}", std::strerror(errno))});
    piece.remove_prefix(static_cast<std::size_t>(done));
    written_ += static_cast<std::uint64_t>(done);
  }
  return {};
}

}  // namespace bloomwall::filter
