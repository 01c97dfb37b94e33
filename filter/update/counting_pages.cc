// SPDX-License-Identifier: Apache-2.0
#include "filter/update/counting_pages.h"

namespace bloomwall::filter {
namespace {

using Cells = std::optional<CounterSection>;

Cells cells_of_file(const FilterFile& file, SectionType type) {
  const SectionEntry* const section = file.header().find(type);
  if (section == nullptr) return std::nullopt;
  // Never written through: CellChange::probe only tests.
  auto* const cells = const_cast<std::byte*>(file.section_bytes(type).data());
  return CounterSection(section->geometry, cells, section_kind(type));
}

Cells cells_of_writer(FilterWriter& writer, SectionType type, const std::optional<Geometry>& geometry) {
  if (!geometry) return std::nullopt;
  return CounterSection(*geometry, writer.pages(type).data(), section_kind(type));
}

std::optional<Geometry> geometry_in(const FilterFile& file, SectionType type) {
  const SectionEntry* const section = file.header().find(type);
  if (section == nullptr) return std::nullopt;
  return section->geometry;
}

}  // namespace

CellSections sections_of(const FilterFile& file) {
  return {.hosts = cells_of_file(file, SectionType::hosts),
          .paths = cells_of_file(file, SectionType::paths),
          .raw = cells_of_file(file, SectionType::raw)};
}

CellSections sections_of(FilterWriter& writer, const FilterFile& like) {
  return sections_of(writer, Geometries{.hosts = geometry_in(like, SectionType::hosts),
                                        .paths = geometry_in(like, SectionType::paths),
                                        .raw = geometry_in(like, SectionType::raw)});
}

CellSections sections_of(FilterWriter& writer, const Geometries& geometries) {
  return {.hosts = cells_of_writer(writer, SectionType::hosts, geometries.hosts),
          .paths = cells_of_writer(writer, SectionType::paths, geometries.paths),
          .raw = cells_of_writer(writer, SectionType::raw, geometries.raw)};
}

}  // namespace bloomwall::filter
