// `plan` of counted slices, and the geometry that it writes: the sizes of a filter for all keys that were counted and 2
// % more. A geometry holds the series id but not the key, how lists are read, and the sketches of the whole, from which
// follows what it was made for.
// Errors: those of work files and of choose_size(); usage for counts that do not fit each other.
// Threads: any. Memory: one slice's head. Cost: about a second.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "filter/builder/sizing.h"
#include "filter/slices/slice_head.h"
#include "filter/slices/work_file.h"

namespace bloomwall::filter {

struct PlannedGeometry {
  WorkHeader header;
  // A filter of that geometry as far as BuildOptions::like_header looks at one.
  Header like;
};
Result<PlannedGeometry> read_geometry(const std::filesystem::path& file);
// Whether a file is one, by its first octets; false where it can't be read.
bool is_geometry(const std::filesystem::path& file);

// The files of one kind of all slices (or parts) of a build, in the order of their numbers. Errors: usage where one is
// of another series, options or sizes than the first (`like`: than that), of another number of slices, or given twice;
// or where some are missing, with `incomplete` set.
Result<std::vector<WorkFile>> in_order(std::vector<WorkFile> files, WorkKind kind, const PlannedGeometry* like,
                                       bool& incomplete);
Result<std::vector<WorkFile>> open_all(const std::vector<std::filesystem::path>& inputs, WorkKind kind,
                                       bool& incomplete);

struct GeometryOptions {
  std::filesystem::path output;
  std::vector<std::filesystem::path> counts;  // .bwk, or .bwr
  Target target = {};
  FileAccess access = {};
};
struct GeometryReport {
  Header counts;  // of all slices, as estimated
  Sizing sizing;  // for 2 % more
  std::size_t slices = 0;
  bool is_incomplete = false;
};
Result<void> plan_geometry(const GeometryOptions& options, GeometryReport& report);

}  // namespace bloomwall::filter
