// SPDX-License-Identifier: Apache-2.0

#include "filter/file/filter_writer.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <utility>

#include "base/random.h"
#include "filter/bits/bloom_math.h"
#include "filter/bits/counters.h"
#include "filter/file/exact_side.h"
#include "filter/file/page_sums.h"
#include "filter/file/prediction.h"
#include "filter/result.h"

namespace bloomwall::filter {
namespace {

namespace fs = std::filesystem;

Result<void> check_geometry(const Geometry& g) {
  if (g.layout != Layout::sectors_2x8 && g.layout != Layout::lines_4x4) {
    return unexpected(Error{Errc::usage, "geometry", "unknown layout"});
  }
  if (g.pages == 0) return unexpected(Error{Errc::usage, "geometry", "no pages"});
  if (g.pages > kMaxPages) {
    return unexpected(Error{Errc::limit, "geometry", fmt::format("more than {} pages", kMaxPages)});
  }
  return {};
}

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

std::vector<LeafDigest> digests_of(const FilterDraft::SectionFacts& facts) {
  std::vector<LeafDigest> out;
  out.reserve(facts.size());
  for (const auto& leaf : facts) out.push_back(leaf.digest);
  return out;
}

SectionEntry entry_of(SectionType type, std::uint64_t offset, std::uint64_t length, const Geometry& g,
                      std::span<const LeafDigest> leaves) {
  const Roots roots = roots_of(leaves);
  return {.type = type,
          .critical = has_pages(type) || type == SectionType::networks,
          .offset = offset,
          .length = length,
          .geometry = g,
          .xxh_root = roots.xxh,
          .sha_root = roots.sha};
}

}  // namespace

Result<FilterDraft> FilterDraft::create(const fs::path& target, Plan plan) {
  auto file = TempFile::create(target, plan.access);
  if (!file) return unexpected(std::move(file).error());
  if (plan.header.file_id == FileId{}) plan.header.file_id = random_value<FileId>();
  plan.header.exact_root = {};  // of the file that the header was copied from
  FilterDraft draft(*std::move(file), std::move(plan));
  if (auto ok = draft.lay_out(); !ok) return unexpected(std::move(ok).error());
  return draft;
}

Result<void> FilterDraft::lay_out() {
  const auto place = [this](SectionType type, const std::optional<Geometry>& geometry) -> Result<void> {
    if (!geometry) return {};
    if (auto ok = check_geometry(*geometry); !ok) return ok;
    const std::uint64_t bytes = geometry->pages * bytes_per_bit_page(plan_.header.form());
    const std::uint64_t offset = place_after(end_, bytes);
    end_ = offset + bytes;
    sections_.push_back({.type = type, .geometry = *geometry, .offset = offset, .bytes = bytes});
    return {};
  };
  if (auto ok = place(SectionType::hosts, plan_.hosts); !ok) return ok;
  if (auto ok = place(SectionType::paths, plan_.paths); !ok) return ok;
  if (auto ok = place(SectionType::raw, plan_.raw); !ok) return ok;
  if (sections_.empty()) return unexpected(Error{Errc::usage, "plan", "a filter without sections"});
  int error = EINTR;
  while (error == EINTR) error = posix_fallocate(file_.descriptor(), 0, static_cast<off_t>(end_));
  if (error != 0) return system_error(file_.path(), fmt::format("reserve {} bytes", end_).c_str(), error);
  return {};
}

FilterDraft::LeafFacts FilterDraft::facts_of_bits(Layout layout, std::span<const std::byte> leaf) {
  return {.digest = digest_leaf(leaf), .fill = fill_error(layout, leaf), .page_sums = page_sums_of(leaf)};
}

FilterDraft::LeafFacts FilterDraft::facts_of(const PageSection& section, std::span<const std::byte> leaf) const {
  const Layout layout = section.geometry.layout;
  if (plan_.header.form() == Form::bits) return facts_of_bits(layout, leaf);
  return {.digest = digest_leaf(leaf), .fill = counter_fill_error(layout, leaf)};
}

FilterDraft::SectionFacts FilterDraft::facts_of_all(const PageSection& section,
                                                    std::span<const std::byte> pages) const {
  SectionFacts out(leaf_count(pages.size()));
  for_each_leaf(pages, [&](std::size_t i, std::span<const std::byte> leaf) { out[i] = facts_of(section, leaf); });
  return out;
}

double FilterDraft::fill_of(const PageSection& section, const SectionFacts& facts) {
  const std::uint64_t leaf_pages = kLeafBytes / (section.bytes / section.geometry.pages);
  std::uint64_t left = section.geometry.pages;
  double sum = 0;
  for (const LeafFacts& leaf : facts) {
    const std::uint64_t pages = std::min(left, leaf_pages);
    sum += leaf.fill * static_cast<double>(pages);
    left -= pages;
  }
  return sum / static_cast<double>(section.geometry.pages);
}

Result<void> FilterDraft::add_text(SectionType type, std::span<const std::byte> text, std::vector<LeafDigest>& leaves) {
  const std::uint64_t at = place_after(text_end_, text.size());
  const auto own = digest_leaves(text);
  table_.push_back(entry_of(type, at, text.size(), kNoGeometry, own));
  leaves.insert(leaves.end(), own.begin(), own.end());
  text_end_ = at + text.size();
  return write_at(file_, at, text);
}

Result<void> FilterDraft::add_page_sums(const std::vector<SectionFacts>& facts, std::vector<LeafDigest>& leaves) {
  if (plan_.header.form() == Form::counters) return {};
  std::vector<std::uint32_t> sums;
  sums.reserve(end_ / kPageBytes);
  for (const SectionFacts& section : facts) {
    for (const LeafFacts& leaf : section) sums.insert(sums.end(), leaf.page_sums.begin(), leaf.page_sums.end());
  }
  return add_text(SectionType::page_sums, std::as_bytes(std::span(sums)), leaves);
}

Result<void> FilterDraft::write_header(const std::vector<SectionFacts>& facts) {
  Header& h = plan_.header;
  h.predicted = predict(h, {.hosts = plan_.hosts, .paths = plan_.paths, .raw = plan_.raw});
  for (std::size_t i = 0; i < sections_.size(); ++i) {
    const double fill = stored_rate(fill_of(sections_[i], facts[i]));
    if (sections_[i].type == SectionType::hosts) h.predicted.host_fill = fill;
    if (sections_[i].type == SectionType::paths) h.predicted.path_fill = fill;
    if (sections_[i].type == SectionType::raw) h.predicted.raw_fill = fill;
  }
  h.sections = table_;
  h.file_bytes = text_end_;
  const std::vector<std::byte> bytes = serialise_header(h);
  if (auto readable = parse_header(bytes, h.file_bytes, h.form()); !readable)
    return unexpected(std::move(readable).error());
  return write_at(file_, 0, bytes);
}

Result<void> FilterDraft::commit(const std::vector<SectionFacts>& facts) {
  std::vector<LeafDigest> leaves;
  table_.clear();
  text_end_ = end_;
  for (std::size_t i = 0; i < sections_.size(); ++i) {
    const PageSection& s = sections_[i];
    const auto own = digests_of(facts[i]);
    table_.push_back(entry_of(s.type, s.offset, s.bytes, s.geometry, own));
    leaves.insert(leaves.end(), own.begin(), own.end());
  }
  const std::vector<std::byte> info = serialise_info(plan_.info);
  if (!parse_info(info))
    return unexpected(Error{Errc::limit, "info", "sources and notes exceed 16 MiB or 100000 records"});
  if (auto ok = add_text(SectionType::info, info, leaves); !ok) return ok;
  if (!plan_.exceptions.empty()) {
    if (auto ok = add_text(SectionType::exceptions, plan_.exceptions, leaves); !ok) return ok;
  }
  if (!plan_.networks.empty()) {
    if (auto ok = add_text(SectionType::networks, plan_.networks, leaves); !ok) return ok;
  }
  if (!plan_.sketches.empty()) {
    if (auto ok = add_text(SectionType::sketches, plan_.sketches, leaves); !ok) return ok;
  }
  if (auto ok = add_page_sums(facts, leaves); !ok) return ok;
  const std::vector<LeafDigest> records = std::move(leaves);
  std::vector<LeafDigest> of_records;
  if (auto ok = add_text(SectionType::leaves, std::as_bytes(std::span(records)), of_records); !ok) return ok;
  if (auto ok = write_header(facts); !ok) return ok;
  if (plan_.check) {
    if (auto ok = plan_.check(file_.path()); !ok) return ok;
  }
  if (plan_.former) file_.expect(*plan_.former);
  if (companion_ == nullptr) return file_.commit();
  const std::array<TempFile*, 2> both{companion_, &file_};
  return TempFile::commit(both, {.before = [this] { keep_former_exact_side(file_.target(), companion_->target()); },
                                 .after = [this] { drop_former_exact_side(companion_->target()); }});
}

namespace {

namespace fs = std::filesystem;

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

}  // namespace

struct FilterWriter::Impl {
  explicit Impl(FilterDraft the_draft) : draft(std::move(the_draft)) {}

  FilterDraft draft;
  Pages pages;
  std::vector<SectionWriter> writers;  // by the draft's sections

  Result<void> map() {
    if (auto ok = pages.map(draft.path(), draft.descriptor(), draft.end_of_pages()); !ok) return ok;
    for (const auto& s : draft.sections()) writers.emplace_back(s.geometry, pages.at(s.offset), s.kind());
    return {};
  }
  SectionWriter* writer(SectionType type) {
    if (draft.plan().header.form() == Form::counters) return nullptr;
    for (std::size_t i = 0; i < writers.size(); ++i) {
      if (draft.sections()[i].type == type) return &writers[i];
    }
    return nullptr;
  }
  std::span<std::byte> bytes(const FilterDraft::PageSection& section) const {
    return {pages.at(section.offset), section.bytes};
  }
  FilterDraft::SectionFacts facts(std::size_t section) const {
    return draft.facts_of_all(draft.sections()[section], bytes(draft.sections()[section]));
  }
};

Result<std::unique_ptr<FilterWriter>> FilterWriter::create(const fs::path& target, Plan plan) {
  auto draft = FilterDraft::create(target, std::move(plan));
  if (!draft) return unexpected(std::move(draft).error());
  auto impl = std::make_unique<Impl>(*std::move(draft));
  if (auto ok = impl->map(); !ok) return unexpected(std::move(ok).error());
  return std::unique_ptr<FilterWriter>(new FilterWriter(std::move(impl)));
}

FilterWriter::FilterWriter(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
FilterWriter::~FilterWriter() = default;

std::span<std::byte> FilterWriter::pages(SectionType type) {
  for (const auto& section : impl_->draft.sections()) {
    if (section.type == type) return impl_->bytes(section);
  }
  return {};
}

SectionWriter* FilterWriter::hosts() { return impl_->writer(SectionType::hosts); }
SectionWriter* FilterWriter::paths() { return impl_->writer(SectionType::paths); }
SectionWriter* FilterWriter::raw() { return impl_->writer(SectionType::raw); }
Header& FilterWriter::header() { return impl_->draft.plan().header; }
FileInfo& FilterWriter::info() { return impl_->draft.plan().info; }
FilterDraft& FilterWriter::draft() { return impl_->draft; }

FilterWriter::Fill FilterWriter::fill() const {
  Fill out;
  for (std::size_t i = 0; i < impl_->writers.size(); ++i) {
    const auto& section = impl_->draft.sections()[i];
    const double fill = FilterDraft::fill_of(section, impl_->facts(i));
    (section.type == SectionType::hosts ? out.hosts : section.type == SectionType::paths ? out.paths : out.raw) = fill;
  }
  return out;
}

Result<void> FilterWriter::commit() {
  std::vector<FilterDraft::SectionFacts> facts;
  for (std::size_t i = 0; i < impl_->writers.size(); ++i) facts.push_back(impl_->facts(i));
  return impl_->draft.commit(facts);
}

}  // namespace bloomwall::filter
