// The exact side of a filter, F.bwx: a fingerprint of 48 bits for every key of F.bwf, sorted, for a second, independent
// check of positives. A key that it lacks is not listed; a key that it has is "confirmed": wrong with probability
// fingerprints x 2^-48, so never called exact. Marks are not in it. Bound to its filter by its SHA-256 root in the
// filter's header, so that the filter's signature covers its exact side, too.
//   offset  size  field (little-endian)
//   0       8     magic 0x89 "BWX" CR LF 0x1A LF
//   8       4     version, u32: 1
//   12      4     bits of a fingerprint, u32: 48
//   16      16    file id of the filter
//   32      8     fingerprints
//   40      8     pages of 4096 bytes
//   48      8     bytes of the file: 4096 + pages x (4096 + 8)
//   56      16    XXH3-128 root of the leaves of all that follows the header (leaves.h)
//   72      32    SHA-256 root likewise
//   104     8     incompatible features: a reader refuses a bit that it does not know; none is defined
//   112     8     compatible features: unknown ones are passed over, and what is reserved below may be used by them
//   120     3960  reserved, zero
//   4080    16    XXH3-128 of bytes 0 to 4079
//   4096    4096n pages, then for each page 8 bytes: its first fingerprint (the directory, held in RAM)
// A page: first fingerprint u64, number of fingerprints u16, width u8 (0 to 48), zeros to byte 16; from there each
// fingerprint less the first one in `width` bits, one after the other, low bits first; the last 8 bytes are zero.
// A page so holds as many as fit: 48 bits each where they are few, 27 where they are ten billion.
// The fingerprint of a key takes bits that choose neither its page (of up to 2^45) nor, in P, the bits in the page: for
// key (hi, lo) and a tag t (S, X, W: the variant 0, 1, 2 of the host; U, Q, D: 8; R: 9)
//   mix64((t << 48) | (lo & (2^29 - 1)) << 19 | (hi & (2^19 - 1))) >> 16
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <vector>

#include "filter/file/filter_file.h"

namespace bloomwall::filter {

inline constexpr unsigned kExactBits = 48;
inline constexpr std::size_t kExactPageBytes = 4096;
inline constexpr std::size_t kExactPageHead = 16;
inline constexpr std::uint64_t kExactPayloadBits = (kExactPageBytes - kExactPageHead - 8) * 8;

// The kind tells the tag: a host's hash for S, X, W, the expression's key for the others.
std::uint64_t exact_fingerprint(Kind kind, const Hash128& key);

struct ExactHeader {
  FileId filter{};
  std::uint64_t compatible = 0;  // feature mask
  std::uint64_t fingerprints = 0;
  std::uint64_t pages = 0;
  std::uint64_t file_bytes = 0;
  std::array<std::uint8_t, 16> xxh_root{};
  Sha256 sha_root{};
};
// Errors: bad_magic, unsupported, bad_digest, bad_header, too_short.
Result<ExactHeader> parse_exact_header(std::span<const std::byte> head, std::uint64_t file_bytes);
std::vector<std::byte> serialise_exact_header(const ExactHeader& header);  // 4096 bytes
// Chance that a key that is not listed is confirmed all the same.
double residual_error(const ExactHeader& header);

// unknown: the page is damaged, or the file was lost under us; nothing can be said.
enum class ExactAnswer : std::uint8_t { refuted, confirmed, unknown };
ExactAnswer ask_exact_page(std::span<const std::byte, kExactPageBytes> page, std::uint64_t fingerprint);

// Fills pages from ascending fingerprints. Take the page whenever add() says it does not fit any more.
class ExactPageWriter {
 public:
  bool add(std::uint64_t fingerprint);  // false: this page is full, and the fingerprint is not in it
  bool empty() const { return fingerprints_.empty(); }
  std::uint64_t first() const { return fingerprints_.front(); }
  std::vector<std::byte> take();  // its bytes, and begin the next one

 private:
  std::vector<std::uint64_t> fingerprints_;
};

// Open and mapped. Const and shared by all threads; one page a question. Memory: 8 bytes a page.
class ExactSide {
 public:
  // `root`: Header::exact_root of its filter, the root of the one exact side that was made with it: another could
  // unlist what the filter lists. Errors: those of the header, wrong_base, bad_section.
  // `copy`: as in FilterFile::make_resident, for serving. If another exact side is at this path and the wanted one was
  // kept beside it (former_exact_side()), opens that.
  static Result<std::unique_ptr<ExactSide>> open(const std::filesystem::path& path, const Sha256& root,
                                                 const OwnCopy& copy = {});
  ~ExactSide();
  ExactSide(const ExactSide&) = delete;
  ExactSide& operator=(const ExactSide&) = delete;

  // Null: no page could hold it, refuted.
  const std::byte* page_of(std::uint64_t fingerprint) const;
  ExactAnswer ask(std::uint64_t fingerprint) const;
  // Whether a page is one of this file's, and whether reading it might wait for the disk.
  bool holds(const std::byte* page) const;
  bool may_wait(const std::byte* page) const;
  void note_awaited(const std::byte* page) const;  // one of this file's; see MappedFile
  const ExactHeader& header() const { return header_; }
  const std::filesystem::path& path() const { return path_; }
  bool lost() const;  // then ask() says unknown
  // For who asks without verify(): from now on ask_checked() verifies the whole file before its first answer, for its
  // pages have no sums of their own. What is damaged is lost.
  void check_reads() { checks_reads_ = true; }
  ExactAnswer ask_checked(std::uint64_t fingerprint) const;
  std::optional<Error> damage() const;  // that was found so
  ServedFrom served_from() const;
  Result<bool> keep_served(const std::filesystem::path& target, bool is_same) const;  // kept_file.h
  bool notice_change() const;                                                         // as FilterFile's
  void mark_lost() const;
  const FileVersion& version() const;
  const FileStamp& stamp() const { return version().stamp; }
  // Reads every byte and compares digests. Errors: bad_digest, too_short, io.
  Result<void> verify(FilterFile::Depth depth, const Progress& progress = {}) const;

 private:
  ExactSide(std::filesystem::path path, std::unique_ptr<MappedFile> map, const ExactHeader& header);
  static Result<std::unique_ptr<ExactSide>> open_there(const std::filesystem::path& path, const Sha256& root,
                                                       const OwnCopy& copy);
  bool is_same_directory(std::uint64_t at, std::span<const std::byte> part) const;
  Result<void> written_to() const;
  std::filesystem::path path_;
  std::unique_ptr<MappedFile> map_;
  ExactHeader header_;
  std::vector<std::uint64_t> directory_;
  bool checks_reads_ = false;
  mutable std::atomic<bool> is_verified_ = false, is_damaged_ = false;
  mutable std::mutex mutex_;  // held while it is verified; of damage_
  mutable std::optional<Error> damage_;
};

// Two files can't be renamed atomically. While a new pair is put in place, F.bwx.former is a second link to the exact
// side of the filter that is still there, so that a process killed in between leaves a usable pair.
std::filesystem::path former_exact_side(const std::filesystem::path& exact);
// Before: nothing is done where those that stand there don't belong to each other, for then the one that does is kept
// already. After. Both as far as the file system allows.
void keep_former_exact_side(const std::filesystem::path& filter, const std::filesystem::path& exact);
void drop_former_exact_side(const std::filesystem::path& exact);

}  // namespace bloomwall::filter
