// SPDX-License-Identifier: Apache-2.0
#include "filter/file/filter_writer.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <optional>

#include "filter/file/leaves.h"
#include "filter/file/prediction.h"
#include "filter/file/temp_file.h"

namespace bloomwall::filter {
namespace {

namespace fs = std::filesystem;

std::uint64_t place_after(std::uint64_t end, std::uint64_t length) {
  const std::uint64_t alignment = length >= kSectionAlignment ? kSectionAlignment : kPageBytes;
  return (end + alignment - 1) / alignment * alignment;
}

Result<void> check_geometry(const Geometry& g) {
  if (g.layout != Layout::sectors_2x8 && g.layout != Layout::lines_4x4) {
    return unexpected(Error{Errc::usage, "geometry", "unknown layout"});
  }
  if (g.segments == 0 || g.pages_per_segment == 0) return unexpected(Error{Errc::usage, "geometry", "no pages"});
  if (g.pages_per_segment > kMaxPages / g.segments) {
    return unexpected(Error{Errc::limit, "geometry", fmt::format("more than {} pages", kMaxPages)});
  }
  return {};
}

// A shared, writable mapping of the temporary file. Its blocks exist before it is written: no SIGBUS on a full disk.
class Pages {
 public:
  Pages() = default;
  Pages(const Pages&) = delete;
  Pages& operator=(const Pages&) = delete;
  ~Pages() {
    if (address_ != nullptr) munmap(address_, bytes_);
  }
  Result<void> map(const fs::path& path, int fd, std::uint64_t bytes) {
    int error = EINTR;
    while (error == EINTR) error = posix_fallocate(fd, 0, static_cast<off_t>(bytes));
    if (error != 0) return system_error(path, fmt::format("reserve {} bytes", bytes).c_str(), error);
    void* const at = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (at == MAP_FAILED) return system_error(path, "map");
    address_ = static_cast<std::byte*>(at);
    bytes_ = bytes;
    return {};
  }
  std::byte* at(std::uint64_t offset) const { return address_ + offset; }

 private:
  std::byte* address_ = nullptr;
  std::uint64_t bytes_ = 0;
};

Result<void> write_at(const TempFile& file, std::uint64_t offset, std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const ssize_t done = pwrite(file.descriptor(), bytes.data(), bytes.size(), static_cast<off_t>(offset));
    if (done < 0 && errno == EINTR) continue;
    if (done < 0) return system_error(file.path(), "write");
    bytes = bytes.subspan(static_cast<std::size_t>(done));
    offset += static_cast<std::uint64_t>(done);
  }
  return {};
}

FileId random_id() {
  FileId id{};
  while (getrandom(id.data(), id.size(), 0) != static_cast<ssize_t>(id.size())) {
  }
  return id;
}

unsigned least_rounds(const Header& h, std::initializer_list<Kind> kinds) {
  unsigned least = 2;
  bool any = false;
  for (const Kind kind : kinds) {
    const KindCounts& counts = h.kinds[index_of(kind)];
    if (counts.keys == 0) continue;
    any = true;
    least = std::min<unsigned>(least, counts.rounds);
  }
  return any ? least : 1;
}

}  // namespace

struct FilterWriter::Impl {
  struct PageSection {
    SectionType type;
    Geometry geometry;
    std::uint64_t offset;
    SectionWriter writer;
  };

  Impl(TempFile temp_file, Plan the_plan) : file(std::move(temp_file)), plan(std::move(the_plan)) {}

  TempFile file;
  Plan plan;
  Pages pages;
  std::vector<PageSection> sections;  // in the order in which they stand in the file and in its table
  std::uint64_t end = kHeaderBytes;   // of the last of them

  Result<void> lay_out();
  SectionWriter* writer(SectionType type);
  double fill(SectionType type, std::initializer_list<Kind> kinds) const;
  Fill fill() const;
  SectionEntry entry(SectionType type, std::uint64_t offset, std::uint64_t length, const Geometry& g,
                     std::span<const LeafDigest> leaves) const;
  std::vector<LeafDigest> add_page_sections(std::vector<SectionEntry>& table) const;
  Result<void> add_text_sections(std::vector<SectionEntry>& table, std::vector<LeafDigest> leaves) const;
  Result<void> write_header();
};

Result<void> FilterWriter::Impl::lay_out() {
  struct Wanted {
    SectionType type;
    const std::optional<Geometry>& geometry;
    LineChoice lines;
    std::uint64_t offset = 0;
  };
  std::array<Wanted, 3> all{Wanted{SectionType::hosts, plan.hosts, LineChoice::host},
                            Wanted{SectionType::paths, plan.paths, LineChoice::own},
                            Wanted{SectionType::raw, plan.raw, LineChoice::own}};
  for (Wanted& w : all) {
    if (!w.geometry) continue;
    if (Result<void> ok = check_geometry(*w.geometry); !ok) return ok;
    w.offset = place_after(end, w.geometry->bytes());
    end = w.offset + w.geometry->bytes();
  }
  if (end == kHeaderBytes) return unexpected(Error{Errc::usage, "plan", "a filter without sections"});
  if (Result<void> ok = pages.map(file.path(), file.descriptor(), end); !ok) return ok;
  for (const Wanted& w : all) {
    if (!w.geometry) continue;
    sections.push_back({w.type, *w.geometry, w.offset, SectionWriter(*w.geometry, pages.at(w.offset), w.lines)});
  }
  return {};
}

SectionWriter* FilterWriter::Impl::writer(SectionType type) {
  const auto at =
      std::find_if(sections.begin(), sections.end(), [type](const PageSection& s) { return s.type == type; });
  return at == sections.end() ? nullptr : &at->writer;
}

double FilterWriter::Impl::fill(SectionType type, std::initializer_list<Kind> kinds) const {
  const auto at =
      std::find_if(sections.begin(), sections.end(), [type](const PageSection& s) { return s.type == type; });
  if (at == sections.end()) return 0;
  const bool shared_lines = at->writer.lines() == LineChoice::host;
  return fill_error(at->geometry.layout, at->writer.bytes(), least_rounds(plan.header, kinds), shared_lines);
}

FilterWriter::Fill FilterWriter::Impl::fill() const {
  return {.hosts = fill(SectionType::hosts, {Kind::suffix, Kind::exact_host, Kind::subdomains}),
          .paths = fill(SectionType::paths, {Kind::url, Kind::url_query, Kind::directory}),
          .raw = fill(SectionType::raw, {Kind::raw})};
}

SectionEntry FilterWriter::Impl::entry(SectionType type, std::uint64_t offset, std::uint64_t length, const Geometry& g,
                                       std::span<const LeafDigest> leaves) const {
  const Roots roots = roots_of(leaves);
  return {.type = type,
          .critical = has_pages(type),
          .offset = offset,
          .length = length,
          .geometry = g,
          .xxh_root = roots.xxh,
          .sha_root = roots.sha};
}

std::vector<LeafDigest> FilterWriter::Impl::add_page_sections(std::vector<SectionEntry>& table) const {
  std::vector<LeafDigest> all;
  for (const PageSection& s : sections) {
    const auto leaves = digest_leaves(s.writer.bytes());
    table.push_back(entry(s.type, s.offset, s.geometry.bytes(), s.geometry, leaves));
    all.insert(all.end(), leaves.begin(), leaves.end());
  }
  return all;
}

Result<void> FilterWriter::Impl::add_text_sections(std::vector<SectionEntry>& table,
                                                   std::vector<LeafDigest> leaves) const {
  const std::vector<std::byte> text = serialise_info(plan.info);
  if (!parse_info(text))
    return unexpected(Error{Errc::limit, "info", "sources and notes exceed 16 MiB or 100000 records"});
  const std::uint64_t text_at = place_after(end, text.size());
  const auto text_leaves = digest_leaves(text);
  table.push_back(entry(SectionType::info, text_at, text.size(), kNoGeometry, text_leaves));
  leaves.insert(leaves.end(), text_leaves.begin(), text_leaves.end());

  const std::span<const std::byte> records = std::as_bytes(std::span(leaves));
  const std::uint64_t records_at = place_after(text_at + text.size(), records.size());
  table.push_back(entry(SectionType::leaves, records_at, records.size(), kNoGeometry, digest_leaves(records)));
  if (Result<void> ok = write_at(file, text_at, text); !ok) return ok;
  return write_at(file, records_at, records);
}

Result<void> FilterWriter::Impl::write_header() {
  Header& h = plan.header;
  const Fill filled = fill();
  h.predicted = predict(h, {.hosts = plan.hosts, .paths = plan.paths, .raw = plan.raw});
  h.predicted.host_fill = stored_rate(filled.hosts);
  h.predicted.path_fill = stored_rate(filled.paths);
  h.predicted.raw_fill = stored_rate(filled.raw);
  h.file_bytes = h.sections.back().offset + h.sections.back().length;
  const std::vector<std::byte> bytes = serialise_header(h);
  if (auto readable = parse_header(bytes, h.file_bytes); !readable) return unexpected(std::move(readable).error());
  return write_at(file, 0, bytes);
}

Result<std::unique_ptr<FilterWriter>> FilterWriter::create(const fs::path& target, Plan plan) {
  auto file = TempFile::create(target);
  if (!file) return unexpected(std::move(file).error());
  if (plan.header.file_id == FileId{}) plan.header.file_id = random_id();
  auto impl = std::make_unique<Impl>(*std::move(file), std::move(plan));
  if (Result<void> ok = impl->lay_out(); !ok) return unexpected(std::move(ok).error());
  return std::unique_ptr<FilterWriter>(new FilterWriter(std::move(impl)));
}

FilterWriter::FilterWriter(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
FilterWriter::~FilterWriter() = default;

SectionWriter* FilterWriter::hosts() { return impl_->writer(SectionType::hosts); }
SectionWriter* FilterWriter::paths() { return impl_->writer(SectionType::paths); }
SectionWriter* FilterWriter::raw() { return impl_->writer(SectionType::raw); }
Header& FilterWriter::header() { return impl_->plan.header; }
FileInfo& FilterWriter::info() { return impl_->plan.info; }
FilterWriter::Fill FilterWriter::fill() const { return impl_->fill(); }

Result<void> FilterWriter::commit() {
  std::vector<SectionEntry> table;
  std::vector<LeafDigest> leaves = impl_->add_page_sections(table);
  if (Result<void> ok = impl_->add_text_sections(table, std::move(leaves)); !ok) return ok;
  impl_->plan.header.sections = std::move(table);
  if (Result<void> ok = impl_->write_header(); !ok) return ok;
  return impl_->file.commit();
}

}  // namespace bloomwall::filter
