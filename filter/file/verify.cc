// FilterFile::verify.
// SPDX-License-Identifier: Apache-2.0
#include <fcntl.h>
#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "filter/file/filter_file.h"
#include "filter/file/leaf_reader.h"
#include "filter/file/leaves.h"
#include "filter/file/mapped_file.h"

namespace bloomwall::filter {
namespace {

class Verifier {
 public:
  Verifier(const FilterFile& file, const MappedFile& map, FilterFile::Depth depth, const Progress& progress)
      : file_(file),
        map_(map),
        deep_(depth == FilterFile::Depth::tampering),
        progress_(progress) {}

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

  LeafRange range_of(std::uint64_t offset, std::uint64_t length) const {
    return {.map = map_, .offset = offset, .length = length, .with_sha = deep_, .stays_cached = !is_paged()};
  }

  Result<void> take(const ReadLeaf& leaf) {
    done_ = leaf.offset + leaf.bytes;
    if (!progress_ || progress_(done_, file_.header().file_bytes)) return {};
    return unexpected(Error{Errc::io, file_.path().string(), "verification was stopped"});
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
    const auto all_zero = [](std::uint64_t, std::span<const std::byte> piece) {
      return std::all_of(piece.begin(), piece.end(), [](std::byte b) { return b == std::byte{0}; });
    };
    const auto on_leaf = [&](const ReadLeaf& leaf) {
      is_zero = is_zero && leaf.pieces_hold;
      return take(leaf);
    };
    if (auto got = read_leaves(range_of(from, until - from), all_zero, on_leaf); !got) return unexpected(got.error());
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

  bool match(std::uint64_t offset, std::span<const std::byte> piece) const {
    bool all = true;
    for (std::size_t at = 0; at < piece.size(); at += kPageBytes) {
      all = sums_.matches(offset + at, piece.subspan(at, kPageBytes)) && all;
    }
    return all;
  }

  Result<void> check_section(const SectionEntry& section) {
    const bool has_records = has_leaf_records(section.type);  // the others are compared by their root alone
    const bool has_sums = has_pages(section.type) && !sums_.empty();
    std::uint64_t record = has_records ? records_of(section) : 0;
    const auto on_piece = [&](std::uint64_t offset, std::span<const std::byte> piece) {
      return !has_sums || match(offset, piece);
    };
    const auto on_leaf = [&](const ReadLeaf& leaf) -> Result<void> {
      if (has_records) {
        const auto stored = stored_digest(record);
        if (!stored) return unexpected(stored.error());
        if (!same(*stored, leaf.digest)) return damaged(section, leaf.offset, leaf.bytes);
        record += kLeafRecordBytes;
      }
      if (!leaf.pieces_hold) return damaged(section, leaf.offset, leaf.bytes);
      return take(leaf);
    };
    const auto found = read_leaves(range_of(section.offset, section.length), on_piece, on_leaf);
    if (!found) return unexpected(found.error());
    if (found->xxh == section.xxh_root && (!deep_ || found->sha == section.sha_root)) return {};
    return damaged(section, section.offset, section.length);
  }

  const FilterFile& file_;
  const MappedFile& map_;
  const bool deep_;
  const Progress& progress_;
  PageSums sums_;
  std::uint64_t done_ = 0;
};

}  // namespace

Result<void> FilterFile::verify(Depth depth, const Progress& progress) const {
  return Verifier(*this, *map_, depth, progress).run();
}

}  // namespace bloomwall::filter
