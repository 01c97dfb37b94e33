// Writes one .bwf file: a temporary file beside the target, sections filled in place, digests, sync, rename. Until
// commit() returns, the target is untouched; a killed build leaves at most a temporary file that the next build of the
// same target removes. Equal header fields, equal info and equal keys give equal bytes, whatever the order of insertion
// and the number of threads.
// Errors: usage and limit for an invalid plan, io with the reason (a full disk is found in create(), before any key is
// inserted), bad_header in commit() for header fields that contradict each other.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "filter/file/file_info.h"
#include "filter/file/filter_file.h"
#include "filter/file/leaves.h"
#include "filter/file/temp_file.h"

namespace bloomwall::filter {

// A filter file that is being written: the temporary file beside the target, the position of each section in it, and
// the steps after the pages are written. The caller fills the pages: FilterWriter maps them all, a build that does not
// fit in memory fills them in rounds.
// Errors: as FilterWriter's.
class FilterDraft {
 public:
  struct Plan {
    // Identity, versions, counts; a file id of zeros becomes a random one. Its form decides whether pages are of bits.
    Header header;
    std::optional<Geometry> hosts, paths, raw;  // at least one
    FileInfo info;
    std::vector<std::byte> exceptions = {};  // serialise_exceptions(); may be set until commit()
    std::vector<std::byte> sketches = {};    // the section of that name, where it is not empty
    std::vector<std::byte> networks = {};    // serialise_networks(), where there are ranges; the header counts them
    FileAccess access = {};
    std::optional<FormerFile> former = {};  // the only file that may be replaced; none: any file at the target
    // Called with the complete file under its temporary name, before it replaces the target; an error leaves the target
    // unchanged.
    std::function<Result<void>(const std::filesystem::path&)> check = {};
  };
  struct PageSection {
    SectionType type;
    Geometry geometry;
    std::uint64_t offset;
    std::uint64_t bytes;  // of bits or counters, as the header's form has it
    SectionKind kind() const { return section_kind(type); }
  };
  // What the pages of a section came to: a record a leaf, in order. `fill` is the leaf's fill_error. Memory: 4 bytes a
  // page.
  struct LeafFacts {
    LeafDigest digest;
    double fill = 0;
    std::vector<std::uint32_t> page_sums = {};  // of bits, not of counters
  };
  using SectionFacts = std::vector<LeafFacts>;

  // The space that the pages take is reserved; a full disk is found here.
  static Result<FilterDraft> create(const std::filesystem::path& target, Plan plan);

  // Page sections, in the order in which they stand in the file.
  const std::vector<PageSection>& sections() const { return sections_; }
  const std::filesystem::path& path() const { return file_.path(); }
  int descriptor() const { return file_.descriptor(); }
  std::uint64_t end_of_pages() const { return end_; }
  Plan& plan() { return plan_; }
  const Plan& plan() const { return plan_; }

  // Of the bits of a leaf, wherever it was made.
  static LeafFacts facts_of_bits(Layout layout, std::span<const std::byte> leaf);
  // Of `leaf`, the i-th kLeafBytes of that section or what is left of it. Thread-safe.
  LeafFacts facts_of(const PageSection& section, std::span<const std::byte> leaf) const;
  // Of a section in memory, by as many threads as there are processors.
  SectionFacts facts_of_all(const PageSection& section, std::span<const std::byte> pages) const;
  // The mean over pages of what its leaves came to.
  static double fill_of(const PageSection& section, const SectionFacts& facts);
  // Its exact side, written and synced, that takes its place right before this one does. Lives until commit().
  void commit_behind(TempFile& exact_side) { companion_ = &exact_side; }
  // Everything but the pages, then sync and rename. `facts`: one a page section, in order; their page sums become the
  // section of that name. Once only.
  Result<void> commit(const std::vector<SectionFacts>& facts);

 private:
  FilterDraft(TempFile file, Plan plan) : file_(std::move(file)), plan_(std::move(plan)) {}
  Result<void> lay_out();
  Result<void> add_text(SectionType type, std::span<const std::byte> text, std::vector<LeafDigest>& leaves);
  Result<void> add_page_sums(const std::vector<SectionFacts>& facts, std::vector<LeafDigest>& leaves);
  Result<void> write_header(const std::vector<SectionFacts>& facts);

  TempFile file_;
  Plan plan_;
  TempFile* companion_ = nullptr;
  std::vector<PageSection> sections_;
  std::vector<SectionEntry> table_;
  std::uint64_t end_ = kHeaderBytes;       // of the last page section
  std::uint64_t text_end_ = kHeaderBytes;  // of what follows them, while it is written
};

class FilterWriter {
 public:
  using Plan = FilterDraft::Plan;
  static Result<std::unique_ptr<FilterWriter>> create(const std::filesystem::path& target, Plan plan);
  ~FilterWriter();  // without commit(): removes the temporary file

  // All zero at first; empty where there is no such section. For a file of counters the way to fill it.
  std::span<std::byte> pages(SectionType type);
  // Null where the plan has no such section, or counters. Any number of threads may insert.
  SectionWriter* hosts();
  SectionWriter* paths();
  SectionWriter* raw();
  // Both may be changed until commit(). Sections, length and predictions are filled in by commit().
  Header& header();
  FileInfo& info();
  FilterDraft& draft();  // for what stands beside the pages

  // Error of one question as the bits now set give it (0 for a section that is not there); a counter that is not zero
  // is a bit. Reads every byte. Not while others insert.
  struct Fill {
    double hosts = 0, paths = 0, raw = 0;
  };
  Fill fill() const;

  // Predictions, digests, header, fsync of file and folder, rename over the target. Once only.
  Result<void> commit();

 private:
  struct Impl;
  explicit FilterWriter(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace bloomwall::filter
