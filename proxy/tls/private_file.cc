// SPDX-License-Identifier: Apache-2.0
#include "proxy/tls/private_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <openssl/crypto.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdint>
#include <cstring>

#include "base/handles.h"

namespace bloomwall::proxy {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kMostPrivate = std::size_t{64} << 10;

tl::unexpected<std::string> fault(const fs::path& path, std::string_view what) {
  return tl::unexpected(fmt::format("{}: {}", path.string(), what));
}

// POSIX access lists as the kernel hands them out (linux/posix_acl_xattr.h): a version, then entries of tag, rights and
// user or group, little-endian.
enum AclTag : std::uint16_t { acl_owner = 1, acl_user = 2, acl_group_owner = 4, acl_group = 8, acl_mask = 16 };
struct AclEntry {
  std::uint16_t tag, rights;
  std::uint32_t id;
};

std::uint64_t little_endian(const unsigned char* from, std::size_t octets) {
  std::uint64_t value = 0;
  for (std::size_t i = octets; i > 0; --i) value = value << 8 | from[i - 1];
  return value;
}

// Whether the entry lets another user than this process's read or write. Root does not know who the service will be.
bool opens_to_others(const AclEntry& entry, std::uint16_t mask) {
  constexpr std::uint16_t kReadWrite = 6;
  if (entry.tag == acl_owner || entry.tag == acl_mask) return false;
  if (entry.tag == acl_user && (entry.id == ::geteuid() || ::geteuid() == 0)) return false;
  const bool is_masked = entry.tag == acl_user || entry.tag == acl_group_owner || entry.tag == acl_group;
  return (entry.rights & (is_masked ? mask : kReadWrite) & kReadWrite) != 0;
}

// Nothing where the file has no access list.
std::optional<bool> list_opens_to_others(int file) {
  constexpr std::size_t kHead = 4, kEntry = 8;
  std::array<unsigned char, 4096> bytes{};
  const ssize_t size = ::fgetxattr(file, "system.posix_acl_access", bytes.data(), bytes.size());
  if (size < static_cast<ssize_t>(kHead)) return std::nullopt;
  std::array<AclEntry, (bytes.size() - kHead) / kEntry> entries{};
  std::size_t count = 0;
  std::uint16_t mask = 7;
  for (std::size_t at = kHead; at + kEntry <= static_cast<std::size_t>(size); at += kEntry) {
    AclEntry& entry = entries[count++];
    entry = {static_cast<std::uint16_t>(little_endian(&bytes[at], 2)),
             static_cast<std::uint16_t>(little_endian(&bytes[at + 2], 2)),
             static_cast<std::uint32_t>(little_endian(&bytes[at + 4], 4))};
    if (entry.tag == acl_mask) mask = entry.rights;
  }
  for (std::size_t i = 0; i < count; ++i) {
    if (opens_to_others(entries[i], mask)) return true;
  }
  return false;
}

}  // namespace

Secret::~Secret() { OPENSSL_cleanse(text_.data(), text_.size()); }

tl::expected<Secret, std::string> read_private_file(const fs::path& path) {
  const auto refused = [&] { return fault(path, fmt::format("cannot read: {}", std::strerror(errno))); };
  const UniqueFd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK));
  struct stat status{};
  if (!file || ::fstat(file.get(), &status) != 0) return refused();
  if (!S_ISREG(status.st_mode)) return fault(path, "no regular file");
  constexpr mode_t kOthers = 066;
  if (list_opens_to_others(file.get()).value_or((status.st_mode & kOthers) != 0)) {
    return fault(path, fmt::format("others than its owner may read or write it (mode {:04o}); chmod 600 {}",
                                   status.st_mode & 07777U, path.string()));
  }
  std::string text(kMostPrivate + 1, '\0');
  std::size_t size = 0;
  while (size < text.size()) {
    const ssize_t got = ::read(file.get(), text.data() + size, text.size() - size);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return refused();
    if (got == 0) break;
    size += static_cast<std::size_t>(got);
  }
  text.resize(size);
  Secret secret(std::move(text));
  if (size > kMostPrivate) return fault(path, "over 64 KiB: not a file of a key");
  return secret;
}

tl::expected<Secret, std::string> read_passphrase(const fs::path& path) {
  auto whole = read_private_file(path);
  if (!whole) return whole;
  std::string_view line = whole->text().substr(0, whole->text().find('\n'));
  if (line.ends_with('\r')) line.remove_suffix(1);
  if (line.empty()) return fault(path, "no passphrase in its first line");
  return Secret(std::string(line));
}

std::optional<FolderFault> folder_fault(const fs::path& file) {
  const fs::path folder = file.has_parent_path() ? file.parent_path() : fs::path(".");
  struct stat status{};
  if (::stat(folder.c_str(), &status) != 0) {
    return FolderFault{fmt::format("{}: {}", folder.string(), std::strerror(errno)), true};
  }
  const bool others_write = (status.st_mode & S_IWOTH) != 0 && (status.st_mode & S_ISVTX) == 0;
  if (others_write) {
    return FolderFault{
        fmt::format("{0}: everybody may write into the folder of the CA's key; chmod o-w {0}", folder.string()), true};
  }
  if ((status.st_mode & S_IROTH) == 0) return std::nullopt;
  return FolderFault{
      fmt::format("{0}: everybody may list the folder of the CA's key, which is closed itself; chmod o-rwx {0}, "
                  "or keep it in a folder of its own (`bloomwall ca init --out {1}` makes one)",
                  folder.string(), (folder / "ca").string())};
}

void forbid_core_files() {
  constexpr rlimit kNone{};
  ::setrlimit(RLIMIT_CORE, &kNone);
  ::prctl(PR_SET_DUMPABLE, 0);  // also where core files go to another program
}

}  // namespace bloomwall::proxy
