// The identity of a filter file: its id, its series with the secret key that seeds every hash, its sequence number and
// its date. A rebuild of the same target keeps the series, so that it can be merged with its shards and its deltas can
// be rebased. Everything random or taken from the clock can be pinned, so that equal input gives equal bytes.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "filter/file/header.h"

namespace bloomwall::filter {

struct IdentityOptions {
  // 64 hex digits or 32 bytes; empty: the key of the file that is replaced, else a random one.
  std::filesystem::path series_key_file = {};
  std::optional<SeriesKey> series_key = {};    // where there is no such file
  bool new_series = false;                     // not the replaced file's key but a random one
  std::optional<FileId> file_id = {};          // default: random
  std::optional<std::uint64_t> created = {};   // seconds since 1970; default: now
  std::optional<std::uint64_t> sequence = {};  // default: one more than the replaced file of the same series, else 1
  std::uint64_t valid_until = 0;
};

struct Identity {
  FileId file_id{};
  FileId series_id{};  // derived from the key, which can't be derived from it
  SeriesKey series_key{};
  std::uint64_t sequence = 1;
  std::uint64_t created = 0;
  std::uint64_t valid_until = 0;
  std::vector<std::string> warnings;
};

// The header of the file that will be replaced; nothing where there is none. A file that is not a filter is an error,
// unless the user's `options` name the series: a mistyped -o must not replace another file.
Result<std::optional<Header>> replaced_header(const std::filesystem::path& target, const IdentityOptions& options);

Result<Identity> choose_identity(const IdentityOptions& options, const std::optional<Header>& replaced);

// Errors: io, bad_syntax.
Result<SeriesKey> read_series_key(const std::filesystem::path& path, std::vector<std::string>& warnings);
Result<SeriesKey> parse_series_key(std::string_view bytes);
FileId series_id_of(const SeriesKey& key);
void set_identity(Header& header, const Identity& identity);

}  // namespace bloomwall::filter
