// SPDX-License-Identifier: Apache-2.0

#include "proxy/tls/pem_files.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <openssl/crypto.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <climits>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <new>
#include <string_view>
#include <system_error>

#include "base/handles.h"
#include "base/text.h"
#include "base/units.h"

namespace bloomwall::proxy {
namespace {

// The line where block number `index` (from 0) of this kind begins.
std::uint64_t line_of_block(std::string_view text, std::string_view kind, std::size_t index) {
  for (LineWalk lines(text); lines.next();) {
    if (!lines.line().starts_with("-----BEGIN ") || lines.line().find(kind) == std::string_view::npos) continue;
    if (index-- == 0) return lines.number();
  }
  return 1;
}

// OpenSSL ends a file without another block, or without any, by this error.
bool is_end_of_blocks() {
  const unsigned long code = ERR_peek_last_error();
  return ERR_GET_LIB(code) == ERR_LIB_PEM && ERR_GET_REASON(code) == PEM_R_NO_START_LINE;
}

// All blocks of a kind. The error: how many stand before the one that does not parse.
template <typename Owner, typename Read>
tl::expected<std::vector<Owner>, std::size_t> parse_blocks(std::string_view text, Read read) {
  if (text.size() > INT_MAX) return tl::unexpected(std::size_t{0});
  const BioPtr source(BIO_new_mem_buf(text.data(), static_cast<int>(text.size())));
  if (source == nullptr) throw std::bad_alloc();
  std::vector<Owner> out;
  ERR_clear_error();
  while (Owner one{read(source.get())}) out.push_back(std::move(one));
  const bool is_whole = is_end_of_blocks();
  ERR_clear_error();
  if (!is_whole) return tl::unexpected(out.size());
  return out;
}

template <typename Owner, typename Read>
tl::expected<std::vector<Owner>, std::string> read_blocks(const std::filesystem::path& file, std::size_t most,
                                                          std::string_view kind, Read read) {
  const auto text = read_text(file, most);
  if (!text) return tl::unexpected(text.error());
  auto blocks = parse_blocks<Owner>(*text, read);
  if (!blocks) {
    return tl::unexpected(fmt::format("{}:{}: this {} does not parse; remove it or write it again", file.string(),
                                      line_of_block(*text, kind, blocks.error()), kind));
  }
  if (blocks->empty()) return tl::unexpected(fmt::format("{}: holds no {} in PEM form", file.string(), kind));
  return *std::move(blocks);
}

X509* read_certificate(BIO* in) { return PEM_read_bio_X509_AUX(in, nullptr, nullptr, nullptr); }

}  // namespace

tl::expected<std::string, std::string> read_text(const std::filesystem::path& file, std::size_t most) {
  const auto failed = [&file](int error) {
    return tl::unexpected(fmt::format("{}: {}", file.string(), std::generic_category().message(error)));
  };
  std::error_code ignored;
  if (std::filesystem::is_directory(file, ignored)) return failed(EISDIR);
  errno = 0;
  std::ifstream in(file, std::ios::binary);
  if (!in.is_open()) return failed(errno != 0 ? errno : EIO);
  std::string text;
  std::array<char, 16'384> piece;  // NOLINT: filled as far as it is used
  while (in.read(piece.data(), piece.size()) || in.gcount() > 0) {
    text.append(piece.data(), static_cast<std::size_t>(in.gcount()));
    if (text.size() <= most) continue;
    return tl::unexpected(fmt::format("{}: over {}: not what is expected here", file.string(), format_bytes(most)));
  }
  if (in.bad()) return failed(errno != 0 ? errno : EIO);
  return text;
}

tl::expected<std::vector<X509Ptr>, std::string> read_certificates(const std::filesystem::path& file, std::size_t most) {
  return read_blocks<X509Ptr>(file, most, "CERTIFICATE", read_certificate);
}

std::optional<std::vector<X509Ptr>> certificates_of(std::string_view pem) {
  auto blocks = parse_blocks<X509Ptr>(pem, read_certificate);
  return blocks ? std::optional(*std::move(blocks)) : std::nullopt;
}

tl::expected<std::vector<X509CrlPtr>, std::string> read_crls(const std::filesystem::path& file) {
  return read_blocks<X509CrlPtr>(file, kMostPemFile, "X509 CRL",
                                 [](BIO* in) { return PEM_read_bio_X509_CRL(in, nullptr, nullptr, nullptr); });
}

tl::expected<std::vector<X509Ptr>, std::string> read_system_roots() {
  const char* const named = std::getenv(X509_get_default_cert_file_env());
  const std::array<const char*, 4> places{named, X509_get_default_cert_file(), "/etc/ssl/certs/ca-certificates.crt",
                                          "/etc/pki/tls/certs/ca-bundle.crt"};
  for (const char* const place : places) {
    std::error_code ignored;
    if (place != nullptr && std::filesystem::exists(place, ignored)) return read_certificates(place);
  }
  return tl::unexpected(
      std::string("the system has no certificates of authorities: install ca-certificates, or name a "
                  "file by tls_inspection.verify.ca_file"));
}

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
