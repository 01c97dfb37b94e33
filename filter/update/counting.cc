// update_counting and emit_filter.
// SPDX-License-Identifier: Apache-2.0
#include "filter/update/counting.h"

#include <fmt/format.h>
#include <openssl/sha.h>

#include <algorithm>
#include <cstring>
#include <ctime>
#include <limits>
#include <string>
#include <string_view>
#include <thread>

#include "filter/file/filter_writer.h"
#include "filter/update/cell_store.h"

namespace bloomwall::filter {
namespace {

constexpr std::array kPageSections{SectionType::hosts, SectionType::paths, SectionType::raw};

std::uint64_t time_now() { return static_cast<std::uint64_t>(std::max<std::time_t>(0, std::time(nullptr))); }

// Opens a file and verifies every byte: an update of damaged counters would hide the damage under new digests.
Result<std::unique_ptr<FilterFile>> open_whole(const std::filesystem::path& path) {
  auto file = FilterFile::open(path, Form::counters);
  if (!file) return file;
  if (auto whole = (*file)->verify(FilterFile::Depth::accident); !whole) return unexpected(whole.error());
  return file;
}

// The id of the filter that the counters stand for at this sequence; every change gives the counting file another id.
FileId emitted_id(const Header& counting) {
  static constexpr std::string_view kDomain = "bloomwall emitted filter\n";
  std::string text(kDomain);
  text.append(counting.file_id.begin(), counting.file_id.end());
  text += std::to_string(counting.sequence);
  Sha256 digest{};
  SHA256(reinterpret_cast<const unsigned char*>(text.data()), text.size(), digest.data());
  FileId id{};
  std::copy_n(digest.begin(), id.size(), id.begin());
  return id;
}

FilterWriter::Plan plan_like(const FilterFile& file, FileInfo info) {
  FilterWriter::Plan plan;
  plan.header = file.header();
  plan.header.file_id = {};
  plan.header.signatures = {};
  plan.header.exact_root = {};
  forget_unknown(plan.header);
  plan.header.sections.clear();
  const auto geometry = [&](SectionType type) -> std::optional<Geometry> {
    const SectionEntry* const section = file.header().find(type);
    if (section == nullptr) return std::nullopt;
    return section->geometry;
  };
  plan.hosts = geometry(SectionType::hosts);
  plan.paths = geometry(SectionType::paths);
  plan.raw = geometry(SectionType::raw);
  plan.info = std::move(info);
  return plan;
}

tl::unexpected<Error> lost(const FilterFile& file) {
  return unexpected(Error{Errc::io, file.path().string(), "was written to or failed while it was read"});
}

// Whether the file may have changed since it was verified.
bool was_lost(const FilterFile& file) { return file.notice_change() || file.lost(); }

// The work of one update, from the old counters to the new file.
class CountingRun {
 public:
  CountingRun(const CountingUpdate& update, CountingUpdateReport& report) : update_(update), report_(report) {}

  Result<void> run() {
    for (const auto step :
         {&CountingRun::open, &CountingRun::probe, &CountingRun::copy, &CountingRun::change, &CountingRun::finish}) {
      if (auto ok = (this->*step)(); !ok) return ok;
      if (update_.stop != nullptr && update_.stop->load()) return unexpected(Error{Errc::io, {}, "interrupted"});
    }
    return {};
  }

 private:
  Result<void> open();
  Result<void> probe();
  Result<void> copy();
  Result<void> change();
  Result<void> finish();
  Result<CellTally> pass(const CellSections& cells, CellChange change, const std::vector<std::string>& lists,
                         CarriedRules& carried);
  void weigh_risk();

  const CountingUpdate& update_;
  CountingUpdateReport& report_;
  std::unique_ptr<FilterFile> file_;
  std::unique_ptr<FilterWriter> writer_;
};

Result<void> CountingRun::open() {
  if (auto ok = check_change_lists(update_.lists); !ok) return ok;
  auto file = open_whole(update_.file);
  if (!file) return unexpected(std::move(file).error());
  file_ = *std::move(file);
  if (file_->header().sequence < std::numeric_limits<std::uint64_t>::max()) return {};
  return unexpected(
      Error{Errc::limit, update_.file.string(), "its sequence can't grow; build it again, and begin a --new-series"});
}

Result<CellTally> CountingRun::pass(const CellSections& cells, CellChange change, const std::vector<std::string>& lists,
                                    CarriedRules& carried) {
  CellStore store(cells, file_->header(), change);
  std::vector<IngestedFile> files;
  const unsigned threads = update_.threads != 0 ? update_.threads : std::max(1U, std::thread::hardware_concurrency());
  auto read = read_into(store, lists, update_.lists, threads, files);
  if (!read) return unexpected(std::move(read).error());
  carried = *std::move(read);
  report_.files.insert(report_.files.end(), files.begin(), files.end());
  CellTally tally = store.tally();
  if (tally.no_section != 0 && change == CellChange::add) {
    return unexpected(Error{Errc::limit, update_.file.string(),
                            fmt::format("{} entries are of kinds for which it has no section; build it again with them",
                                        tally.no_section)});
  }
  return tally;
}

// Without force nothing is removed; the report has the risk in figures.
Result<void> CountingRun::probe() {
  if (update_.lists.remove.empty() || update_.force) return {};
  CarriedRules ignored;
  const auto tally = pass(sections_of(*file_), CellChange::probe, update_.lists.remove, ignored);
  if (!tally) return unexpected(tally.error());
  report_.risk.listed = tally->entry_count();
  report_.risk.not_there = tally->not_there + tally->no_section;
  weigh_risk();
  if (was_lost(*file_)) return lost(*file_);
  const RemovalRisk& risk = report_.risk;
  return unexpected(Error{
      Errc::limit, update_.file.string(),
      fmt::format(
          "the counters hold {} of {} removals, but can't tell whether they were ever added. Each that was not "
          "passes for an entry with probability {:.2e}, and its removal then takes about {:.1f} other entries away: "
          "up to {:.2g} entries are lost if none of them was added. --force removes them",
          risk.listed, risk.listed + risk.not_there, risk.passes, risk.loss, risk.expected_loss())});
}

void CountingRun::weigh_risk() {
  const PredictedErrors& p = file_->header().predicted;
  for (const auto& [type, error] :
       {std::pair{SectionType::hosts, p.host_fill}, std::pair{SectionType::paths, p.path_fill},
        std::pair{SectionType::raw, p.raw_fill}}) {
    const CellCounts cells = cells_of(*file_, type);
    if (cells.used == 0) continue;
    report_.risk.passes = std::max(report_.risk.passes, error);
    const double loss = 16 * static_cast<double>(cells.single) / static_cast<double>(cells.used);
    report_.risk.loss = std::max(report_.risk.loss, loss);
  }
}

Result<void> CountingRun::copy() {
  auto info = file_->info();
  if (!info) return unexpected(std::move(info).error());
  FilterWriter::Plan plan = plan_like(*file_, *std::move(info));
  plan.access = update_.access;
  plan.former = {file_->stamp()};
  auto writer = FilterWriter::create(update_.file, std::move(plan));
  if (!writer) return unexpected(std::move(writer).error());
  writer_ = *std::move(writer);
  for (const SectionType type : kPageSections) {
    const auto from = file_->section_bytes(type);
    if (!from.empty()) std::memcpy(writer_->pages(type).data(), from.data(), from.size());
  }
  return was_lost(*file_) ? lost(*file_) : Result<void>{};
}

Result<void> CountingRun::change() {
  const CellSections cells = sections_of(*writer_, *file_);
  CarriedRules without;
  CarriedRules with;
  auto before = read_exceptions(exceptions_file(update_.file, content_id(file_->header())));
  if (!before) return unexpected(std::move(before).error());
  auto removed = pass(cells, CellChange::remove, update_.lists.remove, without);
  if (!removed) return unexpected(std::move(removed).error());
  auto added = pass(cells, CellChange::add, update_.lists.add, with);
  if (!added) return unexpected(std::move(added).error());
  report_.exceptions = changed_exceptions(*std::move(before), without, with);
  report_.removed = *removed;
  report_.added = *added;
  Header& header = writer_->header();
  apply_tally(header, *removed, CellChange::remove);
  apply_tally(header, *added, CellChange::add);
  header.compatible |= kEstimatedCounts;
  header.measured = {};
  header.created = update_.created.value_or(time_now());
  ++header.sequence;
  return {};
}

Result<void> CountingRun::finish() {
  report_.cells = {};
  for (const SectionType type : kPageSections) add_cells(report_.cells, count_cells(writer_->pages(type)));
  if (auto ok = writer_->commit(); !ok) return ok;
  report_.header = writer_->header();
  return write_counting_exceptions(update_.file, report_.header, report_.exceptions, update_.access);
}

// What is there, if anything is.
Result<std::optional<Header>> check_replaced(const std::filesystem::path& output, const Header& from) {
  std::error_code error;
  if (!std::filesystem::exists(output, error)) return std::nullopt;
  auto replaced = FilterFile::open(output);
  if (!replaced) {
    return unexpected(Error{replaced.error().code, output.string(),
                            fmt::format("exists and is not a filter ({}); it is not replaced", replaced.error().what)});
  }
  const Header& there = (*replaced)->header();
  if (there.series_id != from.series_id || there.sequence <= from.sequence) return there;
  return unexpected(Error{Errc::outdated, output.string(),
                          fmt::format("has sequence {}, above {} of the counting file; it is not replaced",
                                      there.sequence, from.sequence)});
}

}  // namespace

double RemovalRisk::expected_loss() const { return static_cast<double>(listed + not_there) * passes * loss; }

void add_cells(CellCounts& sum, const CellCounts& more) {
  sum.cells += more.cells;
  sum.used += more.used;
  sum.single += more.single;
  sum.stuck += more.stuck;
}

Result<void> write_counting_exceptions(const std::filesystem::path& file, const Header& header,
                                       const ListExceptions& exceptions, const FileAccess& access) {
  const FileId content = content_id(header);
  remove_exceptions_but(file, {content});
  return write_exceptions(exceptions_file(file, content), file, exceptions, access);
}

CellCounts cells_of(const FilterFile& counting, SectionType type) { return count_cells(counting.section_bytes(type)); }

Result<void> update_counting(const CountingUpdate& update, CountingUpdateReport& report) {
  return CountingRun(update, report).run();
}

Result<Header> emit_filter(const EmitOptions& options) {
  auto file = open_whole(options.file);
  if (!file) return unexpected(std::move(file).error());
  auto info = (*file)->info();
  if (!info) return unexpected(std::move(info).error());
  const FormerFile former = FormerFile::of(options.output);
  const auto replaced = check_replaced(options.output, (*file)->header());
  if (!replaced) return unexpected(replaced.error());
  const auto exceptions = read_exceptions(exceptions_file(options.file, content_id((*file)->header())));
  if (!exceptions) return unexpected(exceptions.error());
  FilterWriter::Plan plan = plan_like(**file, *std::move(info));
  plan.header.incompatible &= ~kCountersFeature;
  if (options.created) plan.header.created = *options.created;
  plan.header.file_id = options.file_id.value_or(emitted_id((*file)->header()));
  plan.access = options.access;
  plan.former = former;
  ExceptionsBeside beside(options.output, *exceptions, options.access, *replaced);
  plan.check = [&beside](const std::filesystem::path& made) { return beside.write(made); };
  auto writer = FilterWriter::create(options.output, std::move(plan));
  if (!writer) return unexpected(std::move(writer).error());
  for (const SectionType type : kPageSections) {
    const auto cells = (*file)->section_bytes(type);
    if (!cells.empty()) cells_to_bits(cells, (*writer)->pages(type));
  }
  if (was_lost(**file)) return lost(**file);
  if (auto ok = (*writer)->commit(); !ok) return unexpected(std::move(ok).error());
  beside.forget_others();
  return (*writer)->header();
}

}  // namespace bloomwall::filter
