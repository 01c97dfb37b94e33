// SPDX-License-Identifier: Apache-2.0
#include "filter/file/filter_writer.h"

#include <sys/mman.h>

#include <algorithm>
#include <utility>

#include "filter/result.h"

namespace bloomwall::filter {
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
