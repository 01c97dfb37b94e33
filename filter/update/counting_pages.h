// Inside filter/update: the cells of a counting filter, of a file that is read and of one that is being written, and lists
// read into a store.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "filter/file/filter_writer.h"
#include "filter/file/prediction.h"
#include "filter/update/cell_store.h"
#include "filter/update/changes.h"

namespace bloomwall::filter {

// For probing alone: the cells of a mapped file can't be written.
CellSections sections_of(const FilterFile& file);
// Of a writer whose geometries are those of `like`, or of what was planned.
CellSections sections_of(FilterWriter& writer, const FilterFile& like);
CellSections sections_of(FilterWriter& writer, const Geometries& geometries);

void add_cells(CellCounts& sum, const CellCounts& more);

// Reads lists with several threads and judges their reports as read_changes() does.
Result<void> read_into(KeyStore& store, const std::vector<std::string>& lists, const ChangeLists& options,
                       unsigned threads, std::vector<FileIntake>& files);

}  // namespace bloomwall::filter
