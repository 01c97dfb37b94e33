// SPDX-License-Identifier: Apache-2.0
#include "filter/slices/geometry.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <fstream>
#include <utility>

#include "filter/builder/ingest.h"
#include "filter/file/networks.h"
#include "filter/file/prediction.h"

namespace bloomwall::filter {
namespace {

constexpr double kRoomToSpare = 1.02;
constexpr std::uint64_t kInfoRoom = std::uint64_t{64} << 10;  // as of a build whose sources are not known yet
constexpr std::size_t kNamed = 20;                            // of numbers that are missing

Header planned_counts(const EntrySketches& sketches) {
  Header counts;
  set_counts(counts, sketches.summary());
  scale_counts(counts, kRoomToSpare);
  return counts;
}

const char* one_of(WorkKind kind) { return kind == WorkKind::part ? "part" : "slice"; }

Result<void> check_numbers(const std::vector<WorkFile>& files, bool& incomplete) {
  const WorkKind kind = files.front().header().kind;
  const std::uint32_t of = files.front().header().of;
  std::string missing;
  std::size_t count = 0;
  std::uint32_t next = 0;
  const auto miss = [&](std::uint32_t until) {
    for (; next < until; ++next) {
      if (count++ < kNamed) missing += fmt::format("{}{}", missing.empty() ? "" : ", ", next);
    }
  };
  for (std::size_t i = 0; i < files.size(); ++i) {
    const WorkHeader& h = files[i].header();
    if (i > 0 && files[i - 1].header().number == h.number) {
      return unexpected(Error{Errc::usage, files[i].path().string(),
                              fmt::format("is {} {}, as {} is: one of them is given twice", one_of(kind), h.number,
                                          files[i - 1].path().string())});
    }
    miss(h.number);
    ++next;
  }
  miss(of);
  if (count == 0) return {};
  incomplete = true;
  return unexpected(Error{Errc::usage,
                          {},
                          fmt::format("incomplete: of {} {}s {} {} missing: {}{}", of, one_of(kind), count,
                                      count == 1 ? "is" : "are", missing, count > kNamed ? " ..." : "")});
}

}  // namespace

Result<std::vector<WorkFile>> in_order(std::vector<WorkFile> files, WorkKind kind, const PlannedGeometry* like,
                                       bool& incomplete) {
  incomplete = files.empty();
  if (files.empty())
    return unexpected(Error{Errc::usage, {}, fmt::format("incomplete: no {} is given", to_string(kind))});
  const WorkHeader& first = files.front().header();
  for (const WorkFile& file : files) {
    const WorkHeader& h = file.header();
    const char* const unlike = like != nullptr ? difference_of(like->header, h) : nullptr;
    const char* what = difference_of(first, h);
    if (h.of != first.of) what = "another number of slices or parts";
    if (h.known_good != first.known_good) what = "other known-good lists";
    if (h.set_id != first.set_id) what = "another run of maps";
    if (unlike == nullptr && what == nullptr) continue;
    return unexpected(Error{Errc::usage, file.path().string(),
                            unlike != nullptr ? fmt::format("is of {} than --like names", unlike)
                                              : fmt::format("is of {} than {}", what, files.front().path().string())});
  }
  std::ranges::sort(files, {}, [](const WorkFile& file) { return file.header().number; });
  if (auto ok = check_numbers(files, incomplete); !ok) return unexpected(std::move(ok).error());
  return files;
}

Result<std::vector<WorkFile>> open_all(const std::vector<std::filesystem::path>& inputs, WorkKind kind,
                                       bool& incomplete) {
  std::vector<WorkFile> out;
  for (const auto& path : inputs) {
    auto file = WorkFile::open(path, kind);
    if (!file) return unexpected(std::move(file).error());
    out.push_back(*std::move(file));
  }
  return in_order(std::move(out), kind, nullptr, incomplete);
}

Result<PlannedGeometry> read_geometry(const std::filesystem::path& file) {
  const auto opened = WorkFile::open(file, WorkKind::geometry);
  if (!opened) return unexpected(opened.error());
  const auto bytes = opened->section(WorkSection::sketches);
  if (!bytes) return unexpected(bytes.error());
  const auto sketches = EntrySketches::parse(*bytes);
  if (!sketches) return unexpected(Error{sketches.error().code, file.string(), sketches.error().text()});
  PlannedGeometry out{.header = opened->header(), .like = opened->header().filter_header()};
  const std::vector<SectionEntry> sections = std::move(out.like.sections);
  const Header counts = planned_counts(*sketches);
  out.like.kinds = counts.kinds;
  out.like.hosts = counts.hosts;
  out.like.marks = counts.marks;
  out.like.mark_mask = counts.mark_mask;
  out.like.min_labels = counts.min_labels;
  out.like.max_labels = counts.max_labels;
  out.like.path_questions = counts.path_questions;
  out.like.sections = sections;
  out.like.predicted = predict(counts, geometries_of(out.like));
  const Geometries geometries = geometries_of(out.like);
  out.like.file_bytes = file_bytes_of(geometries, kInfoRoom + kMostSketchBytes);
  return out;
}

bool is_geometry(const std::filesystem::path& file) {
  std::array<char, 8> head{};
  std::ifstream in(file, std::ios::binary);
  return in.read(head.data(), head.size()) && is_work_file(std::as_bytes(std::span(head)));
}

Result<void> plan_geometry(const GeometryOptions& options, GeometryReport& report) {
  report = {};
  // A .bwr is as good as the count of the same slice; its sizes are of a plan before this one.
  bool is_mapped = false;
  if (!options.counts.empty()) {
    is_mapped = WorkFile::open(options.counts.front(), WorkKind::records).has_value();
  }
  auto files = open_all(options.counts, is_mapped ? WorkKind::records : WorkKind::count, report.is_incomplete);
  if (!files) return unexpected(std::move(files).error());
  report.slices = files->size();
  SliceUnion all;
  for (const WorkFile& file : *files) {
    auto head = read_head(file);
    if (!head) return unexpected(std::move(head).error());
    if (auto ok = all.add(file.path(), *std::move(head)); !ok) return ok;
  }
  all.set_counts_of(report.counts);
  if (distinct_entries(report.counts) == 0)
    return unexpected(Error{Errc::usage, {}, "no slice holds an entry that could be blocked"});
  const Demand demand{.counts = planned_counts(all.sketches),
                      .info_bytes = kInfoRoom + kMostSketchBytes,
                      .network_bytes = networks_bytes(all.networks),
                      .of = options.target.of,
                      .false_marks = options.target.false_marks};
  auto sizing = choose_size(demand, options.target);
  if (!sizing) return unexpected(std::move(sizing).error());
  report.sizing = *std::move(sizing);
  auto writer = WorkWriter::create(options.output, options.access);
  if (!writer) return unexpected(std::move(writer).error());
  if (auto ok = writer->add(WorkSection::sketches, all.sketches.serialise()); !ok) return ok;
  WorkHeader header;
  header.kind = WorkKind::geometry;
  header.series_id = files->front().header().series_id;
  header.reading = files->front().header().reading;
  header.spans = all_leaves(report.sizing.sections);
  return writer->commit(header);
}

}  // namespace bloomwall::filter
