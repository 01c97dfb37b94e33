// SPDX-License-Identifier: Apache-2.0
#include "filter/builder/merge.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <iterator>
#include <map>
#include <mutex>
#include <set>
#include <thread>
#include <tuple>

#include "base/encoding.h"
#include "base/units.h"
#include "filter/builder/build_checks.h"
#include "filter/builder/build_extras.h"
#include "filter/builder/draft_pages.h"
#include "filter/builder/merge_counts.h"
#include "filter/builder/sizing.h"
#include "filter/builder/source_list.h"
#include "filter/file/memory.h"
#include "filter/file/networks.h"
#include "filter/file/prediction.h"
#include "filter/parallel.h"
#include "filter/policy/list_exceptions.h"

namespace bloomwall::filter {
namespace {

constexpr std::size_t kMostInputs = 4096;  // each is a mapping

void or_into(std::span<std::byte> to, std::span<const std::byte> from) {
  constexpr std::size_t kWord = sizeof(std::uint64_t);
  for (std::size_t at = 0; at < to.size(); at += kWord) {
    std::uint64_t a = 0;
    std::uint64_t b = 0;
    std::memcpy(&a, to.data() + at, kWord);
    std::memcpy(&b, from.data() + at, kWord);
    a |= b;
    std::memcpy(to.data() + at, &a, kWord);
  }
}

class Merge {
 public:
  Merge(const MergeOptions& options, MergeReport& report, const OnMergeProgress& progress)
      : options_(options),
        report_(report),
        progress_(progress),
        threads_(options.threads != 0 ? options.threads : std::max(1U, std::thread::hardware_concurrency())) {}
  Result<void> run() {
    for (const auto step : {&Merge::open, &Merge::unite_networks, &Merge::load_known_good, &Merge::identify,
                            &Merge::check_sources, &Merge::check_sketches, &Merge::check_digests, &Merge::write}) {
      if (auto ok = (this->*step)(); !ok) return ok;
    }
    return {};
  }

 private:
  Result<void> open();
  Result<void> unite_networks();
  Result<void> load_known_good();
  Result<void> check_digests();
  Result<void> identify();
  Result<void> set_info();
  Result<void> check_sources();
  Result<void> check_sketches();
  Result<void> write();
  Result<void> combine(FilterDraft& draft);
  Result<void> combine_section(const FilterDraft& draft, std::size_t section, PagedFile& file);
  Result<void> add_exceptions(FilterDraft& draft);
  void note_exceptions(std::size_t kept);
  Result<void> check_inputs() const;
  std::optional<FormerFile> former() const;
  Result<void> check_result(const Header& counts) const;
  Result<void> measure(FilterDraft& draft) const;
  void notify(MergePhase phase, std::uint64_t done = 0, std::uint64_t total = 0) const {
    if (progress_) progress_(phase, done, total);
  }
  bool stopped() const { return options_.stop != nullptr && options_.stop->load(std::memory_order_relaxed); }
  Result<void> interrupted() const { return unexpected(Error{Errc::io, {}, "interrupted"}); }

  const MergeOptions& options_;
  MergeReport& report_;
  const OnMergeProgress& progress_;
  unsigned threads_;
  MergeInputs inputs_;
  RangeSet networks_;
  std::unique_ptr<KnownGood> known_good_;
  ListExceptions exceptions_;  // of the lists
  std::optional<ExceptionsBeside> beside_;
  std::vector<FilterDraft::SectionFacts> facts_;
  std::vector<std::vector<SourceInfo>> sources_;  // by input
  std::optional<EntrySketches> sketches_;
};

Result<void> Merge::open() {
  if (options_.inputs.empty()) return unexpected(Error{Errc::usage, {}, "nothing to merge"});
  if (options_.inputs.size() > kMostInputs)
    return unexpected(Error{Errc::limit, {}, fmt::format("more than {} files at once", kMostInputs)});
  std::vector<ListExceptions> parts;
  for (const auto& path : options_.inputs) {
    auto file = FilterFile::open(path);
    if (!file) return unexpected(std::move(file).error());
    auto part = read_exceptions(exceptions_file(path, content_id((*file)->header())));
    if (!part) return unexpected(std::move(part).error());
    parts.push_back(*std::move(part));
    inputs_.push_back(*std::move(file));
  }
  exceptions_ = united_exceptions(parts);
  return check_mergeable(inputs_, options_.like);
}

// Networks were read and compared with their digests when the files were opened.
Result<void> Merge::unite_networks() {
  auto networks = united_networks(inputs_);
  if (!networks) return unexpected(std::move(networks).error());
  networks_ = *std::move(networks);
  return {};
}

// Loaded before the steps that take long.
Result<void> Merge::load_known_good() {
  if (options_.known_good.empty()) return {};
  if (std::count(options_.known_good.begin(), options_.known_good.end(), "-") > 1) {
    return unexpected(Error{Errc::usage, "-", "standard input can be read once only"});
  }
  const Header& first = inputs_.front()->header();
  known_good_ = std::make_unique<KnownGood>(inputs_.front()->keys(), first.find(SectionType::hosts) == nullptr);
  for (const std::string& list : options_.known_good) {
    if (auto ok = known_good_->load(list, options_.gate); !ok) return ok;
  }
  return {};
}

Result<void> Merge::check_digests() {
  std::uint64_t total = 0;
  for (const auto& input : inputs_) total += input->header().file_bytes;
  std::uint64_t before = 0;
  for (const auto& input : inputs_) {
    auto ok = input->verify(FilterFile::Depth::accident, [&](std::uint64_t done, std::uint64_t) {
      notify(MergePhase::checking, before + done, total);
      return !stopped();
    });
    if (stopped()) return interrupted();
    if (!ok) return ok;
    before += input->header().file_bytes;
  }
  return {};
}

Result<void> Merge::identify() {
  auto replaced = replaced_header(options_.output, options_.identity);
  if (!replaced) return unexpected(std::move(replaced).error());
  IdentityOptions identity_options = options_.identity;
  identity_options.series_key = inputs_.front()->header().series_key;
  auto identity = choose_identity(identity_options, *replaced);
  if (!identity) return unexpected(std::move(identity).error());
  Header& header = report_.header = sum_counts(inputs_);
  set_identity(header, *identity);
  beside_.emplace(options_.output, exceptions_, options_.access, *replaced);
  header.sections.clear();
  header.signatures = {};
  header.measured = {};
  header.predicted = {};
  return set_info();
}

bool is_content(const SourceInfo& source) { return source.bytes > 0 && source.sha256 != Sha256{}; }

// Shards with the same sources are the same shard, also under different names.
Result<void> Merge::check_sources() {
  std::map<std::set<Sha256>, std::size_t> seen;
  for (std::size_t i = 0; i < sources_.size(); ++i) {
    std::set<Sha256> digests;
    for (const SourceInfo& source : sources_[i]) {
      if (is_content(source)) digests.insert(source.sha256);
    }
    if (digests.empty()) continue;
    const auto [at, is_new] = seen.emplace(std::move(digests), i);
    if (is_new) continue;
    return unexpected(Error{Errc::usage, inputs_[i]->path().string(),
                            fmt::format("is made from the same lists as {}: given twice, with another one missing?",
                                        inputs_[at->second]->path().string())});
  }
  if (options_.sources.empty()) return {};
  const auto named = SourceList::read(options_.sources);
  if (!named) return unexpected(named.error());
  std::vector<SourceInfo> all;
  for (const auto& of_input : sources_) all.insert(all.end(), of_input.begin(), of_input.end());
  return named->check(all);
}

// Sketches give the number of distinct keys of the whole, so that an excess is found before a page is read.
Result<void> Merge::check_sketches() {
  auto sketches = merge_sketches(inputs_);
  if (auto ok = check_inputs(); !ok) return ok;
  if (!sketches) return unexpected(std::move(sketches).error());
  sketches_ = *std::move(sketches);
  if (!sketches_) return {};
  Header counts = report_.header;
  set_counts(counts, sketches_->summary());
  return check_result(counts);
}

Result<void> Merge::set_info() {
  FileInfo& out = report_.info;
  out.builder = "bloomwall-filter " BLOOMWALL_VERSION;
  std::vector<std::string> merged;
  for (const auto& input : inputs_) {
    const auto info = input->info();
    if (!info) return unexpected(info.error());
    sources_.push_back(info->sources);
    if (&input == &inputs_.front()) out.category = info->category;
    if (info->category != out.category) out.category.clear();
    out.sources.insert(out.sources.end(), info->sources.begin(), info->sources.end());
    merged.insert(merged.end(), info->provenance.begin(), info->provenance.end());
    merged.push_back(fmt::format("{} of {}, sequence {}", to_hex(input->header().file_id),
                                 format_time(input->header().created), input->header().sequence));
  }
  // Independent of the order of the inputs.
  SourceList::order(out.sources);
  const auto key = [](const SourceInfo& s) { return std::tie(s.name, s.sha256, s.format, s.bytes, s.entries); };
  const auto twice = std::unique(out.sources.begin(), out.sources.end(),
                                 [&](const auto& a, const auto& b) { return is_content(a) && key(a) == key(b); });
  if (twice != out.sources.end()) {
    report_.warnings.push_back(fmt::format("{} sources stand in several of the files; each is named once",
                                           std::distance(twice, out.sources.end())));
    out.sources.erase(twice, out.sources.end());
  }
  std::sort(merged.begin(), merged.end());
  merged.erase(std::unique(merged.begin(), merged.end()), merged.end());
  if (options_.provenance) out.provenance = std::move(merged);
  if (parse_info(serialise_info(out))) return {};
  return unexpected(Error{Errc::limit, options_.output.string(),
                          fmt::format("{} sources and {} notes are more than the information section holds (16 MiB, "
                                      "100000 records); --no-provenance leaves out the notes",
                                      out.sources.size(), out.provenance.size())});
}

Result<void> Merge::combine_section(const FilterDraft& draft, std::size_t index, PagedFile& file) {
  const auto& section = draft.sections()[index];
  const std::uint64_t length = section.geometry.bytes();
  facts_[index].resize(leaf_count(length));
  std::mutex mutex;
  Result<void> outcome;
  std::atomic<std::uint64_t> done = 0;
  const auto caller = std::this_thread::get_id();
  for_each_index(facts_[index].size(), threads_, [&](std::size_t leaf) {
    if (stopped()) return;
    const std::uint64_t at = leaf * kLeafBytes;
    auto memory = AnonymousMemory::make(std::min(kLeafBytes, length - at));
    Result<void> ok;
    if (memory) {
      for (const auto& input : inputs_) or_into(memory->bytes(), input->section_bytes(section.type).subspan(at));
      facts_[index][leaf] = draft.facts_of(section, memory->bytes());
      ok = file.write(section.offset + at, memory->bytes());
    } else {
      ok = unexpected(memory.error());
    }
    done += kLeafBytes;
    if (std::this_thread::get_id() == caller) notify(MergePhase::writing, std::min(done.load(), length), length);
    const std::lock_guard lock(mutex);
    if (outcome && !ok) outcome = ok;
  });
  return stopped() ? interrupted() : outcome;
}

Result<void> Merge::combine(FilterDraft& draft) {
  auto file = PagedFile::open(draft.descriptor(), draft.path());
  if (!file) return unexpected(std::move(file).error());
  facts_.resize(draft.sections().size());
  for (std::size_t i = 0; i < facts_.size(); ++i) {
    if (auto ok = combine_section(draft, i, *file); !ok) return ok;
  }
  return check_inputs();
}

Result<void> Merge::check_inputs() const {
  for (const auto& input : inputs_) {
    if (input->notice_change() || input->lost())
      return unexpected(Error{Errc::io, input->path().string(), "was written to or failed while it was read"});
  }
  return {};
}

// Where the output is one of the inputs, the file that was read must be the one that is replaced.
std::optional<FormerFile> Merge::former() const {
  for (const auto& input : inputs_) {
    std::error_code ignored;
    if (std::filesystem::equivalent(input->path(), options_.output, ignored)) return FormerFile{input->stamp()};
  }
  return std::nullopt;
}

Result<void> Merge::add_exceptions(FilterDraft& draft) {
  std::vector<Exception> asked;
  if (known_good_) {
    const auto pages = DraftPages::map(draft);
    if (!pages) return unexpected(pages.error());
    asked = known_good_->positives(pages->views());
  }
  std::vector<const FilterFile*> inputs;
  for (const auto& input : inputs_) inputs.push_back(input.get());
  const auto merged = merged_exceptions(inputs, asked);
  if (auto ok = check_inputs(); !ok) return ok;
  if (!merged) return unexpected(merged.error());
  draft.plan().exceptions = serialise_exceptions(*merged);
  note_exceptions(merged->size());
  return {};
}

void Merge::note_exceptions(std::size_t kept) {
  std::size_t before = 0;
  for (const auto& input : inputs_) before += input->exceptions().size();
  if (known_good_) {
    report_.notes.push_back(fmt::format("known good: {} lines, {} keys", format_count(known_good_->lines()),
                                        format_count(known_good_->keys())));
    for (const std::string& note : known_good_->notes()) report_.notes.push_back(note);
  }
  if (before == 0 && !known_good_) return;
  report_.notes.push_back(fmt::format("exceptions: {}, of {} in the files", format_count(kept), format_count(before)));
  if (known_good_ || inputs_.size() == 1) return;
  report_.warnings.emplace_back(
      "known-good URLs that are stopped only by the bits of several files together have no exception; "
      "--known-good asks them again");
}

Result<void> Merge::check_result(const Header& counts) const {
  double allowed = options_.fpr.value_or(kDefaultTarget);
  if (!options_.fpr && options_.like) allowed = std::max(allowed, worst_error(options_.like->predicted));
  for (const auto& input : inputs_) {
    if (!options_.fpr) allowed = std::max(allowed, worst_error(input->header().predicted));
  }
  // A tenth: estimates of counts are within 1 %, and the error grows with their eighth power or so.
  constexpr double kTolerance = 1.1;
  const double error = worst_error(predict(counts, geometries_of(inputs_.front()->header())));
  if (error <= allowed * kTolerance || options_.force) return {};
  return unexpected(Error{
      Errc::unmet_target, options_.output.string(),
      fmt::format("together they hold {} entries on {} hosts with {} marks, and err on {} of the requests instead "
                  "of {}; not written (--force accepts it, --fpr says what is enough)",
                  format_count(distinct_entries(counts)), format_count(counts.hosts), format_count(counts.marks),
                  format_rate(error), format_rate(allowed))});
}

Result<void> Merge::measure(FilterDraft& draft) const {
  const PredictedErrors predicted = predict(draft.plan().header, geometries_of(inputs_.front()->header()));
  const auto measured =
      measure_error(draft, predicted, samples_for(options_.samples, draft, predicted), [this] { return stopped(); });
  if (!measured) return unexpected(measured.error());
  draft.plan().header.measured = *measured;
  return {};
}

Result<void> Merge::write() {
  notify(MergePhase::writing);
  const Geometries sections = geometries_of(inputs_.front()->header());
  auto draft = FilterDraft::create(options_.output, {.header = report_.header,
                                                     .hosts = sections.hosts,
                                                     .paths = sections.paths,
                                                     .raw = sections.raw,
                                                     .info = report_.info,
                                                     .access = options_.access,
                                                     .former = former()});
  if (!draft) return unexpected(std::move(draft).error());
  if (auto ok = combine(*draft); !ok) return ok;
  if (auto ok = add_exceptions(*draft); !ok) return ok;
  Header& header = draft->plan().header;
  if (sketches_) {
    set_counts(header, sketches_->summary());
    keep_gates_open(header, report_.header);
    draft->plan().sketches = sketches_->serialise();
  } else if (inputs_.size() > 1) {
    if (auto ok = estimate_counts(header, *draft, facts_); !ok) return ok;
  }
  header.kinds[index_of(Kind::network)].keys = networks_.size();
  draft->plan().networks = serialise_networks(networks_);
  if (auto ok = check_result(header); !ok) return ok;
  if (auto ok = measure(*draft); !ok) return ok;
  notify(MergePhase::finishing);
  if (stopped()) return interrupted();
  draft->plan().check = [this](const std::filesystem::path& made) { return beside_->write(made); };
  if (auto ok = draft->commit(facts_); !ok) return ok;
  beside_->forget_others();
  for (std::string& note : notes_of(exceptions_)) report_.notes.push_back(std::move(note));
  report_.header = header;
  return {};
}

}  // namespace

Result<void> merge(const MergeOptions& options, MergeReport& report, const OnMergeProgress& progress) {
  report = {};
  return Merge(options, report, progress).run();
}

}  // namespace bloomwall::filter
