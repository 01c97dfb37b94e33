// Writes one .bwf file: a temporary file beside the target, sections filled in place, digests, sync, rename. Until
// commit() returns, the target is untouched; a killed build leaves at most a temporary file that the next build of the
// same target removes. Equal header fields, equal info and equal keys give equal bytes, whatever the order of insertion
// and the number of threads.
// Errors: usage and limit for an invalid plan, io with the reason (a full disk is found in create(), before any key is
// inserted), bad_header in commit() for header fields that contradict each other.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "filter/file/filter_draft.h"
#include "filter/file/filter_file.h"

namespace bloomwall::filter {

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
