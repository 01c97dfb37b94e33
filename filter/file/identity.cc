// SPDX-License-Identifier: Apache-2.0
#include "filter/file/identity.h"

#include <fmt/format.h>
#include <openssl/sha.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <ctime>
#include <fstream>
#include <limits>
#include <span>

#include "base/encoding.h"
#include "base/random.h"
#include "filter/file/filter_file.h"

namespace bloomwall::filter {
namespace {

namespace fs = std::filesystem;

tl::unexpected<Error> error(Errc code, const fs::path& where, std::string what) {
  return unexpected(Error{code, where.string(), std::move(what)});
}

Result<SeriesKey> choose_key(const IdentityOptions& options, const std::optional<Header>& replaced,
                             std::vector<std::string>& warnings) {
  if (!options.series_key_file.empty()) return read_series_key(options.series_key_file, warnings);
  if (options.series_key) return *options.series_key;
  if (replaced && !options.new_series) return replaced->series_key;
  return random_value<SeriesKey>();
}

Result<std::uint64_t> choose_sequence(const IdentityOptions& options, const std::optional<Header>& replaced,
                                      const SeriesKey& key) {
  const bool same_series = replaced && replaced->series_key == key;
  if (!same_series) return options.sequence.value_or(1);
  const std::uint64_t last = replaced->sequence;
  if (options.sequence && *options.sequence < last) {
    return error(Errc::usage, {},
                 fmt::format("sequence {} is below {} of the file that is replaced", *options.sequence, last));
  }
  if (options.sequence) return *options.sequence;
  if (last == std::numeric_limits<std::uint64_t>::max()) {
    return error(Errc::limit, {}, "the sequence of the file that is replaced can't grow; begin a --new-series");
  }
  return last + 1;
}

}  // namespace

Result<std::optional<Header>> replaced_header(const fs::path& target, const IdentityOptions& options) {
  std::error_code failure;
  const fs::file_status status = fs::status(target, failure);
  if (status.type() == fs::file_type::not_found) return std::nullopt;
  if (failure) return error(Errc::io, target, failure.message());
  if (status.type() != fs::file_type::regular) return error(Errc::usage, target, "exists and is not a regular file");
  auto file = FilterFile::open(target);
  if (file) return (*file)->header();
  if (options.new_series || options.series_key || !options.series_key_file.empty()) return std::nullopt;
  return error(file.error().code, target,
               fmt::format("exists and can't be read as a filter ({}); to replace it, move it away, or let "
                           "`build` begin a --new-series or give it a --series-key",
                           file.error().what));
}

Result<Identity> choose_identity(const IdentityOptions& options, const std::optional<Header>& replaced) {
  if (options.new_series && !options.series_key_file.empty()) {
    return error(Errc::usage, {}, "--new-series and --series-key exclude each other");
  }
  Identity out;
  auto key = choose_key(options, replaced, out.warnings);
  if (!key) return unexpected(std::move(key).error());
  auto sequence = choose_sequence(options, replaced, *key);
  if (!sequence) return unexpected(std::move(sequence).error());
  out.series_key = *key;
  out.series_id = series_id_of(*key);
  out.sequence = *sequence;
  out.file_id = options.file_id ? *options.file_id : random_value<FileId>();
  out.created =
      options.created ? *options.created : static_cast<std::uint64_t>(std::max<std::time_t>(0, std::time(nullptr)));
  out.valid_until = options.valid_until;
  return out;
}

Result<SeriesKey> read_series_key(const fs::path& path, std::vector<std::string>& warnings) {
  std::ifstream file(path, std::ios::binary);
  if (!file) return error(Errc::io, path, std::strerror(errno));
  std::array<char, 256> bytes{};
  file.read(bytes.data(), bytes.size());
  if (file.bad()) return error(Errc::io, path, "can't be read");
  struct stat status{};
  if (::stat(path.c_str(), &status) == 0 && (status.st_mode & 077U) != 0) {
    warnings.push_back(
        fmt::format("{}: others than its owner may read the series key; mode 0600 keeps it secret", path.string()));
  }
  auto key = parse_series_key({bytes.data(), static_cast<std::size_t>(file.gcount())});
  if (!key) key.error().where = path.string();
  return key;
}

Result<SeriesKey> parse_series_key(std::string_view bytes) {
  SeriesKey key{};
  if (bytes.size() == key.size()) {
    std::copy(bytes.begin(), bytes.end(), reinterpret_cast<char*>(key.data()));
    return key;
  }
  while (!bytes.empty() && (bytes.back() == '\n' || bytes.back() == '\r' || bytes.back() == ' '))
    bytes.remove_suffix(1);
  if (const auto parsed = parse_hex<sizeof(SeriesKey)>(bytes)) return *parsed;
  return error(Errc::bad_syntax, {}, "a series key is 64 hexadecimal digits, or 32 bytes");
}

FileId series_id_of(const SeriesKey& key) {
  static constexpr std::string_view kDomain = "bloomwall series id\n";
  std::array<std::uint8_t, kDomain.size() + sizeof(SeriesKey)> text{};
  std::copy(kDomain.begin(), kDomain.end(), text.begin());
  std::copy(key.begin(), key.end(), text.begin() + kDomain.size());
  Sha256 digest{};
  SHA256(text.data(), text.size(), digest.data());
  FileId id{};
  std::copy_n(digest.begin(), id.size(), id.begin());
  return id;
}

void set_identity(Header& header, const Identity& identity) {
  header.file_id = identity.file_id;
  header.series_id = identity.series_id;
  header.series_key = identity.series_key;
  header.sequence = identity.sequence;
  header.created = identity.created;
  header.valid_until = identity.valid_until;
}

}  // namespace bloomwall::filter
