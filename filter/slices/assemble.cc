// SPDX-License-Identifier: Apache-2.0
#include "filter/slices/assemble.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <memory>
#include <thread>
#include <utility>

#include "base/units.h"
#include "filter/builder/build_checks.h"
#include "filter/builder/build_extras.h"
#include "filter/builder/draft_pages.h"
#include "filter/builder/source_list.h"
#include "filter/file/header_bytes.h"
#include "filter/file/memory.h"
#include "filter/file/networks.h"
#include "filter/file/signature.h"
#include "filter/parallel.h"
#include "filter/policy/list_exceptions.h"
#include "filter/slices/geometry.h"
#include "filter/slices/reduce.h"
#include "filter/slices/slice_head.h"

namespace bloomwall::filter {
namespace {

class Assembly {
 public:
  Assembly(const AssembleOptions& options, AssembleReport& report, const OnMergeProgress& progress)
      : options_(options),
        report_(report),
        progress_(progress),
        threads_(options.threads != 0 ? options.threads : std::max(1U, std::thread::hardware_concurrency())) {}
  Result<void> run() {
    for (const auto step : {&Assembly::open, &Assembly::identify, &Assembly::load_known_good, &Assembly::unite,
                            &Assembly::check_sources, &Assembly::check_fit, &Assembly::write}) {
      if (auto ok = (this->*step)(); !ok) return ok;
    }
    return {};
  }

 private:
  Result<void> open();
  Result<void> check_parts() const;
  Result<void> identify();
  Result<void> load_known_good();
  Result<void> unite();
  Result<void> check_sources();
  Result<void> check_fit();
  Result<void> read_facts(const FilterDraft& draft);
  Result<void> copy_pages(const FilterDraft& draft);
  Result<void> copy_leaf(const FilterDraft& draft, PagedFile& to, std::span<std::byte> buffer, std::size_t at) const;
  Result<void> finish(FilterDraft& draft);
  Result<void> sign(const FilterDraft& draft) const;
  Result<void> write();
  bool stopped() const { return options_.stop != nullptr && options_.stop->load(std::memory_order_relaxed); }
  Result<void> interrupted() const { return unexpected(Error{Errc::io, {}, "interrupted"}); }

  // A leaf of the filter, in the part that has it.
  struct Copied {
    std::size_t section = 0;  // of the draft
    std::uint64_t leaf = 0;
    const WorkFile* part = nullptr;
    std::uint64_t offset = 0, bytes = 0;  // in the part
  };

  const AssembleOptions& options_;
  AssembleReport& report_;
  const OnMergeProgress& progress_;
  unsigned threads_;
  std::optional<PlannedGeometry> geometry_;
  std::vector<WorkFile> slices_, parts_;
  std::optional<SigningKey> key_;
  std::optional<Header> replaced_;
  std::unique_ptr<KnownGood> known_good_;
  SliceUnion all_;
  ListExceptions exceptions_;
  std::optional<ExceptionsBeside> beside_;
  std::vector<FilterDraft::SectionFacts> facts_;
  std::vector<Copied> leaves_;
};

Result<void> Assembly::open() {
  auto geometry = read_geometry(options_.like);
  if (!geometry) return unexpected(std::move(geometry).error());
  geometry_ = *std::move(geometry);
  std::vector<WorkFile> slices;
  std::vector<WorkFile> parts;
  for (const auto& path : options_.inputs) {
    auto file = WorkFile::open(path);
    if (!file) return unexpected(std::move(file).error());
    const WorkKind kind = file->header().kind;
    if (kind != WorkKind::records && kind != WorkKind::part) {
      return unexpected(
          Error{Errc::usage, path.string(), fmt::format("is {}, where parts and records are wanted", to_string(kind))});
    }
    (kind == WorkKind::records ? slices : parts).push_back(*std::move(file));
  }
  auto ordered = in_order(std::move(slices), WorkKind::records, &*geometry_, report_.is_incomplete);
  if (!ordered) return unexpected(std::move(ordered).error());
  slices_ = *std::move(ordered);
  ordered = in_order(std::move(parts), WorkKind::part, &*geometry_, report_.is_incomplete);
  if (!ordered) return unexpected(std::move(ordered).error());
  parts_ = *std::move(ordered);
  report_.slices = slices_.size();
  report_.parts = parts_.size();
  return check_parts();
}

Result<void> Assembly::check_parts() const {
  std::vector<FileId> ids;
  for (const WorkFile& slice : slices_) ids.push_back(slice.header().content_id);
  const FileId set = set_id_of(ids);
  for (const WorkFile& part : parts_) {
    const WorkHeader& h = part.header();
    if (h.set_id != set || h.known_good != slices_.front().header().known_good) {
      return unexpected(Error{Errc::usage, part.path().string(),
                              "was reduced of other records than these; reduce all parts of one run of maps"});
    }
    const LeafSpans expected = spans_of_part(geometry_->header.spans, h.number, h.of);
    for (std::size_t i = 0; i < expected.size(); ++i) {
      if (h.spans[i].first != expected[i].first || h.spans[i].count != expected[i].count)
        return unexpected(Error{Errc::bad_header, part.path().string(), "has other leaves than a part of its number"});
    }
  }
  return {};
}

Result<void> Assembly::identify() {
  if (options_.identity.series_key_file.empty())
    return unexpected(Error{Errc::usage, {}, "--series-key is needed: a geometry does not hold the key"});
  if (!options_.key.empty()) {
    auto key = SigningKey::read(options_.key);
    if (!key) return unexpected(std::move(key).error());
    key_ = *std::move(key);
  }
  auto replaced = replaced_header(options_.output, options_.identity);
  if (!replaced) return unexpected(std::move(replaced).error());
  replaced_ = *std::move(replaced);
  auto identity = choose_identity(options_.identity, replaced_);
  if (!identity) return unexpected(std::move(identity).error());
  Header& header = report_.header = geometry_->header.filter_header();
  if (header.series_id != identity->series_id) {
    return unexpected(Error{Errc::usage, options_.identity.series_key_file.string(),
                            "is not the key of the series that --like names"});
  }
  header.sections.clear();
  set_identity(header, *identity);
  report_.warnings = std::move(identity->warnings);
  return {};
}

Result<void> Assembly::load_known_good() {
  const Sha256& of_maps = slices_.front().header().known_good;
  if (options_.known_good.empty()) {
    if (of_maps == Sha256{}) return {};
    return unexpected(
        Error{Errc::usage, "--known-good", "the slices were mapped with known-good lists; give the same ones here"});
  }
  const bool is_raw = !geometry_->header.spans[0].geometry;
  known_good_ = std::make_unique<KnownGood>(key_maker_of(report_.header), is_raw);
  for (const std::string& list : options_.known_good) {
    if (auto ok = known_good_->load(list, options_.gate); !ok) return ok;
  }
  if (known_good_->digest() == of_maps) return {};
  return unexpected(Error{Errc::usage, "--known-good",
                          of_maps == Sha256{} ? "the slices were mapped without it, so nobody knows which of its URLs "
                                                "are listed; map with the same lists"
                                              : "the slices were mapped with other known-good lists"});
}

Result<void> Assembly::unite() {
  for (const WorkFile& slice : slices_) {
    auto head = read_head(slice);
    if (!head) return unexpected(std::move(head).error());
    if (known_good_) known_good_->take_listed(head->known_good);
    if (auto ok = all_.add(slice.path(), *std::move(head)); !ok) return ok;
  }
  exceptions_ = united_exceptions(all_.exceptions);
  beside_.emplace(options_.output, exceptions_, options_.access, replaced_);
  all_.set_counts_of(report_.header);
  FileInfo& info = report_.info = all_.info;
  SourceList::order(info.sources);
  info.builder = "bloomwall-filter " BLOOMWALL_VERSION;
  if (!options_.category.empty()) info.category = options_.category;
  if (distinct_entries(report_.header) == 0)
    return unexpected(Error{Errc::usage, {}, "the lists hold no entry that could be blocked"});
  if (parse_info(serialise_info(info))) return {};
  return unexpected(Error{Errc::limit, options_.output.string(),
                          fmt::format("{} sources are more than the information section holds (16 MiB, 100000 records)",
                                      info.sources.size())});
}

Result<void> Assembly::check_sources() {
  if (options_.sources.empty()) return {};
  const auto named = SourceList::read(options_.sources);
  if (!named) return unexpected(named.error());
  return named->check(report_.info.sources, SourceList::Wanted::all, &report_.is_incomplete);
}

Result<void> Assembly::check_fit() {
  const double wanted = options_.target.fpr.value_or(kDefaultTarget);
  const double allowed = allowed_error(geometry_->like, options_.target.of, wanted);
  const double error =
      least_error({.counts = report_.header, .of = options_.target.of}, geometries_of(geometry_->header.spans));
  if (error <= allowed || options_.force) return {};
  return unexpected(
      Error{Errc::unmet_target, options_.output.string(),
            fmt::format("made for fewer: about {} distinct entries on {} hosts with {} marks came, and a request would "
                        "err at {} instead of {}; count and plan again (--force accepts it)",
                        format_count(distinct_entries(report_.header)), format_count(report_.header.hosts),
                        format_count(report_.header.marks), format_rate(error), format_rate(allowed))});
}

// Digests, page sums and fills of all parts, and where each leaf is.
Result<void> Assembly::read_facts(const FilterDraft& draft) {
  facts_.resize(draft.sections().size());
  for (const WorkFile& part : parts_) {
    const auto digests = part.section(WorkSection::digests);
    const auto sums = part.section(WorkSection::page_sums);
    const auto fills = part.section(WorkSection::fills);
    for (const auto* bytes : {&digests, &sums, &fills}) {
      if (!*bytes) return unexpected(bytes->error());
    }
    const WorkEntry* const pages = part.header().find(WorkSection::pages);
    std::uint64_t at = 0;
    std::size_t i = 0;
    const auto bad = [&] {
      return unexpected(Error{Errc::bad_section, part.path().string(), "its sections are not of its leaves"});
    };
    for (std::size_t s = 0; s < draft.sections().size(); ++s) {
      const auto kind = static_cast<std::size_t>(draft.sections()[s].kind());
      const LeafSpan& span = part.header().spans[kind];
      for (std::uint64_t leaf = span.first; leaf < span.first + span.count; ++leaf, ++i) {
        const std::uint64_t bytes = std::min(kLeafBytes, draft.sections()[s].bytes - leaf * kLeafBytes);
        const std::uint64_t first_page = at / kPageBytes;
        const std::uint64_t count = bytes / kPageBytes;
        FilterDraft::LeafFacts facts;
        const bool is_there = digests->size() >= (i + 1) * sizeof(LeafDigest) &&
                              fills->size() >= (i + 1) * sizeof(double) &&
                              sums->size() >= (first_page + count) * sizeof(std::uint32_t);
        if (!is_there || pages == nullptr || pages->length < at + bytes) return bad();
        std::memcpy(&facts.digest, digests->data() + i * sizeof(LeafDigest), sizeof(LeafDigest));
        std::memcpy(&facts.fill, fills->data() + i * sizeof(double), sizeof(double));
        facts.page_sums.resize(count);
        std::memcpy(facts.page_sums.data(), sums->data() + first_page * sizeof(std::uint32_t),
                    count * sizeof(std::uint32_t));
        facts_[s].push_back(std::move(facts));
        leaves_.push_back({.section = s, .leaf = leaf, .part = &part, .offset = pages->offset + at, .bytes = bytes});
        at += bytes;
      }
    }
    const bool is_all = digests->size() == i * sizeof(LeafDigest) && fills->size() == i * sizeof(double) &&
                        sums->size() == at / kPageBytes * sizeof(std::uint32_t) &&
                        (pages == nullptr ? 0 : pages->length) == at;
    if (!is_all) return bad();
  }
  return {};
}

Result<void> Assembly::copy_leaf(const FilterDraft& draft, PagedFile& to, std::span<std::byte> buffer,
                                 std::size_t at) const {
  const Copied& copied = leaves_[at];
  const std::span<std::byte> bytes = buffer.first(copied.bytes);
  if (auto ok = copied.part->read_at(copied.offset, bytes); !ok) return ok;
  copied.part->forget_cached(copied.offset, copied.bytes);
  if (xxh128(bytes) != facts_[copied.section][copied.leaf].digest.xxh)
    return unexpected(Error{Errc::bad_digest, copied.part->path().string(), "its pages are damaged; reduce it again"});
  return to.write(draft.sections()[copied.section].offset + copied.leaf * kLeafBytes, bytes);
}

Result<void> Assembly::copy_pages(const FilterDraft& draft) {
  auto file = PagedFile::open(draft.descriptor(), draft.path());
  if (!file) return unexpected(std::move(file).error());
  std::atomic<std::uint64_t> done = 0;
  const auto caller = std::this_thread::get_id();
  const auto copy = [&](AnonymousMemory& memory, std::size_t at) -> Result<void> {
    if (stopped()) return interrupted();
    if (auto ok = copy_leaf(draft, *file, memory.bytes(), at); !ok) return ok;
    done += leaves_[at].bytes;
    if (progress_ && std::this_thread::get_id() == caller) progress_(MergePhase::writing, done, draft.end_of_pages());
    return {};
  };
  return try_each_index(leaves_.size(), threads_, [] { return AnonymousMemory::make(kLeafBytes); }, copy);
}

// Its header is in the file, and no reader knows it yet.
Result<void> Assembly::sign(const FilterDraft& draft) const {
  const auto file = FilterFile::open(draft.path());
  if (!file) return unexpected(file.error());
  auto slots = (*file)->header().signatures;
  place_signature(slots, key_->sign(signed_message(**file)));
  HeaderBytes bytes{};
  std::ranges::copy((*file)->header_bytes(), bytes.begin());
  bytes = with_signatures(bytes, slots);
  const ssize_t written = pwrite(draft.descriptor(), bytes.data(), bytes.size(), 0);
  if (written != static_cast<ssize_t>(bytes.size())) return system_error(draft.path(), "write");
  return {};
}

Result<void> Assembly::finish(FilterDraft& draft) {
  Header& header = draft.plan().header;
  const Geometries sections = geometries_of(geometry_->header.spans);
  const PredictedErrors predicted = predict(header, sections);
  const auto measured =
      measure_error(draft, predicted, samples_for(options_.samples, draft, predicted), [this] { return stopped(); });
  if (!measured) return unexpected(measured.error());
  header.measured = *measured;
  if (progress_) progress_(MergePhase::finishing, 0, 0);
  if (stopped()) return interrupted();
  if (known_good_) {
    const auto pages = DraftPages::map(draft);
    if (!pages) return unexpected(pages.error());
    const auto found = known_good_->exceptions(pages->views());
    if (!found) return unexpected(found.error());
    draft.plan().exceptions = serialise_exceptions(*found);
    report_.notes.push_back(fmt::format("known good: {} lines, {} keys; {} of them tested positive and are exceptions",
                                        format_count(known_good_->lines()), format_count(known_good_->keys()),
                                        format_count(found->size())));
    report_.notes.insert(report_.notes.end(), known_good_->notes().begin(), known_good_->notes().end());
  }
  draft.plan().check = [this, &draft](const std::filesystem::path& made) -> Result<void> {
    if (key_) {
      if (auto ok = sign(draft); !ok) return ok;
    }
    return beside_->write(made);
  };
  return draft.commit(facts_);
}

Result<void> Assembly::write() {
  if (progress_) progress_(MergePhase::writing, 0, 0);
  const Geometries sections = geometries_of(geometry_->header.spans);
  auto draft = FilterDraft::create(options_.output, {.header = report_.header,
                                                     .hosts = sections.hosts,
                                                     .paths = sections.paths,
                                                     .raw = sections.raw,
                                                     .info = report_.info,
                                                     .sketches = all_.sketches.serialise(),
                                                     .networks = serialise_networks(all_.networks),
                                                     .access = options_.access});
  if (!draft) return unexpected(std::move(draft).error());
  if (auto ok = read_facts(*draft); !ok) return ok;
  if (auto ok = copy_pages(*draft); !ok) return ok;
  if (auto ok = finish(*draft); !ok) return ok;
  beside_->forget_others();
  for (std::string& note : notes_of(exceptions_)) report_.notes.push_back(std::move(note));
  report_.header = draft->plan().header;
  return {};
}

}  // namespace

Result<void> assemble(const AssembleOptions& options, AssembleReport& report, const OnMergeProgress& progress) {
  report = {};
  return Assembly(options, report, progress).run();
}

}  // namespace bloomwall::filter
