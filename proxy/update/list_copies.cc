// SPDX-License-Identifier: Apache-2.0
#include "proxy/update/list_copies.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <openssl/sha.h>
#include <stdlib.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <fstream>
#include <span>
#include <system_error>

#include "base/encoding.h"
#include "base/text.h"
#include "filter/file/temp_file.h"
#include "filter/lists/list_input.h"
#include "proxy/update/handles.h"
#include "proxy/update/write_all.h"

namespace bloomwall::proxy {
namespace {

constexpr std::string_view kFetchedPrefix = ".fetched-";
constexpr std::string_view kPacked = ".zst", kPlain = ".list";
constexpr std::string_view kUnfinished = ".bwf-tmp";  // of a copy whose writer was killed
constexpr std::size_t kPieceBytes = std::size_t{256} << 10;
constexpr int kLevel = 6;  // of zstd: a tenth of the time that the build takes

std::string refused(const std::filesystem::path& path, int error) {
  return fmt::format("{}: {}", path.string(), std::generic_category().message(error));
}

// Reads from the beginning of `from` to its end, piece by piece. False: errno says why.
template <typename Take>
bool each_piece(int from, Take take) {
  std::vector<char> piece(kPieceBytes);
  if (::lseek(from, 0, SEEK_SET) < 0) return false;
  for (;;) {
    const ssize_t got = ::read(from, piece.data(), piece.size());
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return false;
    if (!take(std::span(piece.data(), static_cast<std::size_t>(got)))) return false;
    if (got == 0) return true;
  }
}

bool compress(int from, int to) {
  const CompressorPtr context(ZSTD_createCCtx());
  if (context == nullptr) {
    errno = ENOMEM;
    return false;
  }
  ZSTD_CCtx_setParameter(context.get(), ZSTD_c_compressionLevel, kLevel);
  ZSTD_CCtx_setParameter(context.get(), ZSTD_c_checksumFlag, 1);
  std::vector<char> made(ZSTD_CStreamOutSize());
  return each_piece(from, [&](std::span<const char> piece) {
    ZSTD_inBuffer in{piece.data(), piece.size(), 0};
    const auto mode = piece.empty() ? ZSTD_e_end : ZSTD_e_continue;
    for (;;) {
      ZSTD_outBuffer out{made.data(), made.size(), 0};
      const std::size_t left = ZSTD_compressStream2(context.get(), &out, &in, mode);
      if (ZSTD_isError(left) != 0U) {
        errno = EIO;
        return false;
      }
      if (!write_all(to, {made.data(), out.pos})) return false;
      if (mode == ZSTD_e_end ? left == 0 : in.pos == in.size) return true;
    }
  });
}

bool copy(int from, int to) {
  return each_piece(from, [&](std::span<const char> piece) { return write_all(to, {piece.data(), piece.size()}); });
}

// Whether it is compressed already: it is kept as it is then.
bool is_compressed(const std::filesystem::path& file) {
  auto input = filter::ListInput::open(file.string());
  return input && input->next() && input->compression() != filter::Compression::none;
}

// As copy_name() makes them.
bool is_copy_name(std::string_view name) {
  constexpr std::size_t kUrlDigits = 8, kContentDigits = 16;
  if (!name.ends_with(kPacked) && !name.ends_with(kPlain)) return false;
  name = name.substr(0, name.rfind('.'));
  const auto take_digits = [&](std::size_t count) {
    if (name.size() <= count || name[name.size() - count - 1] != '-') return false;
    const std::string_view digits = name.substr(name.size() - count);
    name.remove_suffix(count + 1);
    return is_lower_hex(digits);
  };
  return take_digits(kContentDigits) && take_digits(kUrlDigits) && !name.empty();
}

// Somebody may have led the folder to where other files are.
bool is_ours(std::string_view name) {
  return name.starts_with(kFetchedPrefix) || name.ends_with(kUnfinished) || is_copy_name(name);
}

std::string hex_of_text(std::string_view text) {
  std::array<std::uint8_t, SHA256_DIGEST_LENGTH> digest{};
  SHA256(reinterpret_cast<const unsigned char*>(text.data()), text.size(), digest.data());
  return to_hex(digest);
}

}  // namespace

tl::expected<FetchedFile, std::string> FetchedFile::create(const std::filesystem::path& folder) {
  std::string name = (folder / (std::string(kFetchedPrefix) + "XXXXXX")).string();
  UniqueFd file(::mkostemp(name.data(), O_CLOEXEC));
  if (!file) return tl::unexpected(refused(folder, errno));
  return FetchedFile(std::move(name), std::move(file));
}

FetchedFile::FetchedFile(FetchedFile&& other) noexcept
    : path_(std::exchange(other.path_, {})), file_(std::move(other.file_)) {}

FetchedFile::~FetchedFile() {
  if (!path_.empty()) ::unlink(path_.c_str());
}

tl::expected<ListCopies, std::string> ListCopies::open(const std::filesystem::path& folder) {
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (error) return tl::unexpected(refused(folder, error.value()));
  return ListCopies(folder);
}

tl::expected<std::string, std::string> ListCopies::keep(const FetchedFile& fetched, std::string_view url,
                                                        std::string_view sha256) const {
  const bool as_it_is = is_compressed(fetched.path());
  std::string name = copy_name(url, sha256, !as_it_is);
  auto target = filter::TempFile::create(path_of(name));
  if (!target) return tl::unexpected(target.error().text());
  const bool is_done = as_it_is ? copy(fetched.descriptor(), target->descriptor())
                                : compress(fetched.descriptor(), target->descriptor());
  if (!is_done) return tl::unexpected(refused(path_of(name), errno));
  if (const auto ok = target->commit(); !ok) return tl::unexpected(ok.error().text());
  return name;
}

bool ListCopies::has(std::string_view copy_of) const {
  std::error_code ignored;
  return !copy_of.empty() && std::filesystem::is_regular_file(path_of(copy_of), ignored);
}

bool ListCopies::is_whole(std::string_view copy_of, std::string_view sha256) const {
  auto input = filter::ListInput::open(path_of(copy_of).string());
  if (!input) return false;
  for (;;) {
    const auto piece = input->next();
    if (!piece) return false;
    if (piece->empty()) break;
  }
  return to_hex(copy_of.ends_with(kPacked) ? input->digest() : input->stored_digest()) == sha256;
}

void ListCopies::remove(std::string_view copy_of) const {
  std::error_code ignored;
  std::filesystem::remove(path_of(copy_of), ignored);
}

void ListCopies::remove_others(const std::vector<std::string>& copies) const {
  std::vector<std::filesystem::path> others;
  std::error_code error;
  for (std::filesystem::directory_iterator at(folder_, error), end; !error && at != end; at.increment(error)) {
    const std::string name = at->path().filename().string();
    if (is_ours(name) && std::ranges::find(copies, name) == copies.end()) others.push_back(at->path());
  }
  for (const auto& other : others) std::filesystem::remove(other, error);
}

std::string copy_name(std::string_view url, std::string_view sha256, bool is_packed) {
  std::string_view last = url.substr(0, url.find('?'));
  while (last.ends_with('/')) last.remove_suffix(1);
  last = last.substr(last.rfind('/') + 1);
  std::string shown;
  for (const char c : last.substr(0, 64)) {
    const bool is_plain = is_alpha(c) || is_digit(c) || c == '-' || c == '_' || (c == '.' && !shown.empty());
    shown += is_plain ? c : '_';
  }
  return fmt::format("{}-{}-{}{}", shown.empty() ? "list" : shown, hex_of_text(url).substr(0, 8), sha256.substr(0, 16),
                     is_packed ? kPacked : kPlain);
}

}  // namespace bloomwall::proxy
