// The two texts of a release, as they lie on an origin. A ring says which release its gateways serve; it is replaced.
// A release says which files make up a filter; it never changes, and neither do the files that it names.
//   bloomwall-ring 1 filter=malware ring=all release=42 sequence=317 created=1795777683 valid_until=1796382483
//
//   bloomwall-release 1 filter=malware series=ID release=42 created=1795777683
//   base file=files/NAME.bwf content=ID size=30000000000 header=SHA256
//   exact file=files/NAME.bwx content=ID size=1000000 header=SHA256
//   delta file=deltas/ID/0000000042 from=0 to=42 size=27278053 sha256=SHA256 changes=1000001
// `header` is the SHA-256 of the first 4096 octets of a file, which hold the digests of all others; `content` is the
// content id of the filter (header.h), of `exact` too. Behind each text stand its signatures (signed_text.h).
// One spelling each: words in this order, one blank between them, numbers in decimal without leading zeros, identifiers
// in lower case, a line feed at the end. A reader refuses everything else, so that a text that is taken is octet for
// octet the one that is written for what it says. Hostile bytes, although they are signed: keys get lost. Pure.
// Errors: bad_syntax, limit, unsupported (another version, or a word that a later one may have).
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "filter/file/header.h"
#include "filter/result.h"

namespace bloomwall::filter {

inline constexpr std::size_t kMostReleaseText = std::size_t{16} << 10;  // bytes of either text, with its signatures
inline constexpr std::size_t kMostReleaseName = 64;                     // of a filter or a ring
inline constexpr std::size_t kMostPartName = 200;                       // of a file on the origin
inline constexpr std::uint64_t kMostPartBytes = std::uint64_t{1} << 50;
// A release or sequence: less than what a number can hold, so that there is always a next one for years to come.
inline constexpr std::uint64_t kMostReleases = 999'999'999'999'999;
inline constexpr std::uint64_t kLastSecond = 253'402'300'799;  // of the year 9999

// Letters, digits, '.', '-' and '_', the first one a letter or a digit: a name of a file wherever it may be written.
bool is_release_name(std::string_view name);
// A path below the filter's folder, of names as above: no "..", no scheme, no host, no escape.
bool is_part_name(std::string_view name);

struct RingText {
  std::string filter, ring;
  std::uint64_t release = 0;      // from 1
  std::uint64_t sequence = 0;     // from 1; one higher with each text of the ring
  std::uint64_t created = 0;      // seconds since 1970
  std::uint64_t valid_until = 0;  // likewise, later
  friend bool operator==(const RingText&, const RingText&) = default;
};

struct FilePart {
  std::string file;
  FileId content{};
  std::uint64_t size = 0;
  Sha256 header{};
  friend bool operator==(const FilePart&, const FilePart&) = default;
};

struct DeltaPart {
  std::string file;
  std::uint64_t from = 0;  // 0: it stands on the base alone
  std::uint64_t to = 0;    // the release that first had it
  std::uint64_t size = 0;
  Sha256 sha256{};
  std::uint64_t changes = 0;
  friend bool operator==(const DeltaPart&, const DeltaPart&) = default;
};

struct ReleaseText {
  std::string filter;
  FileId series{};
  std::uint64_t release = 0;  // from 1
  std::uint64_t created = 0;
  FilePart base;
  std::optional<FilePart> exact = {};
  std::optional<DeltaPart> delta = {};
  friend bool operator==(const ReleaseText&, const ReleaseText&) = default;
};

std::string text_of(const RingText& ring);
std::string text_of(const ReleaseText& release);
// `text` without signatures; `name` for errors.
Result<RingText> parse_ring(std::string_view text, const std::string& name);
Result<ReleaseText> parse_release(std::string_view text, const std::string& name);

// "releases/0000000042", "rings/all".
std::string release_file(std::uint64_t release);
std::string ring_file(std::string_view ring);

}  // namespace bloomwall::filter
