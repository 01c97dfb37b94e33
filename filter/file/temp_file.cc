// SPDX-License-Identifier: Apache-2.0
#include "filter/file/temp_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/xattr.h>

#include <cerrno>
#include <charconv>
#include <chrono>
#include <cstdlib>
#include <fstream>
#include <string>
#include <string_view>
#include <system_error>
#include <thread>
#include <utility>

#include "base/handles.h"
#include "filter/result.h"

namespace bloomwall::filter {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kSuffix = ".bwf-tmp";
constexpr std::size_t kRandomLetters = 6;
constexpr mode_t kPermissions = 0777;
constexpr const char* kAccessList = "system.posix_acl_access";

std::string prefix_of(const fs::path& target) { return "." + target.filename().string() + "."; }
fs::path folder_of(const fs::path& target) { return target.has_parent_path() ? target.parent_path() : fs::path("."); }

bool is_temporary_name(const std::string& name, const std::string& prefix) {
  return name.size() == prefix.size() + kRandomLetters + kSuffix.size() && name.starts_with(prefix) &&
         name.ends_with(kSuffix);
}

// Removes it if no process holds its lock.
void remove_if_dead(const fs::path& path) {
  const UniqueFd file(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
  struct stat status{};
  if (!file || fstat(file.get(), &status) != 0 || !S_ISREG(status.st_mode)) return;
  if (flock(file.get(), LOCK_EX | LOCK_NB) == 0) unlink(path.c_str());
}

// Best effort: in a folder that can't be read leftovers stay.
void remove_leftovers(const fs::path& target) {
  const std::string prefix = prefix_of(target);
  std::error_code error;
  fs::directory_iterator at(folder_of(target), error);
  for (; !error && at != fs::directory_iterator(); at.increment(error)) {
    if (is_temporary_name(at->path().filename().string(), prefix)) remove_if_dead(at->path());
  }
}

Result<void> check_link(const fs::path& link) {
  struct stat status{};
  if (lstat(link.c_str(), &status) != 0) return system_error(link, "look at");
  if (status.st_uid == 0 || status.st_uid == geteuid()) return {};
  return unexpected(
      Error{Errc::io, link.string(),
            fmt::format("is a link that user {} has made, who could have anything replaced: name the file itself",
                        status.st_uid)});
}

// Where links lead to. One that somebody else has made is not followed: root writes to folders of the service.
Result<fs::path> resolve(const fs::path& target) {
  constexpr int kMostLinks = 40;  // as the kernel
  std::error_code error;
  fs::path out = target;
  int links = 0;
  for (; links < kMostLinks && fs::is_symlink(fs::symlink_status(out, error)); ++links) {
    if (auto ok = check_link(out); !ok) return unexpected(std::move(ok).error());
    out = folder_of(out) / fs::read_symlink(out, error);
  }
  if (links > 0) {
    out = fs::canonical(out, error);
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

// umask(2) tells it only by changing it, for all threads; the kernel writes it down since 4.7.
mode_t umask_of_process() {
  std::ifstream status("/proc/self/status");
  constexpr std::string_view kField = "Umask:\t";
  for (std::string line; std::getline(status, line);) {
    if (!line.starts_with(kField)) continue;
    unsigned value = 0;
    std::from_chars(line.data() + kField.size(), line.data() + line.size(), value, 8);
    return value & kPermissions;
  }
  return 077;
}

std::vector<char> access_list_of(const fs::path& path) {
  const ssize_t size = getxattr(path.c_str(), kAccessList, nullptr, 0);
  if (size <= 0) return {};
  std::vector<char> out(static_cast<std::size_t>(size));
  const ssize_t got = getxattr(path.c_str(), kAccessList, out.data(), out.size());
  if (got != size) out.clear();
  return out;
}

// A file system without locks: the file is not removed as a leftover, because that needs the same lock.
bool has_no_locks(int error) { return error == ENOLCK || error == EOPNOTSUPP || error == ENOSYS; }

// Locks a folder until the descriptor is closed. Every process that may read the folder can hold the lock, so there is
// a timeout.
Result<void> take_lock(const fs::path& folder, int descriptor) {
  constexpr std::chrono::milliseconds kBetweenTries{5};
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(10);
  while (flock(descriptor, LOCK_EX | LOCK_NB) != 0) {
    if (has_no_locks(errno)) return {};
    if (errno != EWOULDBLOCK && errno != EINTR) return system_error(folder, "lock");
    if (std::chrono::steady_clock::now() > deadline) {
      return unexpected(Error{Errc::io, folder.string(), "has been locked by another command for 10 s"});
    }
    std::this_thread::sleep_for(kBetweenTries);
  }
  return {};
}

}  // namespace

Result<void> TempFile::take_access(const FileAccess& access) {
  struct stat there{};
  struct stat own{};
  if (fstat(file_.get(), &own) != 0) return system_error(path_, "look at");
  const bool replaces = stat(target_.c_str(), &there) == 0;
  mode_ = access.mode.value_or(replaces ? there.st_mode & kPermissions : 0666 & ~umask_of_process());
  const gid_t group = access.group.value_or(replaces ? there.st_gid : own.st_gid);
  if (group != own.st_gid && fchown(file_.get(), static_cast<uid_t>(-1), group) != 0) {
    return system_error(target_, fmt::format("give it group {}{}", group,
                                             access.group ? "" : ", that of the file there (--group names another),")
                                     .c_str());
  }
  if (!replaces) return {};
  // Only root gives files away. Others may go on where more than its owner was allowed to read the file.
  const bool kept = there.st_uid == own.st_uid || fchown(file_.get(), there.st_uid, static_cast<gid_t>(-1)) == 0;
  if (!kept && (mode_ & 0044) == 0) {
    return system_error(
        target_,
        fmt::format("give it to user {}, who alone may read the file there (--mode lets others),", there.st_uid)
            .c_str());
  }
  if (!access.mode && !access.group) access_list_ = access_list_of(target_);
  return {};
}

Result<TempFile> TempFile::create(const fs::path& target, const FileAccess& access) {
  auto resolved = resolve(target);
  if (!resolved) return unexpected(std::move(resolved).error());
  remove_leftovers(*resolved);
  // A build that starts at the same time may take the file for a leftover before it is locked: then make another.
  constexpr int kTries = 100;
  for (int i = 0; i < kTries; ++i) {
    std::string name = folder_of(*resolved) / (prefix_of(*resolved) + std::string(kRandomLetters, 'X'));
    name += kSuffix;
    UniqueFd file(mkostemps(name.data(), static_cast<int>(kSuffix.size()), O_CLOEXEC));
    if (!file) return system_error(target, "create a file beside it");
    const bool is_locked = flock(file.get(), LOCK_EX) == 0 || has_no_locks(errno);
    if (is_locked && still_there(file.get())) {
      TempFile out(*std::move(resolved), std::move(name), std::move(file));
      if (auto ok = out.take_access(access); !ok) return unexpected(std::move(ok).error());
      return out;
    }
    unlink(name.c_str());
  }
  return unexpected(Error{Errc::io, target.string(), "cannot lock a file beside it"});
}

TempFile::TempFile(fs::path target, fs::path path, UniqueFd file)
    : target_(std::move(target)), path_(std::move(path)), file_(std::move(file)) {}

TempFile::TempFile(TempFile&& other) noexcept
    : target_(std::move(other.target_)),
      path_(std::exchange(other.path_, {})),
      file_(std::move(other.file_)),
      mode_(other.mode_),
      access_list_(std::move(other.access_list_)),
      is_prepared_(other.is_prepared_),
      former_(other.former_) {}

TempFile::~TempFile() {
  if (!path_.empty()) unlink(path_.c_str());
}

Result<void> TempFile::prepare() {
  if (fchmod(file_.get(), mode_) != 0) return system_error(path_, "set the mode");
  if (!access_list_.empty() && fsetxattr(file_.get(), kAccessList, access_list_.data(), access_list_.size(), 0) != 0) {
    return system_error(path_, "set the access list");
  }
  if (fsync(file_.get()) != 0) return system_error(path_, "sync");
  is_prepared_ = true;
  return {};
}

Result<void> TempFile::commit() {
  TempFile* const self = this;
  return commit({&self, 1}, {});
}

Result<void> TempFile::commit(std::span<TempFile* const> files, const Around& around) {
  for (TempFile* const file : files) {
    if (file->is_prepared_) continue;
    if (auto ok = file->prepare(); !ok) return ok;
  }
  const fs::path folder = folder_of(files.back()->target_);
  const UniqueFd lock(open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!lock) return system_error(folder, "open");
  if (auto ok = take_lock(folder, lock.get()); !ok) return ok;
  for (const TempFile* const file : files) {
    if (auto ok = file->check_former(); !ok) return ok;
  }
  if (around.before) around.before();
  for (TempFile* const file : files) {
    if (auto ok = file->replace(); !ok) return ok;
  }
  if (fsync(lock.get()) != 0) return system_error(folder, "sync");
  if (around.after) around.after();
  return {};
}

Result<void> TempFile::check_former() const {
  if (!former_ || stamp_of(target_) == former_->stamp) return {};
  return unexpected(Error{Errc::io, target_.string(),
                          "was replaced or written to meanwhile by another command; it stays, run this one again"});
}

Result<void> TempFile::replace() {
  if (rename(path_.c_str(), target_.c_str()) != 0) return system_error(target_, "replace");
  path_.clear();
  return {};
}

Result<void> replace_file(const fs::path& target, std::string_view content, const FileAccess& access,
                          const std::optional<FormerFile>& former) {
  auto file = TempFile::create(target, access);
  if (!file) return unexpected(std::move(file).error());
  if (former) file->expect(*former);
  while (!content.empty()) {
    const ssize_t done = ::write(file->descriptor(), content.data(), content.size());
    if (done < 0 && errno == EINTR) continue;
    if (done < 0) return system_error(target, "write");
    content.remove_prefix(static_cast<std::size_t>(done));
  }
  return file->commit();
}

}  // namespace bloomwall::filter
