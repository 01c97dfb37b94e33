// SPDX-License-Identifier: Apache-2.0
#include "filter/file/temp_file.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>

#include <cstdlib>
#include <string_view>
#include <system_error>
#include <utility>

namespace bloomwall::filter {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kSuffix = ".bwf-tmp";
constexpr std::size_t kRandomLetters = 6;
constexpr mode_t kMode = 0640;

std::string prefix_of(const fs::path& target) { return "." + target.filename().string() + "."; }
fs::path folder_of(const fs::path& target) { return target.has_parent_path() ? target.parent_path() : fs::path("."); }

bool is_temporary_name(const std::string& name, const std::string& prefix) {
  return name.size() == prefix.size() + kRandomLetters + kSuffix.size() && name.starts_with(prefix) &&
         name.ends_with(kSuffix);
}

// Removes it if nobody holds its lock.
void remove_if_dead(const fs::path& path) {
  const Descriptor file(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
  struct stat status{};
  if (!file || fstat(file.get(), &status) != 0 || !S_ISREG(status.st_mode)) return;
  if (flock(file.get(), LOCK_EX | LOCK_NB) == 0) unlink(path.c_str());
}

// Best effort: a folder that can't be read is a folder whose leftovers stay.
void remove_leftovers(const fs::path& target) {
  const std::string prefix = prefix_of(target);
  std::error_code error;
  fs::directory_iterator at(folder_of(target), error);
  for (; !error && at != fs::directory_iterator(); at.increment(error)) {
    if (is_temporary_name(at->path().filename().string(), prefix)) remove_if_dead(at->path());
  }
}

Result<fs::path> resolve(const fs::path& target) {
  std::error_code error;
  const fs::file_status status = fs::symlink_status(target, error);
  fs::path out = target;
  if (fs::is_symlink(status)) {
    out = fs::canonical(target, error);
    if (error) return system_error(target, "follow the link", error.value());
  }
  const fs::file_status real = fs::status(out, error);
  if (fs::exists(real) && !fs::is_regular_file(real)) {
    return unexpected(Error{Errc::io, target.string(), "exists and is not a regular file"});
  }
  return out;
}

bool still_there(int fd) {
  struct stat status{};
  return fstat(fd, &status) == 0 && status.st_nlink > 0;
}

}  // namespace

Result<TempFile> TempFile::create(const fs::path& target) {
  auto resolved = resolve(target);
  if (!resolved) return unexpected(std::move(resolved).error());
  remove_leftovers(*resolved);
  // A build that starts at the same time may take the file for a leftover before it is locked: then make another.
  constexpr int kTries = 100;
  for (int i = 0; i < kTries; ++i) {
    std::string name = folder_of(*resolved) / (prefix_of(*resolved) + std::string(kRandomLetters, 'X'));
    name += kSuffix;
    Descriptor file(mkostemps(name.data(), static_cast<int>(kSuffix.size()), O_CLOEXEC));
    if (!file) return system_error(target, "create a file beside it");
    if (flock(file.get(), LOCK_EX) == 0 && still_there(file.get())) {
      return TempFile(*std::move(resolved), std::move(name), std::move(file));
    }
    unlink(name.c_str());
  }
  return unexpected(Error{Errc::io, target.string(), "cannot lock a file beside it"});
}

TempFile::TempFile(fs::path target, fs::path path, Descriptor file)
    : target_(std::move(target)), path_(std::move(path)), file_(std::move(file)) {}

TempFile::TempFile(TempFile&& other) noexcept
    : target_(std::move(other.target_)),
      path_(std::exchange(other.path_, {})),
      file_(std::move(other.file_)),
      is_prepared_(other.is_prepared_) {}

TempFile::~TempFile() {
  if (!path_.empty()) unlink(path_.c_str());
}

Result<void> TempFile::prepare() {
  if (fchmod(file_.get(), kMode) != 0) return system_error(path_, "set the mode");
  if (fsync(file_.get()) != 0) return system_error(path_, "sync");
  is_prepared_ = true;
  return {};
}

Result<void> TempFile::commit() {
  if (!is_prepared_) {
    if (auto ok = prepare(); !ok) return ok;
  }
  if (rename(path_.c_str(), target_.c_str()) != 0) return system_error(target_, "replace");
  path_.clear();
  const Descriptor folder(open(folder_of(target_).c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!folder || fsync(folder.get()) != 0) return system_error(folder_of(target_), "sync");
  return {};
}

Result<void> replace_file(const fs::path& target, std::string_view content) {
  auto file = TempFile::create(target);
  if (!file) return unexpected(std::move(file).error());
  while (!content.empty()) {
    const ssize_t done = ::write(file->descriptor(), content.data(), content.size());
    if (done < 0 && errno == EINTR) continue;
    if (done < 0) return system_error(target, "write");
    content.remove_prefix(static_cast<std::size_t>(done));
  }
  return file->commit();
}

}  // namespace bloomwall::filter
