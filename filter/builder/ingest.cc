// SPDX-License-Identifier: Apache-2.0
#include "filter/builder/ingest.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <deque>
#include <iterator>
#include <mutex>
#include <optional>
#include <thread>
#include <tuple>
#include <utility>
#include <vector>

#include "base/units.h"
#include "filter/builder/build_checks.h"
#include "filter/builder/build_extras.h"
#include "filter/lists/line_parser.h"
#include "filter/parallel.h"
#include "filter/policy/entry_text.h"

namespace bloomwall::filter {
namespace {

class Run {
 public:
  Run(BlockSource& source, const BlockWork& work) : source_(source), work_(work) {}

  void work(unsigned worker) {
    LineBlock block;
    while (!over_.load(std::memory_order_relaxed) && fill(worker, block)) work_.parse(worker, block);
    if (work_.end) work_.end(worker);
  }
  Result<void> outcome() {
    if (error_) return unexpected(*std::move(error_));
    return {};
  }

 private:
  bool fill(unsigned worker, LineBlock& block) {
    if (work_.before) {
      if (auto ok = work_.before(worker); !ok) return fail(std::move(ok).error());
    }
    auto more = source_.next(block);
    if (!more) return fail(std::move(more).error());
    return *more;
  }
  bool fail(Error error) {
    const std::lock_guard lock(mutex_);
    if (!error_) error_ = std::move(error);
    over_.store(true, std::memory_order_relaxed);
    return false;
  }

  BlockSource& source_;
  const BlockWork& work_;
  std::atomic<bool> over_ = false;
  std::mutex mutex_;
  std::optional<Error> error_;
};

}  // namespace

Result<void> run_blocks(BlockSource& source, unsigned workers, const BlockWork& work) {
  Run run(source, work);
  std::vector<std::jthread> helpers;
  helpers.reserve(workers);
  unsigned begun = 1;
  while (begun < workers && add_thread(helpers, [&run, begun] { run.work(begun); })) ++begun;
  run.work(0);
  helpers.clear();  // joins
  return run.outcome();
}

namespace {

struct AllowRule {
  std::uint64_t line = 0;
  std::size_t order = 0;  // among those of its thread; the rules of one line come from one thread
  std::string text;
};

// Takes what one thread reads from its blocks of one file.
class WorkerSink final : public ListSink {
 public:
  WorkerSink(KeySink& keys, unsigned worker, const IngestOptions& options)
      : keys_(keys),
        observers_(options.observers),
        sample_(options.sample),
        marks_(options.marks),
        ranges_(options.ranges),
        worker_(worker),
        keep_allow_rules_(options.keep_allow_rules) {}
  void entry(const Entry& entry, std::uint64_t /*line*/) override {
    keys_.add(entry);
    if (observers_ != nullptr) observers_->seen(worker_, entry);
    if (sample_ != nullptr) sample_->seen(worker_, entry);
    if (marks_ != nullptr) marks_->seen(worker_, entry);
  }
  void allow(std::string_view text, std::uint64_t line) override {
    if (keep_allow_rules_ && allow_rules_.size() <= kMaxExactEntries) {
      allow_rules_.push_back({line, allow_rules_.size(), std::string(text)});
    }
  }
  void important(const Entry& entry) override {
    if (keep_allow_rules_) important_.add(entry.host);
  }
  bool takes_ranges() const override { return ranges_ != nullptr; }
  void range(const AddressRange& range, std::uint64_t /*line*/) override {
    ranges_->seen(worker_, range);
    if (sample_ != nullptr) sample_->seen(worker_, range);
  }
  void flush() { keys_.flush(); }
  std::vector<AllowRule>& allow_rules() { return allow_rules_; }
  const ImportantHosts& important_hosts() const { return important_; }

 private:
  KeySink& keys_;
  const KeyObservers* observers_;
  EntrySample* sample_;
  MarkReport* marks_;
  RangeCollector* ranges_;
  unsigned worker_;
  bool keep_allow_rules_;
  std::vector<AllowRule> allow_rules_;
  ImportantHosts important_;
};

struct Worker {
  Worker(KeySink& keys, unsigned worker, const IngestOptions& options) : sink(keys, worker, options) {}
  WorkerSink sink;
  FileReport report;
};

// A list, block by block. One thread at a time reads, decompresses and digests; all parse. `Blocks` has
// next(LineBlock&).
template <typename Blocks>
class LockedSource final : public BlockSource {
 public:
  LockedSource(Blocks& blocks, const ListInput& input) : blocks_(blocks), input_(input) {}
  Result<bool> next(LineBlock& block) override {
    const std::lock_guard lock(mutex_);
    if (over_) return false;
    auto more = blocks_.next(block);
    over_ = !more || !*more;
    return more;
  }
  Position position() const override {
    const std::lock_guard lock(mutex_);
    return {.done = input_.stored_bytes(), .total = input_.stored_total()};
  }

 private:
  mutable std::mutex mutex_;
  Blocks& blocks_;
  const ListInput& input_;
  bool over_ = false;
};

// A raw key is a line without its end, octet for octet: a byte order mark, which LineWalk takes off, is part of it.
void parse_raw_lines(const LineBlock& block, Worker& worker) {
  FileReport& report = worker.report;
  std::string_view rest = block.text;
  for (std::uint64_t number = block.first_line; !rest.empty(); ++number) {
    std::string_view line = next_part(rest, '\n');
    if (line.ends_with('\r')) line.remove_suffix(1);
    ++report.lines;
    if (line.size() > kMaxLineBytes) {
      ++report.unusable;
      report.malformed.add("over 64 KiB", number, line);
    } else if (line.empty()) {
      ++report.blank;
    } else {
      Entry entry;
      entry.kind = Kind::raw;
      entry.path = line;
      worker.sink.entry(entry, number);
      ++report.taken;
      ++report.entries[index_of(Kind::raw)];
    }
  }
}

}  // namespace

std::uint64_t IngestedFile::duplicates() const {
  std::uint64_t sum = 0;
  for (std::size_t i = 0; i < kKindCount; ++i) sum += report.entries[i] - fresh[i];
  return sum;
}

// One file on its way through the workers.
class Ingest::Pass {
 public:
  Pass(Ingest& ingest, unsigned threads, std::string name, const IngestProgress& progress)
      : ingest_(ingest), name_(std::move(name)), progress_(progress) {
    if (ingest.options_.observers != nullptr) ingest.options_.observers->expect_workers(std::max(1U, threads));
    if (ingest.options_.sample != nullptr) ingest.options_.sample->expect_workers(std::max(1U, threads));
    if (ingest.options_.marks != nullptr) ingest.options_.marks->expect_workers(std::max(1U, threads));
    if (ingest.options_.ranges != nullptr) ingest.options_.ranges->expect_workers(std::max(1U, threads));
    for (unsigned i = 0; i < std::max(1U, threads); ++i) {
      workers_.emplace_back(ingest.store_.sink(i), i, ingest.options_);
    }
  }
  unsigned size() const { return static_cast<unsigned>(workers_.size()); }
  Worker& worker(unsigned i) { return workers_[i]; }

  Result<void> run(BlockSource& source, const std::function<void(unsigned, const LineBlock&)>& parse) {
    return run_blocks(source, size(),
                      {.parse = parse,
                       .before = [&](unsigned i) -> Result<void> {
                         if (i == 0 && progress_) progress_({.name = name_, .position = source.position()});
                         return ingest_.check_limits(name_);
                       },
                       .end = [&](unsigned) { ingest_.store_.end_worker(); }});
  }
  Result<void> run(BlockSource& source, std::vector<BlockParser>& parsers) {
    return run(source, [&](unsigned i, const LineBlock& block) {
      parsers[i].parse(block, workers_[i].sink, workers_[i].report);
    });
  }
  // Counts and allow rules of all workers.
  void finish(FileReport& report, std::vector<BlockParser>* parsers) {
    std::vector<AllowRule> rules;
    for (unsigned i = 0; i < size(); ++i) {
      Worker& worker = workers_[i];
      if (parsers != nullptr) (*parsers)[i].finish(worker.sink, worker.report);
      worker.sink.flush();
      report.merge_counts(worker.report);
      std::move(worker.sink.allow_rules().begin(), worker.sink.allow_rules().end(), std::back_inserter(rules));
    }
    ingest_.store_.end_worker();
    std::sort(rules.begin(), rules.end(), [](const AllowRule& a, const AllowRule& b) {
      return std::tie(a.line, a.order) < std::tie(b.line, b.order);
    });
    for (AllowRule& rule : rules) ingest_.allow_rules_.push_back(std::move(rule.text));
    for (const Worker& worker : workers_) ingest_.important_.add(worker.sink.important_hosts());
  }

 private:
  Ingest& ingest_;
  std::string name_;
  const IngestProgress& progress_;
  std::deque<Worker> workers_;  // never moved: sinks and reports are borrowed
};

Result<void> Ingest::check_limits(const std::string& path) {
  if (auto ok = store_.check(); !ok) {
    if (ok.error().where.empty()) ok.error().where = path;
    return ok;
  }
  if (options_.observers != nullptr) {
    if (auto ok = options_.observers->check(); !ok) return ok;
  }
  if (options_.ranges != nullptr) {
    if (auto ok = options_.ranges->check(); !ok) {
      ok.error().where = path;
      return ok;
    }
  }
  if (allow_rules_.size() > kMaxExactEntries) {
    return unexpected(
        Error{Errc::limit, path,
              fmt::format("more than {} allow rules, which no allow list may hold", format_count(kMaxExactEntries))});
  }
  return {};
}

const ReadOptions& Ingest::read_options_of(const std::string& list) const {
  if (options_.read_of == nullptr) return options_.read;
  const auto own = options_.read_of->find(list);
  return own == options_.read_of->end() ? options_.read : own->second;
}

Result<void> Ingest::read(const std::string& argument, const IngestProgress& progress) {
  std::vector<ListFile> files;
  if (options_.raw) {
    files.push_back({.path = argument, .list = argument, .category = {}, .aliases = {}, .left_out = {}});
  } else {
    const ReadOptions& options = read_options_of(argument);
    auto expanded = expand_list(argument, options.categories, options.unpacked);
    if (!expanded) return unexpected(std::move(expanded).error());
    files = *std::move(expanded);
  }
  for (const ListFile& file : files) {
    if (auto ok = read_file(file, progress); !ok) return ok;
  }
  return {};
}

Result<void> Ingest::take_in(IngestedFile file, const std::optional<DistinctByKind>& before) {
  file.raw = options_.raw;
  const auto after = store_.distinct_so_far();
  for (std::size_t i = 0; i < kKindCount; ++i) {
    const bool counted = before && after && i < kKeyKindCount;
    file.fresh[i] = counted ? (*after)[i] - (*before)[i] : file.report.entries[i];
  }
  allow_rule_count_ += file.report.allow_rules;
  files_.push_back(std::move(file));
  return check_limits(files_.back().report.path);
}

Result<void> Ingest::read_file(const ListFile& file, const IngestProgress& progress) {
  IngestedFile out;
  const auto before = store_.distinct_so_far();
  Result<void> ok = options_.raw ? read_raw_file(file, out, progress) : read_list_file(file, out, progress);
  return ok ? take_in(std::move(out), before) : ok;
}

Result<void> Ingest::read_list_file(const ListFile& file, IngestedFile& out, const IngestProgress& progress) {
  auto reader = ListReader::open(file, read_options_of(file.list));
  if (!reader) return unexpected(std::move(reader).error());
  Pass pass(*this, reader->order_free() ? options_.threads : 1, file.path, progress);
  std::vector<BlockParser> parsers;
  for (unsigned i = 0; i < pass.size(); ++i) parsers.push_back(reader->parser());
  LockedSource source(*reader, reader->input());
  if (auto ok = pass.run(source, parsers); !ok) return ok;
  pass.finish(out.report, &parsers);
  reader->finish(out.report);
  return {};
}

Result<void> Ingest::read_raw_file(const ListFile& file, IngestedFile& out, const IngestProgress& progress) {
  auto input = file.open();
  if (!input) return unexpected(std::move(input).error());
  LineBlocks blocks(*input, LineBlocks::Mark::keep);
  Pass pass(*this, options_.threads, file.path, progress);
  LockedSource source(blocks, *input);
  const auto parse = [&](unsigned i, const LineBlock& block) { parse_raw_lines(block, pass.worker(i)); };
  if (auto ok = pass.run(source, parse); !ok) return ok;
  pass.finish(out.report, nullptr);
  out.report.path = file.path;
  out.report.list = file.list;
  out.report.compression = input->compression();
  out.report.text_bytes = input->text_bytes();
  out.report.digest = input->digest();
  out.report.stored_digest = input->stored_digest();
  return {};
}

Result<void> Ingest::read(const GeneratedList& list, const IngestProgress& progress) {
  if (list.format == Format::auto_detect || !list.open)
    return unexpected(Error{Errc::usage, list.name, "a generated list has a format and a source"});
  auto source = list.open();
  if (!source) return unexpected(std::move(source).error());
  IngestedFile out;
  const auto before = store_.distinct_so_far();
  ParsePlan plan;
  plan.format = list.format;
  plan.options = options_.read;
  const auto shared_plan = std::make_shared<const ParsePlan>(std::move(plan));
  Pass pass(*this, options_.raw || is_order_free(list.format) ? options_.threads : 1, list.name, progress);
  std::vector<BlockParser> parsers;
  for (unsigned i = 0; i < pass.size(); ++i) parsers.emplace_back(shared_plan);
  const auto parse = [&](unsigned i, const LineBlock& block) {
    Worker& worker = pass.worker(i);
    worker.report.text_bytes += block.text.size();
    options_.raw ? parse_raw_lines(block, worker) : parsers[i].parse(block, worker.sink, worker.report);
  };
  if (auto ok = pass.run(**source, parse); !ok) return ok;
  for (unsigned i = 0; i < pass.size(); ++i) out.report.text_bytes += pass.worker(i).report.text_bytes;
  pass.finish(out.report, &parsers);
  out.report.path = out.report.list = list.name;
  out.report.format = list.format;
  return take_in(std::move(out), before);
}

}  // namespace bloomwall::filter
