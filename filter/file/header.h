// The header of a .bwf file: its fields in memory. The byte table stands in header_bytes.cc beside the one function
// that reads and writes them; it goes field by field, so the struct's layout means nothing. What is refused: header.cc.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "filter/bits/key.h"
#include "filter/bits/section.h"
#include "filter/result.h"

namespace bloomwall::filter {

using FileId = std::array<std::uint8_t, 16>;
using KeyId = std::array<std::uint8_t, 16>;  // of a public key: signature.h
using Sha256 = std::array<std::uint8_t, 32>;

enum class SectionType : std::uint32_t {
  hosts = 1,       // H: S, X, W keys and marks
  paths = 2,       // P: U, Q, D keys
  raw = 3,         // R
  exceptions = 4,  // E: exact keys of known-good URLs
  info = 5,        // sources, builder, category, provenance: records of file_info.h
  leaves = 6,      // digests of the leaves of every other section
  sketches = 7,    // what distinct counts were estimated from (key_sketch.h); no look-up reads it
  page_sums = 8,   // CRC32C of each page of H, P and R
  signatures = 9,  // of any length, beside the slots of the header
  networks = 10,   // N: exact ranges of IPv4 and IPv6 addresses (networks.h); critical
};

const char* to_string(SectionType type);

// Of sections that are no array of pages: zeros in the file.
inline constexpr Geometry kNoGeometry{.layout = Layout{}, .pages = 0};
constexpr bool has_pages(SectionType type) {
  return type == SectionType::hosts || type == SectionType::paths || type == SectionType::raw;
}
constexpr SectionKind section_kind(SectionType type) {  // of those that have pages
  return type == SectionType::hosts   ? SectionKind::hosts
         : type == SectionType::paths ? SectionKind::paths
                                      : SectionKind::raw;
}

// What a page section holds: bits (.bwf), or a 4-bit counter for each of them (.bwc), four times as long; only the
// former has look-ups, only the latter can remove keys: filter/bits/counters.h.
enum class Form : std::uint8_t { bits, counters };
inline constexpr std::uint64_t kCountersFeature = 1;  // bit of Header::incompatible
// Bit of Header::compatible: distinct counts are estimates, made from the section `sketches` where there is one.
inline constexpr std::uint64_t kEstimatedCounts = 1;
// Bit of Header::canonical_options: entries with a query are kept and asked by their parameters (QueryReading).
inline constexpr std::uint32_t kQueriesByParameters = 1;
constexpr std::uint64_t bytes_per_bit_page(Form form) { return form == Form::bits ? kPageBytes : 4 * kPageBytes; }

struct SectionEntry {
  SectionType type{};
  bool critical = false;  // a reader that does not know the type must refuse the file
  std::uint64_t offset = 0;
  std::uint64_t length = 0;                 // bytes
  Geometry geometry = kNoGeometry;          // H, P, R only
  std::array<std::uint8_t, 16> xxh_root{};  // XXH3-128 over the XXH3-128 of the leaves
  Sha256 sha_root{};                        // SHA-256 over the SHA-256 of the leaves
};

struct KindCounts {
  std::uint64_t entries = 0;  // lines taken, duplicates too
  std::uint64_t keys = 0;  // distinct keys (estimated where the builder could not count); of N, ranges in the section
};

// Error rates in [0,1]. "assumed" is the number of questions a request of that class was taken to ask.
struct ClassError {
  double mean = 0, p99 = 0;
  double mean_questions = 0, p99_questions = 0;
};
struct PredictedErrors {
  double host_key = 0, path_key = 0, raw_key = 0;     // one question, from the geometry and the counts
  double host_fill = 0, path_fill = 0, raw_fill = 0;  // one question, from the bits that are really set
  ClassError unlisted_host, listed_host;
};
struct MeasuredError {
  std::uint64_t samples = 0;  // 0: not measured
  std::uint64_t hits = 0;
};

// One of several signatures that may stand; all zero: none. An algorithm that a reader does not know is passed over.
// What is signed: the header with all signatures and the digest zeroed, behind a domain string; the roots are in it.
struct Signature {
  std::uint32_t algorithm = 0;  // 1: Ed25519
  std::uint32_t parameter = 0;  // 0 for Ed25519
  KeyId key_id{};
  std::array<std::uint8_t, 64> bytes{};
  friend bool operator==(const Signature&, const Signature&) = default;
};
inline constexpr std::size_t kMaxSignatures = 8;

struct Header {
  std::uint16_t major = 1, minor = 0;
  std::uint64_t file_bytes = 0;
  std::uint64_t incompatible = 0, compatible = 0;  // feature masks
  FileId file_id{};
  FileId series_id{};
  SeriesKey series_key{};
  std::uint64_t sequence = 0;     // only grows within a series
  std::uint64_t created = 0;      // seconds since 1970
  std::uint64_t valid_until = 0;  // likewise; 0: no end
  std::uint16_t hash_id = 1;      // 1: XXH3-128 with seed
  std::uint16_t key_derivation = 1;
  std::uint16_t canonicalisation = 1;
  std::uint32_t canonical_options = 0;
  std::uint32_t converter_options = 0;
  std::uint32_t unicode_version = 0;  // 0x0F0000 is 15.0.0
  std::uint64_t psl_time = 0;         // seconds since 1970 of the public suffix list; 0: not used
  std::array<KindCounts, kKindCount> kinds{};
  std::uint64_t marks = 0;                      // distinct (host, mark) pairs
  std::uint64_t hosts = 0;                      // distinct hosts in H, marked ones too
  std::uint32_t mark_mask = 0;                  // which mark variants occur, bit v for variant v
  std::uint8_t min_labels = 0, max_labels = 0;  // of host names in H; an IP address counts 0 labels and is always asked
  std::uint16_t max_depth = 0;                  // of D entries, capped at 65535
  PredictedErrors predicted;
  // What prediction.h takes a request at p99 to ask of P, where the builder knows of more than is usual; 0: it does
  // not. In the file it is the difference of two numbers in `predicted`.
  unsigned path_questions = 0;
  MeasuredError measured;
  Sha256 exact_root{};  // of the exact side that was made with the file (exact_side.h); zeros: none was
  std::vector<SectionEntry> sections;
  std::array<Signature, kMaxSignatures> signatures{};

  const SectionEntry* find(SectionType type) const;
  Form form() const { return (incompatible & kCountersFeature) != 0 ? Form::counters : Form::bits; }
};

// Of Header::converter_options, what says what a raw key is; the others stand in filter/builder/builder.h.
inline constexpr std::uint32_t kOptionRaw = 32;
inline constexpr std::uint32_t kOptionUrlKeys = 512;    // of a set of seen keys: the canonical text of URLs
inline constexpr std::uint32_t kOptionHostKeys = 4096;  // likewise, of hosts

// What the file answers, as an id: the first 16 bytes of the SHA-256 of "bloomwall content 1\n" and, for each of H, P,
// R, E and networks that there is, in this order, its type (u32), its length (u64) and its SHA-256 root. What was made
// for a file, a delta, is bound to it: a file id can be given by hand, and a rebuild that changes nothing keeps it.
FileId content_id(const Header& header);

inline constexpr unsigned kMostPathQuestions = 64;
inline constexpr std::size_t kHeaderBytes = 4096;
inline constexpr std::size_t kMaxSections = 18;
inline constexpr std::uint64_t kLeafBytes = std::uint64_t{4} << 20;

// Where a section of that length may begin: huge pages matter where there is enough to map.
inline constexpr std::uint64_t kLargeSection = std::uint64_t{32} << 20;
constexpr std::uint64_t alignment_of(std::uint64_t length) {
  return length >= kLargeSection ? std::uint64_t{2} << 20 : kPageBytes;
}
constexpr std::uint64_t place_after(std::uint64_t end, std::uint64_t length) {
  return (end + alignment_of(length) - 1) / alignment_of(length) * alignment_of(length);
}

// Leaves of a section of `length` bytes: pieces of kLeafBytes, the last one shorter. In the leaves section each has 48
// bytes, XXH3-128 and SHA-256, in the order of the section table; neither that section itself nor signatures, which
// come after everything else, have records there: they are covered by their roots only.
inline constexpr std::uint64_t kLeafRecordBytes = 48;
constexpr bool has_leaf_records(SectionType type) {
  return type != SectionType::leaves && type != SectionType::signatures;
}
constexpr std::uint64_t leaf_count(std::uint64_t length) {
  return length / kLeafBytes + (length % kLeafBytes != 0 ? 1 : 0);
}

// `head` is the first kHeaderBytes of the file (or less where it is shorter), `file_bytes` its real size. Everything in
// it is hostile: versions, feature bits, section types, ranges, sums and overlaps are checked here, digests of sections
// not. What a caller may rely on: each kind with keys has its section (marks and path kinds have H and P, N has
// networks), rates are finite and in range, geometries fit their sections, and the file ends with its last section. A
// file of the other form is refused: unsupported.
Result<Header> parse_header(std::span<const std::byte> head, std::uint64_t file_bytes, Form form = Form::bits);
// What entries of the file are made into keys by.
KeyMaker key_maker_of(const Header& header);
// The type of a file given on a command line, by its first bytes only.
enum class FileKind : std::uint8_t {
  filter,    // or anything else: opening it as a filter says what is wrong
  counting,  // a filter file of counters
  delta,     // text that begins as a delta does
};
// Errors: io.
Result<FileKind> file_kind(const std::filesystem::path& file);

// For a file made of others: what a later minor version or a feature that this build does not know promises is not kept
// by it, so neither is copied.
void forget_unknown(Header& header);
// kHeaderBytes bytes, digest included. The header must be one that parse_header accepts.
std::vector<std::byte> serialise_header(const Header& header);

// Counts in headers are untrusted: the sum saturates, because a kind with a count of zero would not be looked up.
constexpr std::uint64_t sum_of_counts(std::uint64_t a, std::uint64_t b) { return a > ~b ? ~std::uint64_t{0} : a + b; }

// What a filter is said to hold, wherever that is said: different entries, of all kinds. What several lists name counts
// once (kinds[].entries count it each time).
constexpr std::uint64_t distinct_entries(const Header& header) {
  std::uint64_t sum = 0;
  for (const KindCounts& kind : header.kinds) sum = sum_of_counts(sum, kind.keys);
  return sum;
}

// Whether H may hold names of any number of labels: hosts are there, and no range is known.
constexpr bool has_unknown_labels(const Header& header) {
  const auto held = [&header](Kind kind) {
    const KindCounts& counts = header.kinds[index_of(kind)];
    return counts.entries != 0 || counts.keys != 0;
  };
  return header.max_labels == 0 &&
         (held(Kind::suffix) || held(Kind::exact_host) || held(Kind::subdomains) || header.mark_mask != 0);
}

}  // namespace bloomwall::filter
