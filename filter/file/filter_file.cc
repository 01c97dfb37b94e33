// SPDX-License-Identifier: Apache-2.0
#include "filter/file/filter_file.h"

#include <fmt/format.h>

#include <functional>

#include "filter/file/header_bytes.h"
#include "filter/file/leaves.h"
#include "filter/file/networks.h"

namespace bloomwall::filter {

Result<std::unique_ptr<FilterFile>> FilterFile::open(const std::filesystem::path& path, Form form) {
  auto map = MappedFile::open(path);
  if (!map) return unexpected(map.error());
  // A copy of the header, so that nobody can change it between the check and the use.
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

// Bytes of a section in memory of their own that are those of the header: whoever trusts the header may trust them,
// whatever is written to the file afterwards.
Result<std::vector<std::byte>> FilterFile::checked_section(const SectionEntry& section) const {
  std::vector<std::byte> bytes(section.length);
  const auto got = map_->read_at(section.offset, bytes);
  if (!got) return unexpected(got.error());
  if (*got < bytes.size()) {
    return unexpected(Error{Errc::too_short, path_.string(), "the file shrank while it was open"});
  }
  const Roots found = roots_of(digest_leaves(bytes));
  if (found.xxh == section.xxh_root && found.sha == section.sha_root) return bytes;
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

namespace {

// Looked at before as much memory is asked for.
std::uint64_t bytes_of_sums(const Header& header) {
  std::uint64_t pages = 0;
  for (const SectionEntry& section : header.sections)
    pages += has_pages(section.type) ? section.length / kPageBytes : 0;
  return pages * sizeof(std::uint32_t);
}

}  // namespace

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

FilterFile::FilterFile(std::filesystem::path path, std::unique_ptr<MappedFile> map, const HeaderBytes& bytes,
                       Header header)
    : path_(std::move(path)),
      map_(std::move(map)),
      header_bytes_(bytes),
      header_(std::move(header)),
      keys_(header_.series_key),
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
const FileVersion& FilterFile::version() const { return map_->version(); }

bool FilterFile::notice_change() const {
  if (!map_->changed()) return false;
  map_->mark_lost();
  return true;
}

Result<FileInfo> FilterFile::info() const {
  const std::span<const std::byte> bytes = section_bytes(SectionType::info);
  if (bytes.empty()) return FileInfo{};
  auto info = parse_info(bytes);
  if (lost()) return unexpected(Error{Errc::io, path_.string(), "the file failed while it was read"});
  if (!info) return unexpected(Error{info.error().code, path_.string(), info.error().text()});
  return info;
}

}  // namespace bloomwall::filter
