// SPDX-License-Identifier: Apache-2.0
#include "filter/lists/list_reader.h"

#include <deque>
#include <memory>
#include <string>
#include <utility>

#include "filter/lists/adblock_rule.h"
#include "filter/lists/csv_layout.h"
#include "filter/lists/json_lines.h"
#include "filter/lists/line_parser.h"
#include "filter/lists/rpz_parser.h"

namespace bloomwall::filter {

namespace {

// More $badfilter rules than any list has; a bound on what a hostile one makes us keep.
constexpr std::size_t kMaxBadFilterBytes = std::size_t{16} << 20;
constexpr std::size_t kRuleOverhead = 64;  // of a small entry in a set, about

void collect_bad_filters(const LineBlock& block, BadFilterRules& rules) {
  // Nearly no block holds the word.
  if (block.text.find("badfilter") == std::string::npos) return;
  for (LineWalk lines(block.text); lines.next();) {
    auto target = lines.too_long() ? std::nullopt : bad_filter_target(lines.line());
    if (!target) continue;
    if (rules.bytes >= kMaxBadFilterBytes) return;
    rules.bytes += target->size() + kRuleOverhead;
    rules.rules.insert(std::move(*target));
  }
}

}  // namespace

struct ListReader::State {
  State(ListInput the_input, const ListFile& the_file, const ReadOptions& options)
      : input(std::move(the_input)), blocks(std::make_unique<LineBlocks>(input)), file(the_file) {
    plan.options = options;
  }

  ListInput input;
  std::unique_ptr<LineBlocks> blocks;
  ListFile file;
  ParsePlan plan;
  std::shared_ptr<const ParsePlan> shared_plan;
  std::deque<LineBlock> held;  // read ahead, to be handed out first

  Result<void> prepare();
  Result<bool> hold_next();
  Result<std::string> read_sample();
  Result<void> choose_format(std::string_view sample);
  Result<void> find_bad_filters();
  Result<void> scan_ahead(BadFilterRules& rules);
};

Result<bool> ListReader::State::hold_next() {
  LineBlock block;
  auto more = blocks->next(block);
  if (more && *more) held.push_back(std::move(block));
  return more;
}

// The first kSampleBytes of text or less, whole lines (or one cut line); the same whatever the chunks were.
Result<std::string> ListReader::State::read_sample() {
  std::string sample;
  while (sample.size() <= kSampleBytes) {
    const auto more = hold_next();
    if (!more) return unexpected(more.error());
    if (!*more) return sample;
    sample += held.back().text;
  }
  const std::size_t end = sample.rfind('\n', kSampleBytes);
  sample.resize(end == std::string::npos ? kSampleBytes : end + 1);
  return sample;
}

Result<void> ListReader::State::prepare() {
  if (file.usage == Usage::white && plan.options.white_categories == WhiteUse::refuse) {
    return unexpected(
        Error{Errc::usage, file.path,
              "its category is meant to be allowed, not blocked (usage: white); say with --white what becomes of it"});
  }
  plan.to_allow = file.usage == Usage::white && plan.options.white_categories == WhiteUse::allow;
  const auto sample = read_sample();
  if (!sample) return unexpected(sample.error());
  if (auto ok = choose_format(*sample); !ok) return ok;
  if (file.format != Format::auto_detect) {  // the category's word, not that of the user
    if (auto ok = refuse_columns(*sample, input.name(), plan.format); !ok) return ok;
  }
  if (plan.format == Format::csv) {
    auto layout = csv_layout(*sample, input.name(), plan.options.csv_column);
    if (!layout) return unexpected(layout.error());
    plan.csv = std::move(*layout);
  }
  if (plan.format == Format::json_lines) {
    auto field = json_field(*sample, input.name(), plan.options.csv_column);
    if (!field) return unexpected(field.error());
    plan.json_field = std::move(*field);
  }
  if (plan.format == Format::rpz) {
    if (auto ok = refuse_unknown_zone(*sample, input.name()); !ok) return ok;
  }
  learn_lines(*sample, plan);
  if (plan.format == Format::adblock || plan.format == Format::mixed) {
    if (auto ok = find_bad_filters(); !ok) return ok;
  }
  shared_plan = std::make_shared<const ParsePlan>(plan);
  return {};
}

// What the category says, or the user, or the lines.
Result<void> ListReader::State::choose_format(std::string_view sample) {
  plan.format = file.format != Format::auto_detect ? file.format : plan.options.format;
  const bool asks = plan.format == Format::auto_detect || plan.format == Format::json_lines;
  if (asks && is_json_lines(sample)) {
    plan.detected = plan.format == Format::auto_detect;
    plan.format = Format::json_lines;
    return {};
  }
  if (auto ok = refuse_foreign(sample, input.name()); !ok) return ok;
  if (!plan.options.csv_column.empty() && file.format == Format::auto_detect && plan.format != Format::json_lines) {
    if (plan.format != Format::auto_detect && plan.format != Format::csv) {
      return unexpected(Error{Errc::usage, file.path, "--csv-column needs --format csv, or no --format"});
    }
    plan.format = Format::csv;
  }
  if (plan.format != Format::auto_detect) return {};
  const auto format = detect_format(sample, input.name());
  if (!format) return unexpected(format.error());
  plan.format = *format;
  plan.detected = true;
  return {};
}

// $badfilter rules may stand anywhere, so all of them must be known before the first rule is taken.
Result<void> ListReader::State::find_bad_filters() {
  auto rules = std::make_shared<BadFilterRules>();
  for (const LineBlock& block : held) collect_bad_filters(block, *rules);
  if (auto ok = scan_ahead(*rules); !ok) return ok;
  plan.cancelled = std::move(rules);
  return {};
}

Result<void> ListReader::State::scan_ahead(BadFilterRules& rules) {
  std::size_t held_bytes = 0;
  for (const LineBlock& block : held) held_bytes += block.text.size();
  const bool twice = input.can_rewind();
  while (twice || held_bytes < plan.options.hold_back_bytes) {
    const auto more = hold_next();
    if (!more) return unexpected(more.error());
    if (!*more) break;
    collect_bad_filters(held.back(), rules);
    held_bytes += held.back().text.size();
    if (twice) held.pop_back();
  }
  if (!twice) return {};
  held.clear();
  if (auto ok = input.rewind(); !ok) return ok;
  blocks = std::make_unique<LineBlocks>(input);
  return {};
}

ListReader::ListReader(std::unique_ptr<State> state) : state_(std::move(state)) {}
ListReader::ListReader(ListReader&&) noexcept = default;
ListReader& ListReader::operator=(ListReader&&) noexcept = default;
ListReader::~ListReader() = default;

Result<ListReader> ListReader::open(const ListFile& file, const ReadOptions& options) {
  auto input = file.open();
  if (!input) return unexpected(input.error());
  return open(std::move(*input), file, options);
}

Result<ListReader> ListReader::open(ListInput input, const ListFile& file, const ReadOptions& options) {
  auto state = std::make_unique<State>(std::move(input), file, options);
  if (auto ok = state->prepare(); !ok) return unexpected(ok.error());
  return ListReader(std::move(state));
}

Format ListReader::format() const { return state_->plan.format; }
bool ListReader::order_free() const { return is_order_free(state_->plan.format); }
const ListInput& ListReader::input() const { return state_->input; }

Result<bool> ListReader::next(LineBlock& block) {
  if (state_->held.empty()) return state_->blocks->next(block);
  block = std::move(state_->held.front());
  state_->held.pop_front();
  return true;
}

BlockParser ListReader::parser() const { return BlockParser(state_->shared_plan); }

void ListReader::finish(FileReport& report) const {
  report.path = state_->file.path.empty() ? state_->input.name() : state_->file.path;
  report.list = state_->file.list.empty() ? report.path : state_->file.list;
  report.category = state_->file.category;
  report.format = state_->plan.format;
  if (!report.other_formats.empty()) {
    report.begins_as = report.format;
    report.format = Format::mixed;
  }
  report.detected = state_->plan.detected;
  report.compression = state_->input.compression();
  report.text_bytes = state_->input.text_bytes();
  report.digest = state_->input.digest();
  report.left_out = state_->file.left_out;
  report.stored_digest = state_->input.stored_digest();
}

Result<FileReport> read_list(const ListFile& file, const ReadOptions& options, ListSink& sink) {
  auto input = file.open();
  if (!input) return unexpected(input.error());
  return read_list(std::move(*input), file, options, sink);
}

Result<FileReport> read_list(ListInput input, const ListFile& file, const ReadOptions& options, ListSink& sink) {
  auto reader = ListReader::open(std::move(input), file, options);
  if (!reader) return unexpected(reader.error());
  FileReport report;
  BlockParser parser = reader->parser();
  LineBlock block;
  while (true) {
    const auto more = reader->next(block);
    if (!more) return unexpected(more.error());
    if (!*more) break;
    parser.parse(block, sink, report);
  }
  parser.finish(sink, report);
  reader->finish(report);
  return report;
}

}  // namespace bloomwall::filter
