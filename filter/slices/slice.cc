// SPDX-License-Identifier: Apache-2.0
#include "filter/slices/slice.h"

#include <fmt/format.h>

#include <utility>

#include "base/units.h"
#include "filter/builder/build_run.h"
#include "filter/slices/geometry.h"
#include "filter/slices/record_store.h"
#include "filter/slices/slice_head.h"
#include "filter/slices/work_file.h"

namespace bloomwall::filter {
namespace {

constexpr std::size_t kWrittenAtOnce = std::size_t{1} << 20;

class Slice {
 public:
  Slice(const SliceOptions& options, const BuildOptions& build, BuildReport& report, const OnBuildProgress& progress)
      : options_(options), run_(build, report, progress, true) {}
  Result<void> count();
  Result<void> map(const WorkHeader& geometry);

 private:
  Result<void> read(KeyStore& store);
  Result<SliceHead> head(EntrySketches sketches);
  WorkHeader header(WorkKind kind) const;
  Result<void> check_fit(const SliceHead& head) const;
  Result<void> write(const WorkHeader& geometry, const SliceHead& head, RecordStore& store);

  const SliceOptions& options_;
  BuildRun run_;
};

Result<void> Slice::read(KeyStore& store) { return run_.read(store, BuildPhase::reading); }

Result<SliceHead> Slice::head(EntrySketches sketches) {
  run_.report.summary = sketches.summary();
  if (auto ok = run_.join_ranges(); !ok) return unexpected(std::move(ok).error());
  if (auto ok = run_.check_lists(); !ok) return unexpected(std::move(ok).error());
  run_.set_header();
  SliceHead out;
  out.sketches = std::move(sketches);
  out.info = run_.report.info;
  SourceList::order(out.info.sources);
  out.networks = run_.networks;
  for (std::size_t i = 0; i < kKindCount; ++i) out.entries[i] = run_.report.header.kinds[i].entries;
  out.exceptions = fit_exceptions(run_.allow_rules, run_.important);
  if (const KnownGood* const known = run_.extras.known_good()) out.known_good = known->listed();
  return out;
}

WorkHeader Slice::header(WorkKind kind) const {
  WorkHeader out;
  out.kind = kind;
  out.series_id = run_.report.header.series_id;
  out.number = options_.number;
  out.of = options_.of;
  out.reading = reading_octets(run_.report.header);
  return out;
}

Result<void> Slice::count() {
  if (auto ok = run_.prepare(); !ok) return ok;
  KeyEstimator estimator(key_maker_of(run_.report.header));
  if (auto ok = read(estimator); !ok) return ok;
  const auto made = head(estimator.sketches());
  if (!made) return unexpected(made.error());
  run_.notify(BuildPhase::writing);
  auto writer = WorkWriter::create(run_.options.output, run_.options.access);
  if (!writer) return unexpected(std::move(writer).error());
  if (auto ok = write_head(*writer, WorkKind::count, *made); !ok) return ok;
  WorkHeader out = header(WorkKind::count);
  if (auto ok = writer->commit(out); !ok) return ok;
  run_.report.header.file_bytes = out.file_bytes;
  return {};
}

// This slice alone is more than the whole was planned to be.
Result<void> Slice::check_fit(const SliceHead& head) const {
  const BuildOptions& options = run_.options;
  Header counts;
  set_counts(counts, head.sketches.summary());
  const double wanted = options.target.fpr.value_or(kDefaultTarget);
  const double allowed = allowed_error(*run_.like, options.target.of, wanted);
  const double error = least_error({.counts = counts, .of = options.target.of}, geometries_of(*run_.like));
  if (error <= allowed || options.force) return {};
  return unexpected(Error{
      Errc::unmet_target, options.output.string(),
      fmt::format("made for fewer: this slice alone has about {} distinct entries on {} hosts, and a request would "
                  "err at {} instead of {}; count and plan again (--force accepts it)",
                  format_count(distinct_entries(counts)), format_count(counts.hosts), format_rate(error),
                  format_rate(allowed))});
}

Result<void> Slice::map(const WorkHeader& geometry) {
  if (auto ok = run_.prepare(); !ok) return ok;
  run_.set_header();  // how lists are read
  WorkHeader expected = header(WorkKind::records);
  expected.spans = geometry.spans;
  if (const char* const what = difference_of(geometry, expected)) {
    return unexpected(Error{Errc::usage, run_.options.like.file.string(),
                            fmt::format("is of {}; map as the lists were counted", what)});
  }
  auto store =
      RecordStore::create(key_maker_of(run_.report.header), geometry.spans,
                          {.ram_bytes = run_.ram_bytes,
                           .tmp_dir = !options_.tmp_dir.empty()               ? options_.tmp_dir
                                      : run_.options.output.has_parent_path() ? run_.options.output.parent_path()
                                                                              : std::filesystem::path("."),
                           .threads = run_.threads,
                           .stop = run_.options.stop});
  if (!store) return unexpected(std::move(store).error());
  if (auto ok = read(**store); !ok) return ok;
  const auto made = head((*store)->sketches());
  if (!made) return unexpected(made.error());
  if (auto ok = check_fit(*made); !ok) return ok;
  return write(geometry, *made, **store);
}

Result<void> Slice::write(const WorkHeader& geometry, const SliceHead& head, RecordStore& store) {
  run_.notify(BuildPhase::writing);
  auto writer = WorkWriter::create(run_.options.output, run_.options.access);
  if (!writer) return unexpected(std::move(writer).error());
  if (auto ok = write_head(*writer, WorkKind::records, head); !ok) return ok;
  writer->begin(WorkSection::records);
  std::vector<LeafIndex> index;
  std::vector<std::byte> code;
  std::uint64_t written = 0;
  auto ok = store.give_out([&](std::span<const RecordValue> values) -> Result<void> {
    if (values.size() > ~std::uint32_t{0})
      return unexpected(Error{Errc::limit, {}, "more than 2^32 keys in 4 MiB; the geometry is too small"});
    const std::uint64_t offset = written + code.size();
    index.push_back(encode_leaf(values, code));
    index.back().offset = offset;
    if (code.size() < kWrittenAtOnce) return {};
    written += code.size();
    auto done = writer->append(code);
    code.clear();
    return done;
  });
  if (ok) ok = writer->append(code);
  if (!ok) return ok;
  writer->end(written + code.size());
  if (ok = writer->add(WorkSection::index, serialise_index(index)); !ok) return ok;
  WorkHeader out = header(WorkKind::records);
  out.spans = geometry.spans;
  if (const KnownGood* const known = run_.extras.known_good()) out.known_good = known->digest();
  run_.notify(BuildPhase::finishing);
  if (ok = writer->commit(out); !ok) return ok;
  run_.report.header.file_bytes = out.file_bytes;
  return {};
}

}  // namespace

Result<void> write_slice(const SliceOptions& options, BuildReport& report, const OnBuildProgress& progress) {
  if (options.build.identity.series_key_file.empty()) {
    return unexpected(Error{Errc::usage, {}, "--series-key is needed: the slices of a build are of one series"});
  }
  BuildOptions build = options.build;
  if (build.like.empty()) return Slice(options, build, report, progress).count();
  const auto geometry = read_geometry(build.like.file);
  if (!geometry) return unexpected(geometry.error());
  build.like.geometry = geometry->like;
  return Slice(options, build, report, progress).map(geometry->header);
}

}  // namespace bloomwall::filter
