// Certificates and revocation lists of PEM files. Blocks of other kinds and text between blocks are skipped.
// Errors: one line: the file, the line of the block that does not parse, what to do. A file without a block is
// wrong, and so is one that is too large.
// Cost: reads the whole file; 0.2-0.35 ms a certificate. Not for an event loop.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <tl/expected.hpp>
#include <vector>

#include "proxy/tls/handles.h"

namespace bloomwall::proxy {

inline constexpr std::size_t kMostPemFile = std::size_t{256} << 20;  // bytes; lists of revoked certificates are large
tl::expected<std::string, std::string> read_text(const std::filesystem::path& file, std::size_t most = kMostPemFile);
tl::expected<std::vector<X509Ptr>, std::string> read_certificates(const std::filesystem::path& file,
                                                                  std::size_t most = kMostPemFile);
// Every certificate of a PEM text, in its order. Nothing: a block does not parse.
std::optional<std::vector<X509Ptr>> certificates_of(std::string_view pem);
tl::expected<std::vector<X509CrlPtr>, std::string> read_crls(const std::filesystem::path& file);
// The roots that the system trusts: $SSL_CERT_FILE, OpenSSL's own file, or the bundle of Debian or Fedora; the first
// that exists.
tl::expected<std::vector<X509Ptr>, std::string> read_system_roots();

// Files that only their owner may read: private keys and passphrases.

// A text that is wiped when it goes out of scope.
class Secret {
 public:
  Secret() = default;
  explicit Secret(std::string text) : text_(std::move(text)) {}
  Secret(Secret&& other) noexcept { text_.swap(other.text_); }
  Secret& operator=(Secret&& other) noexcept {
    text_.swap(other.text_);
    return *this;
  }
  ~Secret();
  std::string_view text() const { return text_; }

 private:
  std::string text_;
};

// Errors: one line that names the file: it cannot be read, is no regular file, is over 64 KiB, or is readable or
// writable by its group or by others. Of a file with an access list each entry counts, not the mode: systemd gives
// credentials to the service's user in that way.
tl::expected<Secret, std::string> read_private_file(const std::filesystem::path& path);
// The first line of a private file, without its end.
tl::expected<Secret, std::string> read_passphrase(const std::filesystem::path& path);

// What is wrong with the folder of a private file. Where others may write into it they can put another file in its
// place, whatever its own mode; that they may list it tells them that there is such a file, and no more.
struct FolderFault {
  std::string text;      // one line, with what to do
  bool is_open = false;  // others may write
};
std::optional<FolderFault> folder_fault(const std::filesystem::path& file);

// From here on this process writes no core file, its user cannot trace it, and its files below /proc belong to root.
// For a process that serves, before it reads a key.
void forbid_core_files();

}  // namespace bloomwall::proxy
