// SPDX-License-Identifier: Apache-2.0
#include "filter/file/filter_file.h"

#include <fcntl.h>
#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <vector>

#include "filter/file/header_bytes.h"
#include "filter/file/kept_file.h"
#include "filter/file/leaves.h"
#include "filter/file/mapped_file.h"
#include "filter/file/networks.h"
#include "filter/file/read_check.h"

namespace bloomwall::filter {
namespace {

// Looked at before as much memory is asked for.
std::uint64_t bytes_of_sums(const Header& header) {
  std::uint64_t pages = 0;
  for (const SectionEntry& section : header.sections)
    pages += has_pages(section.type) ? section.length / kPageBytes : 0;
  return pages * sizeof(std::uint32_t);
}

class Verifier {
 public:
  Verifier(const FilterFile& file, const MappedFile& map, FilterFile::Depth depth, const Progress& progress)
      : file_(file), map_(map), deep_(depth == FilterFile::Depth::tampering), progress_(progress) {}

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
    const bool has_records = has_leaf_records(section.type);  // the others are compared by their root only
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

Result<std::unique_ptr<FilterFile>> FilterFile::open(const std::filesystem::path& path, Form form) {
  auto map = MappedFile::open(path);
  if (!map) return unexpected(map.error());
  // A copy of the header, so that it cannot change between check and use.
  HeaderBytes bytes{};
  const auto got = (*map)->read_at(0, bytes);
  if (!got) return unexpected(got.error());
  auto header = parse_header(std::span(bytes).first(*got), (*map)->bytes().size(), form);
  if (!header) {
    Error error = std::move(header).error();
    error.where = path.string() + (error.where.empty() ? "" : ": " + error.where);
    return unexpected(std::move(error));
  }
  std::unique_ptr<FilterFile> file(new FilterFile(path, *std::move(map), bytes, *std::move(header)));
  if (auto ok = file->take_exceptions(); !ok) return unexpected(std::move(ok).error());
  if (auto ok = file->take_networks(); !ok) return unexpected(std::move(ok).error());
  return file;
}

// A copy of a section in memory, verified against the header: as trustworthy as the header, and independent of later
// writes to the file.
Result<std::vector<std::byte>> FilterFile::checked_section(const SectionEntry& section) const {
  std::vector<std::byte> bytes(section.length);
  if (auto ok = read_section(section.type, bytes); !ok) return unexpected(std::move(ok).error());
  return bytes;
}

Result<void> FilterFile::read_section(SectionType type, std::span<std::byte> out) const {
  const SectionEntry& section = *header_.find(type);
  const auto got = map_->read_at(section.offset, out);
  if (!got) return unexpected(got.error());
  if (*got < out.size()) {
    return unexpected(Error{Errc::too_short, path_.string(), "the file shrank while it was open"});
  }
  const Roots found = roots_of(digest_leaves(out));
  if (found.xxh == section.xxh_root && found.sha == section.sha_root) return {};
  return unexpected(
      Error{Errc::bad_digest, path_.string(),
            fmt::format("section {} is damaged; fetch or build the file again", to_string(section.type))});
}

// An exception takes a hit away, so it has to be what was checked to the last bit.
Result<void> FilterFile::take_exceptions() {
  const SectionEntry* const section = header_.find(SectionType::exceptions);
  if (section == nullptr) return {};
  const std::uint64_t most = kExceptionHeaderBytes + kMaxExceptions * kExceptionBytes;
  if (section->length > most) {
    return unexpected(Error{Errc::bad_section, path_.string() + ": exceptions", "more than a file may hold"});
  }
  const auto bytes = checked_section(*section);
  if (!bytes) return unexpected(bytes.error());
  auto parsed = Exceptions::parse(*bytes);
  if (!parsed) {
    return unexpected(Error{parsed.error().code, path_.string() + ": " + parsed.error().where, parsed.error().what});
  }
  exceptions_ = *std::move(parsed);
  return {};
}

// Every address that is dialled is asked here, so these bytes are those of the header too.
Result<void> FilterFile::take_networks() {
  const SectionEntry* const section = header_.find(SectionType::networks);
  if (section == nullptr) return {};
  const auto bad = [this](Errc code, std::string_view where, std::string what) {
    return unexpected(Error{code, fmt::format("{}: {}", path_.string(), where), std::move(what)});
  };
  if (section->length > kMostNetworksBytes) {
    return bad(Errc::bad_section, "networks", "more ranges than a file may hold; fetch or build the file again");
  }
  const auto bytes = checked_section(*section);
  if (!bytes) return unexpected(bytes.error());
  auto parsed = parse_networks(*bytes);
  if (!parsed) return bad(parsed.error().code, parsed.error().where, parsed.error().what);
  if (const std::uint64_t said = header_.kinds[index_of(Kind::network)].keys; parsed->size() != said) {
    return bad(Errc::bad_section, "networks",
               fmt::format("{} ranges where the header says {}; fetch or build the file again", parsed->size(), said));
  }
  networks_ = *std::move(parsed);
  return {};
}
Result<PageSums> FilterFile::read_page_sums() const {
  const SectionEntry* const section = header_.find(SectionType::page_sums);
  if (section == nullptr || header_.form() == Form::counters) return PageSums{};
  if (section->length != bytes_of_sums(header_)) {
    return unexpected(Error{Errc::bad_section, path_.string() + ": page sums", "not one for each page"});
  }
  const auto bytes = checked_section(*section);
  if (!bytes) return unexpected(bytes.error());
  auto sums = PageSums::parse(*bytes, header_);
  if (!sums) return unexpected(Error{sums.error().code, path_.string() + ": " + sums.error().where, sums.error().what});
  return sums;
}

void FilterFile::check_page(const std::byte* page) const {
  const std::span<const std::byte> all = map_->bytes();
  if (std::less<>()(page, all.data()) || !std::less<>()(page, all.data() + all.size())) return;
  const auto offset = static_cast<std::uint64_t>(page - all.data());
  if (!page_sums_.empty() && !page_sums_.matches(offset, {page, kPageBytes})) map_->mark_lost();
  map_->note_awaited(page);
}

Result<void> FilterFile::check_reads() {
  auto check = ReadCheck::make(*this);
  if (!check) return unexpected(std::move(check).error());
  read_check_ = *std::move(check);
  return {};
}

void FilterFile::check_read(const std::byte* page) const {
  if (read_check_->check(static_cast<std::uint64_t>(page - map_->bytes().data()))) map_->mark_lost();
}

std::optional<Error> FilterFile::damage() const {
  return read_check_ == nullptr ? std::nullopt : read_check_->damage();
}

FilterFile::FilterFile(std::filesystem::path path, std::unique_ptr<MappedFile> map, const HeaderBytes& bytes,
                       Header header)
    : path_(std::move(path)),
      map_(std::move(map)),
      header_bytes_(bytes),
      header_(std::move(header)),
      keys_(key_maker_of(header_)),
      hosts_(view(SectionType::hosts)),
      paths_(view(SectionType::paths)),
      raw_(view(SectionType::raw)) {}

FilterFile::~FilterFile() = default;

std::span<const std::byte> FilterFile::section_bytes(SectionType type) const {
  const SectionEntry* const entry = header_.find(type);
  if (entry == nullptr) return {};
  return map_->bytes().subspan(entry->offset, entry->length);
}

SectionView FilterFile::view(SectionType type) const {
  const SectionEntry* const entry = header_.find(type);
  if (entry == nullptr || header_.form() == Form::counters) return {};
  return {entry->geometry, section_bytes(type).data(), section_kind(type)};
}

int FilterFile::descriptor() const { return map_->descriptor(); }

bool FilterFile::lost() const { return map_->lost(); }
void FilterFile::mark_lost() const { map_->mark_lost(); }
ServedFrom FilterFile::served_from() const { return map_->served_from(); }

Result<bool> FilterFile::keep_served(const std::filesystem::path& target, bool is_same) const {
  return filter::keep_served(*map_, target, is_same);
}
const FileVersion& FilterFile::version() const { return map_->version(); }

bool FilterFile::notice_change() const {
  if (!map_->changed()) return false;
  map_->mark_lost();
  return true;
}

// Who asks for it may not have called verify(), and what it says is shown to people.
Result<FileInfo> FilterFile::info() const {
  const SectionEntry* const section = header_.find(SectionType::info);
  if (section == nullptr) return FileInfo{};
  if (section->length > kMaxInfoBytes) {
    return unexpected(Error{Errc::bad_section, path_.string(), "info is larger than 16 MiB"});
  }
  const auto bytes = checked_section(*section);
  if (!bytes) return unexpected(bytes.error());
  auto info = parse_info(*bytes);
  if (!info) return unexpected(Error{info.error().code, path_.string(), info.error().text()});
  return info;
}

Result<void> FilterFile::make_resident(MemoryUse use, const Progress& progress, OwnCopy copy) {
  const std::uint64_t total = map_->bytes().size();
  const MemoryFacts memory = memory_facts();
  const auto chosen = choose_residence(use, total, memory, path_);
  if (!chosen) return unexpected(chosen.error());
  const auto go_on = [&](std::uint64_t done) { return !progress || progress(done, total); };
  if (*chosen != Residence::copied) {
    copy.to_disk = use == MemoryUse::paged;
    copy.fits_memory = *chosen != Residence::paged;
    if (auto ok = map_->own_copy(copy, go_on); !ok) return ok;
  }
  const bool is_in_memory = map_->served_from() == ServedFrom::memory_copy;
  Result<void> outcome;
  switch (*chosen) {
    case Residence::unmanaged:
      break;
    case Residence::resident:
      if (!is_in_memory) outcome = map_->read_in(map_->bytes(), go_on);
      break;
    case Residence::locked:
      outcome = map_->read_in(map_->bytes(), go_on);
      if (outcome) outcome = map_->lock(map_->bytes());
      break;
    case Residence::copied:
      outcome = map_->copy_to_memory(go_on);
      break;
    case Residence::paged:
      if (!is_in_memory) outcome = make_paged();
      break;
  }
  if (!outcome) return outcome;
  residence_ = is_in_memory && *chosen != Residence::locked ? Residence::copied : *chosen;
  return {};
}

// Look-ups in P and R are at random pages: read-ahead would fill memory with unused pages. All other sections are small
// and used by every request. Where locking fails they are still read in.
Result<void> FilterFile::make_paged() {
  auto sums = read_page_sums();
  if (!sums) return unexpected(sums.error());
  page_sums_ = *std::move(sums);
  hosts_locked_ = true;
  for (const SectionEntry& section : header_.sections) {
    const std::span<const std::byte> bytes = section_bytes(section.type);
    if (section.type == SectionType::paths || section.type == SectionType::raw) {
      map_->expect_random(bytes);
      continue;
    }
    if (section.type == SectionType::leaves || section.type == SectionType::info ||
        section.type == SectionType::page_sums || section.type == SectionType::networks) {
      continue;  // no question reads them here: networks have been read into memory of their own
    }
    if (Result<void> read = map_->read_in(bytes); !read) return read;
    hosts_locked_ = map_->lock(bytes).has_value() && hosts_locked_;
  }
  return {};
}

bool FilterFile::is_cached(const std::byte* page) const { return map_->is_cached(page); }

Result<void> FilterFile::verify(Depth depth, const Progress& progress) const {
  return Verifier(*this, *map_, depth, progress).run();
}

}  // namespace bloomwall::filter
