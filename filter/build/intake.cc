// SPDX-License-Identifier: Apache-2.0
#include "filter/build/intake.h"

#include <fmt/format.h>

#include <algorithm>
#include <deque>
#include <iterator>
#include <tuple>

#include "filter/build/block_pipeline.h"
#include "filter/build/quantity.h"
#include "filter/policy/entry_text.h"

namespace bloomwall::filter {
namespace {

struct AllowRule {
  std::uint64_t line = 0;
  std::size_t order = 0;  // among those of its thread; the rules of one line come from one thread
  std::string text;
};

// What one thread makes of its blocks of one file.
class WorkerSink final : public ListSink {
 public:
  WorkerSink(KeyCollector& collector, bool keep_allow_rules) : feed_(collector), keep_allow_rules_(keep_allow_rules) {}
  void entry(const Entry& entry, std::uint64_t /*line*/) override { feed_.add(entry); }
  void allow(std::string_view text, std::uint64_t line) override {
    if (keep_allow_rules_ && allow_rules_.size() <= kMaxExactEntries) {
      allow_rules_.push_back({line, allow_rules_.size(), std::string(text)});
    }
  }
  void flush() { feed_.flush(); }
  std::vector<AllowRule>& allow_rules() { return allow_rules_; }

 private:
  KeyCollector::Feed feed_;
  bool keep_allow_rules_;
  std::vector<AllowRule> allow_rules_;
};

struct Worker {
  Worker(KeyCollector& collector, bool keep_allow_rules) : sink(collector, keep_allow_rules) {}
  WorkerSink sink;
  FileReport report;
};

void parse_raw_lines(const LineBlock& block, Worker& worker) {
  FileReport& report = worker.report;
  for (LineWalk lines(block.text, block.first_line); lines.next();) {
    ++report.lines;
    if (lines.too_long()) {
      ++report.unusable;
      report.malformed.add("over 64 KiB", lines.number(), lines.line());
    } else if (lines.line().empty()) {
      ++report.blank;
    } else {
      Entry entry;
      entry.kind = Kind::raw;
      entry.path = lines.line();
      worker.sink.entry(entry, lines.number());
      ++report.taken;
      ++report.entries[index_of(Kind::raw)];
    }
  }
}

}  // namespace

std::uint64_t FileIntake::duplicates() const {
  std::uint64_t sum = 0;
  for (std::size_t i = 0; i < kKindCount; ++i) sum += report.entries[i] - fresh[i];
  return sum;
}

Result<void> Intake::check_limits(const ListFile& file) const {
  if (collector_.out_of_memory()) {
    const auto known = collector_.distinct();
    std::uint64_t entries = 0;
    for (const std::uint64_t kind : known) entries += kind;
    return unexpected(
        Error{Errc::limit, file.path,
              fmt::format("its keys do not fit in the {} of memory that a build may take; {} distinct entries did. "
                          "Free memory, raise --ram, or split the lists; plan --entries says what files they make",
                          format_bytes(collector_.ram_bytes()), format_count(entries))});
  }
  if (allow_rules_.size() > kMaxExactEntries) {
    return unexpected(
        Error{Errc::limit, file.path,
              fmt::format("more than {} allow rules, which no allow list may hold", format_count(kMaxExactEntries))});
  }
  return {};
}

Result<void> Intake::read(const std::string& argument, const IntakeProgress& progress) {
  std::vector<ListFile> files;
  if (options_.raw) {
    files.push_back({.path = argument, .list = argument, .category = {}, .aliases = {}});
  } else {
    auto expanded = expand_list(argument);
    if (!expanded) return unexpected(std::move(expanded).error());
    files = *std::move(expanded);
  }
  for (const ListFile& file : files) {
    if (auto ok = read_file(file, progress); !ok) return ok;
  }
  return {};
}

Result<void> Intake::read_file(const ListFile& file, const IntakeProgress& progress) {
  FileIntake out;
  out.raw = options_.raw;
  const DistinctByKind before = collector_.distinct();
  Result<void> ok = options_.raw ? read_raw_file(file, out, progress) : read_list_file(file, out, progress);
  if (!ok) return ok;
  out.fresh = collector_.distinct();
  for (std::size_t i = 0; i < kKindCount; ++i) out.fresh[i] -= before[i];
  allow_rule_count_ += out.report.allow_rules;
  files_.push_back(std::move(out));
  return check_limits(file);
}

Result<void> Intake::read_list_file(const ListFile& file, FileIntake& out, const IntakeProgress& progress) {
  auto reader = ListReader::open(file, options_.read);
  if (!reader) return unexpected(std::move(reader).error());
  std::deque<Worker> workers;  // never moved: feeds and reports are borrowed
  std::vector<BlockParser> parsers;
  const unsigned count = reader->order_free() ? std::max(1U, options_.threads) : 1;
  for (unsigned i = 0; i < count; ++i) {
    workers.emplace_back(collector_, options_.keep_allow_rules);
    parsers.push_back(reader->parser());
  }
  const auto next = [&](LineBlock& block) -> Result<bool> {
    if (progress) progress(reader->input());
    if (auto ok = check_limits(file); !ok) return unexpected(ok.error());
    return reader->next(block);
  };
  const auto parse = [&](unsigned i, const LineBlock& block) {
    parsers[i].parse(block, workers[i].sink, workers[i].report);
  };
  if (auto ok = run_blocks(next, count, parse); !ok) return ok;
  std::vector<AllowRule> rules;
  for (unsigned i = 0; i < count; ++i) {
    parsers[i].finish(workers[i].sink, workers[i].report);
    workers[i].sink.flush();
    out.report.merge_counts(workers[i].report);
    std::move(workers[i].sink.allow_rules().begin(), workers[i].sink.allow_rules().end(), std::back_inserter(rules));
  }
  reader->finish(out.report);
  std::sort(rules.begin(), rules.end(), [](const AllowRule& a, const AllowRule& b) {
    return std::tie(a.line, a.order) < std::tie(b.line, b.order);
  });
  for (AllowRule& rule : rules) allow_rules_.push_back(std::move(rule.text));
  return {};
}

Result<void> Intake::read_raw_file(const ListFile& file, FileIntake& out, const IntakeProgress& progress) {
  auto input = ListInput::open(file.path);
  if (!input) return unexpected(std::move(input).error());
  LineBlocks blocks(*input);
  std::deque<Worker> workers;
  const unsigned count = std::max(1U, options_.threads);
  for (unsigned i = 0; i < count; ++i) workers.emplace_back(collector_, false);
  const auto next = [&](LineBlock& block) -> Result<bool> {
    if (progress) progress(*input);
    if (auto ok = check_limits(file); !ok) return unexpected(ok.error());
    return blocks.next(block);
  };
  const auto parse = [&](unsigned i, const LineBlock& block) { parse_raw_lines(block, workers[i]); };
  if (auto ok = run_blocks(next, count, parse); !ok) return ok;
  for (Worker& worker : workers) {
    worker.sink.flush();
    out.report.merge_counts(worker.report);
  }
  out.report.path = file.path;
  out.report.list = file.list;
  out.report.compression = input->compression();
  out.report.text_bytes = input->text_bytes();
  out.report.digest = input->digest();
  return {};
}

}  // namespace bloomwall::filter
