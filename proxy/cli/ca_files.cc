// SPDX-License-Identifier: Apache-2.0
#include "proxy/cli/ca_files.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <pwd.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <optional>
#include <system_error>

#include "base/handles.h"
#include "filter/file/temp_file.h"
#include "proxy/check/readable.h"
#include "proxy/tls/authority_faults.h"

namespace bloomwall::proxy {
namespace {

namespace fs = std::filesystem;

constexpr mode_t kPublicMode = 0644, kPrivateMode = 0600, kFolderMode = 0750;

tl::unexpected<std::string> failed(const fs::path& path, const char* action) {
  return tl::unexpected(fmt::format("{}: cannot {}: {}", path.string(), action, std::strerror(errno)));
}

// The user that the service runs as, where root works for it.
const passwd* service_user() { return ::geteuid() == 0 ? ::getpwnam(kServiceUser) : nullptr; }

tl::expected<void, std::string> make_folder(const fs::path& folder) {
  if (folder.empty()) return {};
  if (::mkdir(folder.c_str(), kFolderMode) != 0) {
    if (errno == EEXIST) return {};
    return failed(folder, "make the folder");
  }
  const passwd* const user = service_user();
  if (user != nullptr && ::chown(folder.c_str(), 0, user->pw_gid) != 0) return failed(folder, "change the group");
  return {};
}

tl::expected<void, std::string> give_to_service(const fs::path& file) {
  const passwd* const user = service_user();
  if (user != nullptr && ::lchown(file.c_str(), user->pw_uid, user->pw_gid) != 0) {
    return failed(file, "change the owner");
  }
  return {};
}

bool is_there(const fs::path& file) {
  std::error_code error;
  return fs::exists(fs::symlink_status(file, error));
}

// Both are replaced by renaming, and one would take the other's place.
std::optional<std::string> shared_file(const fs::path& certificate, const fs::path& key) {
  std::error_code ignored;
  const auto plain = [&ignored](const fs::path& file) { return fs::absolute(file, ignored).lexically_normal(); };
  if (plain(certificate) != plain(key)) return std::nullopt;
  return fmt::format(
      "{}: is the file of the certificate and of its key: give the key a file of its own, such as {} (mode 0600), and "
      "name it in tls_inspection.ca.key or by --key",
      certificate.string(), with_word(certificate, "private").replace_extension(".key").string());
}

struct NewFile {
  fs::path path;
  std::string_view text;
  mode_t mode;
};

// Not over one that is there, unless `force`, in whatever moment it came.
tl::expected<void, std::string> write_file(const NewFile& file, bool force) {
  std::optional<filter::FormerFile> former;
  if (!force) former = filter::FormerFile{};
  const auto done = filter::replace_file(file.path, file.text, {.mode = file.mode}, former);
  if (!done) return tl::unexpected(done.error().text());
  return {};
}

tl::expected<void, std::string> move_file(const fs::path& from, const fs::path& to) {
  if (::rename(from.c_str(), to.c_str()) != 0) return failed(from, "rename");
  const fs::path folder = to.has_parent_path() ? to.parent_path() : fs::path(".");
  const UniqueFd opened(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!opened || ::fsync(opened.get()) != 0) return failed(folder, "sync");
  return {};
}

}  // namespace

AuthorityFiles authority_files(const conf::Config& settings) {
  const conf::InspectionCa& ca = settings.tls_inspection.ca;
  return {ca.certificate, ca.key, ca.passphrase_file, ca.next};
}

fs::path with_word(const fs::path& file, const char* word) {
  fs::path out = file;
  return out.replace_extension().concat(".").concat(word).concat(file.extension().string());
}

fs::path key_beside(const fs::path& certificate) {
  fs::path out = certificate;
  return out.replace_extension(".key");
}

tl::expected<WrittenAuthority, std::string> write_authority(const MadeAuthority& made, const fs::path& certificate,
                                                            const fs::path& key, bool force) {
  if (auto fault = shared_file(certificate, key)) return tl::unexpected(*std::move(fault));
  std::vector<NewFile> files{{key, made.key.text(), kPrivateMode}, {certificate, made.certificate, kPublicMode}};
  if (!made.root_certificate.empty()) {
    files.push_back({with_word(key, "root"), made.root_key.text(), kPrivateMode});
    files.push_back({with_word(certificate, "root"), made.root_certificate, kPublicMode});
  }
  for (const NewFile& file : files) {
    if (!force && is_there(file.path)) {
      return tl::unexpected(fmt::format(
          "{}: is there already; a new CA must be installed on every client: `bloomwall ca next` prepares for that, "
          "--force writes over this one",
          file.path.string()));
    }
  }
  for (const fs::path& folder : {key.parent_path(), certificate.parent_path()}) {
    if (auto done = make_folder(folder); !done) return tl::unexpected(std::move(done.error()));
  }
  WrittenAuthority out;
  for (const NewFile& file : files) {
    if (auto done = write_file(file, force); !done) {
      // Half a CA would only be in the way of the next call.
      for (std::size_t i = 0; !force && i < out.files.size(); ++i) ::unlink(files[i].path.c_str());
      return tl::unexpected(std::move(done.error()));
    }
    out.files.push_back(fmt::format("{:04o} {}", file.mode, file.path.string()));
  }
  if (auto done = give_to_service(key); !done) return tl::unexpected(std::move(done.error()));
  if (const auto fault = folder_fault(key)) out.warnings.push_back(fault->text);
  if (::geteuid() == 0 && service_user() == nullptr) {
    out.warnings.push_back(fmt::format(
        "{}: there is no user {} to own it; give it to the user that the service runs as", key.string(), kServiceUser));
  }
  return out;
}

tl::expected<WrittenAuthority, std::string> activate_next(const AuthorityFiles& files, const AuthorityTerms& terms) {
  if (auto fault = shared_file(files.certificate, files.key)) return tl::unexpected(*std::move(fault));
  const fs::path next = files.next.empty() ? with_word(files.certificate, "next") : files.next;
  const fs::path next_key = key_beside(next);
  if (!is_there(next)) {
    return tl::unexpected(fmt::format("{}: there is no next CA; make one with `bloomwall ca next`", next.string()));
  }
  // A key that is no longer there was moved by a call that did not come to its end.
  const bool is_moved = !is_there(next_key) && is_there(files.key);
  const AuthorityFiles prepared{next, is_moved ? files.key : next_key, files.passphrase_file};
  if (const auto loaded = CertificateAuthority::load(prepared, terms); !loaded) return tl::unexpected(loaded.error());
  if (!is_moved) {
    const auto current = read_authority_file(files.certificate);
    if (!current) return tl::unexpected(current.error());
    std::string pem;
    for (const X509Ptr& one : *current) pem += pem_of(one.get());
    const NewFile previous{previous_file(files.certificate), pem, kPublicMode};
    if (auto done = write_file(previous, true); !done) return tl::unexpected(std::move(done.error()));
    if (auto done = move_file(next_key, files.key); !done) return tl::unexpected(std::move(done.error()));
  }
  if (auto done = move_file(next, files.certificate); !done) return tl::unexpected(std::move(done.error()));
  WrittenAuthority out;
  out.files = {
      fmt::format("{} signs from the next reload on", files.certificate.string()),
      fmt::format("{} is published until its last leaf has expired", previous_file(files.certificate).string())};
  return out;
}

AuthorityReview review_authority(const AuthorityPtr& authority, const AuthorityFiles& files,
                                 const AuthorityTerms& terms) {
  AuthorityReview review;
  if (const auto strict = check_strictly(authority, terms.now); !strict) {
    review.errors.push_back(fmt::format("{}: {}", files.certificate.string(), strict.error()));
  }
  if (const auto fault = folder_fault(files.key)) {
    (fault->is_open ? review.errors : review.warnings).push_back(fault->text);
  }
  if (root_trust(authority->anchor(), terms.roots) == RootTrust::added) {
    review.warnings.emplace_back(
        "this machine trusts the CA itself; only clients need to. Origins that it signed are refused all the same");
  }
  return review;
}

}  // namespace bloomwall::proxy
