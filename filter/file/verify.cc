// FilterFile::verify: one pass over the file by read(), not through the mapping, so that a failing disk is an error with
// a name and the memory used is a piece of a leaf.
// SPDX-License-Identifier: Apache-2.0
#include <fcntl.h>
#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "filter/file/filter_file.h"
#include "filter/file/leaves.h"
#include "filter/file/mapped_file.h"

namespace bloomwall::filter {
namespace {

constexpr std::size_t kPieceBytes = std::size_t{64} * 1024;  // stays in a processor's cache between read and digest

class Verifier {
 public:
  Verifier(const FilterFile& file, const MappedFile& map, FilterFile::Depth depth, const Progress& progress)
      : file_(file),
        map_(map),
        deep_(depth == FilterFile::Depth::tampering),
        progress_(progress),
        leaf_(deep_),
        buffer_(kPieceBytes) {}

  Result<void> run() {
    posix_fadvise(map_.descriptor(), 0, 0, POSIX_FADV_SEQUENTIAL);
    Result<void> outcome = check_all();
    if (outcome && map_.changed()) {
      outcome = unexpected(Error{Errc::io, file_.path().string(), "was written to while it was verified"});
    }
    posix_fadvise(map_.descriptor(), 0, 0, is_paged() ? POSIX_FADV_RANDOM : POSIX_FADV_NORMAL);
    return outcome;
  }

 private:
  // Not to be kept in memory: what is read is given up at once, lest it drive out the file that is being served. Pages
  // that somebody has mapped stay.
  bool is_paged() const { return file_.residence() == Residence::paged; }

  Result<void> check_all() {
    std::vector<SectionEntry> order = file_.header().sections;
    std::sort(order.begin(), order.end(), [](const auto& a, const auto& b) { return a.offset < b.offset; });
    done_ = kHeaderBytes;
    auto sums = file_.read_page_sums();
    if (!sums) return unexpected(sums.error());
    sums_ = *std::move(sums);
    for (const SectionEntry& section : order) {
      if (Result<void> ok = check_gap(section.offset); !ok) return ok;
      if (Result<void> ok = check_section(section); !ok) return ok;
    }
    return {};
  }

  // The next `bytes` of the file, a leaf at most, piece by piece.
  template <typename Take>
  Result<void> read(std::uint64_t bytes, const Take& take) {
    const std::uint64_t begin = done_, end = begin + bytes;
    while (done_ < end) {
      const std::span<std::byte> piece = std::span(buffer_).first(std::min<std::uint64_t>(kPieceBytes, end - done_));
      const auto got = map_.read_at(done_, piece);
      if (!got) return unexpected(got.error());
      if (*got < piece.size() || file_.lost()) {
        return unexpected(Error{Errc::too_short, file_.path().string(), "the file shrank while it was open"});
      }
      take(std::span<const std::byte>(piece));
      done_ += piece.size();
    }
    if (is_paged()) {
      posix_fadvise(map_.descriptor(), static_cast<off_t>(begin), static_cast<off_t>(bytes), POSIX_FADV_DONTNEED);
    }
    if (progress_ && !progress_(done_, file_.header().file_bytes)) {
      return unexpected(Error{Errc::io, file_.path().string(), "verification was stopped"});
    }
    return {};
  }

  Result<void> damaged(const SectionEntry& section, std::uint64_t from, std::uint64_t bytes) const {
    return unexpected(Error{Errc::bad_digest, file_.path().string(),
                            fmt::format("section {} is damaged within bytes {} to {}; fetch or build the file again",
                                        to_string(section.type), from, from + bytes - 1)});
  }

  Result<void> check_gap(std::uint64_t until) {
    const std::uint64_t from = done_;
    if (until == from) return {};
    bool is_zero = true;
    const auto look = [&is_zero](std::span<const std::byte> piece) {
      is_zero = is_zero && std::all_of(piece.begin(), piece.end(), [](std::byte b) { return b == std::byte{0}; });
    };
    if (Result<void> ok = read(until - from, look); !ok) return ok;
    if (is_zero) return {};
    return unexpected(Error{Errc::bad_digest, file_.path().string(),
                            fmt::format("bytes {} to {} between sections are not zero", from, until - 1)});
  }

  // The digests stored for the leaves of a section start after those of the sections before it in the table.
  std::uint64_t records_of(const SectionEntry& section) const {
    std::uint64_t at = file_.header().find(SectionType::leaves)->offset;
    for (const SectionEntry& other : file_.header().sections) {
      if (other.type == section.type) break;
      if (has_leaf_records(other.type)) at += leaf_count(other.length) * kLeafRecordBytes;
    }
    return at;
  }

  Result<LeafDigest> stored_digest(std::uint64_t offset) const {
    LeafDigest out;
    const auto got = map_.read_at(offset, std::as_writable_bytes(std::span(&out, 1)));
    if (!got) return unexpected(got.error());
    if (*got < sizeof out) {
      return unexpected(Error{Errc::too_short, file_.path().string(), "the file shrank while it was open"});
    }
    return out;
  }

  bool same(const LeafDigest& stored, const LeafDigest& found) const {
    return stored.xxh == found.xxh && (!deep_ || stored.sha == found.sha);
  }

  // Of the piece that is being read.
  bool match(std::span<const std::byte> piece) const {
    bool all = true;
    for (std::size_t at = 0; at < piece.size(); at += kPageBytes) {
      all = sums_.matches(done_ + at, piece.subspan(at, kPageBytes)) && all;
    }
    return all;
  }

  Result<void> check_section(const SectionEntry& section) {
    const bool has_records = has_leaf_records(section.type);  // the others are compared by their root alone
    const bool has_sums = has_pages(section.type) && !sums_.empty();
    std::uint64_t record = has_records ? records_of(section) : 0;
    RootStream roots;
    for (std::uint64_t at = 0; at < section.length; at += kLeafBytes, record += kLeafRecordBytes) {
      const std::uint64_t size = std::min(kLeafBytes, section.length - at);
      bool sums_match = true;
      const auto take = [&](std::span<const std::byte> piece) {
        leaf_.add(piece);
        if (has_sums) sums_match = match(piece) && sums_match;
      };
      if (Result<void> ok = read(size, take); !ok) return ok;
      const LeafDigest found = leaf_.finish();
      if (has_records) {
        const auto stored = stored_digest(record);
        if (!stored) return unexpected(stored.error());
        if (!same(*stored, found)) return damaged(section, section.offset + at, size);
      }
      if (!sums_match) return damaged(section, section.offset + at, size);
      roots.add(found);
    }
    const Roots found = roots.finish();
    if (found.xxh == section.xxh_root && (!deep_ || found.sha == section.sha_root)) return {};
    return damaged(section, section.offset, section.length);
  }

  const FilterFile& file_;
  const MappedFile& map_;
  const bool deep_;
  const Progress& progress_;
  LeafStream leaf_;
  PageSums sums_;
  std::vector<std::byte> buffer_;
  std::uint64_t done_ = 0;
};

}  // namespace

Result<void> FilterFile::verify(Depth depth, const Progress& progress) const {
  return Verifier(*this, *map_, depth, progress).run();
}

}  // namespace bloomwall::filter
