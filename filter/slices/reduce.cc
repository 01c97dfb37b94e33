// SPDX-License-Identifier: Apache-2.0
#include "filter/slices/reduce.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <thread>
#include <utility>

#include "filter/builder/draft_pages.h"
#include "filter/file/filter_writer.h"
#include "filter/file/memory.h"
#include "filter/parallel.h"
#include "filter/slices/geometry.h"
#include "filter/slices/leaf_records.h"
#include "filter/slices/work_file.h"

namespace bloomwall::filter {
namespace {

constexpr std::uint64_t kMostLeafCode = std::uint64_t{1} << 36;

// The records of one slice that belong to the part.
struct SliceRecords {
  const WorkFile* file = nullptr;
  std::uint64_t begin = 0;       // of the section, in the file
  std::vector<LeafIndex> index;  // one more than there are leaves: the end
};

// A leaf of the part: its section, its number there, and its place among the leaves of the part.
struct PartLeaf {
  std::size_t section = 0;
  std::uint64_t leaf = 0;
};

class Reduction {
 public:
  Reduction(const ReduceOptions& options, ReduceReport& report, const OnReduceProgress& progress)
      : options_(options),
        report_(report),
        progress_(progress),
        threads_(options.threads != 0 ? options.threads : std::max(1U, std::thread::hardware_concurrency())) {}
  Result<void> run();

 private:
  struct Worker {
    AnonymousMemory pages;
    std::vector<std::byte> code;
    std::vector<LeafKey> keys;
    std::uint64_t records = 0;
  };
  Result<void> open();
  Result<void> read_index(const WorkFile& file);
  Result<FilterDraft::LeafFacts> make(std::size_t at, Worker& worker, PagedFile& file, std::uint64_t pages_at);
  Result<void> insert(const SliceRecords& slice, std::size_t at, std::uint64_t pages, SectionWriter& writer,
                      Worker& worker) const;
  Result<void> make_all(PagedFile& file, std::uint64_t pages_at);
  Result<void> write();
  bool stopped() const { return options_.stop != nullptr && options_.stop->load(std::memory_order_relaxed); }

  const ReduceOptions& options_;
  ReduceReport& report_;
  const OnReduceProgress& progress_;
  unsigned threads_;
  std::vector<WorkFile> files_;
  std::vector<SliceRecords> slices_;
  WorkHeader header_;
  std::vector<PartLeaf> leaves_;
  std::vector<std::uint64_t> places_;  // of their pages in the section of pages; one more: its end
  std::vector<FilterDraft::LeafFacts> facts_;
};

std::uint64_t bytes_of_leaf(const LeafSpan& span, std::uint64_t leaf) {
  return std::min(kLeafBytes, span.geometry->bytes() - leaf * kLeafBytes);
}

Result<void> Reduction::open() {
  if (options_.of == 0 || options_.of > kMostSlices || options_.number >= options_.of)
    return unexpected(Error{Errc::usage, "--part", "is I/N, with I from 0 to N - 1"});
  auto files = open_all(options_.records, WorkKind::records, report_.is_incomplete);
  if (!files) return unexpected(std::move(files).error());
  files_ = *std::move(files);
  header_ = files_.front().header();
  header_.kind = WorkKind::part;
  header_.number = options_.number;
  header_.of = options_.of;
  std::vector<FileId> ids;
  for (const WorkFile& file : files_) ids.push_back(file.header().content_id);
  header_.set_id = set_id_of(ids);
  header_.spans = spans_of_part(header_.spans, options_.number, options_.of);
  places_.push_back(0);
  for (std::size_t s = 0; s < header_.spans.size(); ++s) {
    const LeafSpan& span = header_.spans[s];
    for (std::uint64_t i = span.first; i < span.first + span.count; ++i) {
      leaves_.push_back({.section = s, .leaf = i});
      places_.push_back(places_.back() + bytes_of_leaf(span, i));
    }
  }
  for (const WorkFile& file : files_) {
    if (auto ok = read_index(file); !ok) return ok;
  }
  return {};
}

// Keeps what the part needs.
Result<void> Reduction::read_index(const WorkFile& file) {
  const auto bytes = file.section(WorkSection::index);
  if (!bytes) return unexpected(bytes.error());
  const WorkEntry* const records = file.header().find(WorkSection::records);
  const std::uint64_t length = records == nullptr ? 0 : records->length;
  auto index = parse_index(*bytes, length);
  if (!index) return unexpected(Error{index.error().code, file.path().string(), index.error().text()});
  std::uint64_t all = 0;
  for (const LeafSpan& span : file.header().spans) all += span.all();
  if (index->size() != all)
    return unexpected(Error{Errc::bad_section, file.path().string(), "its index is of another number of leaves"});
  index->push_back({.offset = length});
  SliceRecords out{.file = &file, .begin = records == nullptr ? 0 : records->offset, .index = {}};
  const auto first = static_cast<std::ptrdiff_t>(all * options_.number / options_.of);
  const auto end = first + static_cast<std::ptrdiff_t>(leaves_.size()) + 1;
  out.index.assign(index->begin() + first, index->begin() + end);
  slices_.push_back(std::move(out));
  return {};
}

Result<void> Reduction::insert(const SliceRecords& slice, std::size_t at, std::uint64_t pages, SectionWriter& writer,
                               Worker& worker) const {
  const LeafIndex& leaf = slice.index[at];
  const std::uint64_t length = slice.index[at + 1].offset - leaf.offset;
  if (length > kMostLeafCode)
    return unexpected(Error{Errc::limit, slice.file->path().string(), "more records in a leaf than memory can hold"});
  worker.code.resize(length);
  if (auto ok = slice.file->read_at(slice.begin + leaf.offset, worker.code); !ok) return ok;
  worker.keys.clear();
  const SectionKind kind = section_kind(kPageSections[leaves_[at].section]);
  if (auto ok = decode_leaf(leaf, worker.code, kind, pages, worker.keys); !ok)
    return unexpected(Error{ok.error().code, slice.file->path().string(), ok.error().text()});
  for (const LeafKey& key : worker.keys) writer.insert_exclusive(key.place, key.variant);
  worker.records += leaf.records;
  return {};
}

Result<FilterDraft::LeafFacts> Reduction::make(std::size_t at, Worker& worker, PagedFile& file,
                                               std::uint64_t pages_at) {
  const PartLeaf& leaf = leaves_[at];
  const Geometry& geometry = *header_.spans[leaf.section].geometry;
  const std::span<std::byte> bytes = worker.pages.bytes().first(places_[at + 1] - places_[at]);
  std::memset(bytes.data(), 0, bytes.size());
  const std::uint64_t pages = bytes.size() / kPageBytes;
  SectionWriter writer({.layout = geometry.layout, .pages = pages}, bytes.data(),
                       section_kind(kPageSections[leaf.section]));
  for (const SliceRecords& slice : slices_) {
    if (auto ok = insert(slice, at, pages, writer, worker); !ok) return unexpected(std::move(ok).error());
  }
  if (auto ok = file.write(pages_at + places_[at], bytes); !ok) return unexpected(std::move(ok).error());
  return FilterDraft::facts_of_bits(geometry.layout, bytes);
}

Result<void> Reduction::make_all(PagedFile& file, std::uint64_t pages_at) {
  facts_.resize(leaves_.size());
  std::atomic<std::size_t> done = 0;
  std::atomic<std::uint64_t> records = 0;
  const auto caller = std::this_thread::get_id();
  const auto start = []() -> Result<Worker> {
    auto memory = AnonymousMemory::make(kLeafBytes);
    if (!memory) return unexpected(std::move(memory).error());
    return Worker{.pages = *std::move(memory), .code = {}, .keys = {}};
  };
  const auto make_one = [&](Worker& worker, std::size_t at) -> Result<void> {
    if (stopped()) return unexpected(Error{Errc::io, {}, "interrupted"});
    auto facts = make(at, worker, file, pages_at);
    if (!facts) return unexpected(std::move(facts).error());
    facts_[at] = *std::move(facts);
    records += std::exchange(worker.records, 0);
    ++done;
    if (progress_ && std::this_thread::get_id() == caller) progress_(done, leaves_.size());
    return {};
  };
  auto outcome = try_each_index(leaves_.size(), threads_, start, make_one);
  report_.records = records;
  return outcome;
}

Result<void> Reduction::write() {
  auto writer = WorkWriter::create(options_.output, options_.access);
  if (!writer) return unexpected(std::move(writer).error());
  const std::uint64_t pages_at = writer->begin(WorkSection::pages);
  {
    auto file = PagedFile::open(writer->descriptor(), writer->path());
    if (!file) return unexpected(std::move(file).error());
    if (auto ok = make_all(*file, pages_at); !ok) return ok;
  }
  writer->end(places_.back());
  std::vector<LeafDigest> digests;
  std::vector<std::uint32_t> sums;
  std::vector<double> fills;
  for (const FilterDraft::LeafFacts& leaf : facts_) {
    digests.push_back(leaf.digest);
    sums.insert(sums.end(), leaf.page_sums.begin(), leaf.page_sums.end());
    fills.push_back(leaf.fill);
  }
  if (auto ok = writer->add(WorkSection::digests, std::as_bytes(std::span(digests))); !ok) return ok;
  if (auto ok = writer->add(WorkSection::page_sums, std::as_bytes(std::span(sums))); !ok) return ok;
  if (auto ok = writer->add(WorkSection::fills, std::as_bytes(std::span(fills))); !ok) return ok;
  if (auto ok = writer->commit(header_); !ok) return ok;
  report_.leaves = leaves_.size();
  report_.file_bytes = header_.file_bytes;
  return {};
}

Result<void> Reduction::run() {
  if (auto ok = open(); !ok) return ok;
  return write();
}

}  // namespace

LeafSpans spans_of_part(const LeafSpans& all, std::uint32_t number, std::uint32_t of) {
  LeafSpans out = all;
  std::uint64_t total = 0;
  for (const LeafSpan& span : all) total += span.all();
  const std::uint64_t first = total * number / of;
  const std::uint64_t end = total * (std::uint64_t{number} + 1) / of;
  std::uint64_t before = 0;
  for (LeafSpan& span : out) {
    const std::uint64_t count = span.all();
    const std::uint64_t from = std::clamp(first, before, before + count);
    const std::uint64_t to = std::clamp(end, before, before + count);
    span.first = to > from ? from - before : 0;
    span.count = to - from;
    before += count;
  }
  return out;
}

Result<void> reduce(const ReduceOptions& options, ReduceReport& report, const OnReduceProgress& progress) {
  report = {};
  return Reduction(options, report, progress).run();
}

}  // namespace bloomwall::filter
