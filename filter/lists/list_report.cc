// SPDX-License-Identifier: Apache-2.0
#include "filter/lists/list_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "base/figures.h"

namespace bloomwall::filter {
namespace {

bool breaks_a_terminal(char c) {
  const auto octet = static_cast<unsigned char>(c);
  return octet < 0x20 || octet == 0x7f;
}

// As a person may see it: control octets could be orders to a terminal.
std::string escaped(std::string_view text) {
  std::string result;
  for (const char c : text) {
    if (breaks_a_terminal(c)) {
      result += fmt::format("\\x{:02X}", static_cast<unsigned char>(c));
    } else {
      result.push_back(c);
    }
  }
  return result;
}

std::string shown(std::string_view text) {
  if (text.size() <= kExampleBytes) return escaped(text);
  text = text.substr(0, kExampleBytes);
  // Not through the middle of a UTF-8 sequence.
  while (!text.empty() && (static_cast<unsigned char>(text.back()) & 0xC0U) == 0x80U) text.remove_suffix(1);
  if (!text.empty() && static_cast<unsigned char>(text.back()) >= 0xC0U) text.remove_suffix(1);
  return escaped(text) + "...";
}

const char* kind_name(Kind kind) {
  switch (kind) {
    case Kind::suffix:
      return "domains";
    case Kind::exact_host:
      return "exact hosts";
    case Kind::subdomains:
      return "subdomains only";
    case Kind::url:
      return "URLs";
    case Kind::url_query:
      return "URLs with query";
    case Kind::directory:
      return "directories";
    case Kind::raw:
      return "raw keys";
    case Kind::network:
      return "ranges of addresses";
  }
  return "unknown";
}

using Out = std::back_insert_iterator<std::string>;

void write_reasons(Out out, std::string_view title, const ReasonTally& tally) {
  for (const ReasonCount& reason : tally.by_count()) {
    fmt::format_to(out, "  {} {}: {}\n", title, reason.reason, reason.count);
    for (const Example& example : reason.examples) fmt::format_to(out, "    line {}: {}\n", example.line, example.text);
  }
}

void write_count(Out out, const char* name, std::uint64_t count) {
  if (count > 0) fmt::format_to(out, "    {}: {}\n", name, count);
}

}  // namespace

ReasonCount& ReasonTally::slot(std::string_view reason) {
  const auto at =
      std::find_if(reasons_.begin(), reasons_.end(), [reason](const ReasonCount& r) { return r.reason == reason; });
  if (at != reasons_.end()) return *at;
  reasons_.push_back({std::string(reason), 0, {}});
  return reasons_.back();
}

void ReasonTally::add(std::string_view reason, std::uint64_t line, std::string_view text) {
  ReasonCount& count = slot(reason);
  ++count.count;
  if (count.examples.size() < kExamplesKept) count.examples.push_back({line, shown(text)});
}

void ReasonTally::merge(const ReasonTally& other) {
  for (const ReasonCount& from : other.reasons_) {
    ReasonCount& to = slot(from.reason);
    to.count += from.count;
    to.examples.insert(to.examples.end(), from.examples.begin(), from.examples.end());
    std::sort(to.examples.begin(), to.examples.end(),
              [](const Example& x, const Example& y) { return x.line != y.line ? x.line < y.line : x.text < y.text; });
    if (to.examples.size() > kExamplesKept) to.examples.resize(kExamplesKept);
  }
}

std::uint64_t ReasonTally::total() const {
  std::uint64_t sum = 0;
  for (const ReasonCount& reason : reasons_) sum += reason.count;
  return sum;
}

std::uint64_t ReasonTally::count(std::string_view reason) const {
  const auto at =
      std::find_if(reasons_.begin(), reasons_.end(), [reason](const ReasonCount& r) { return r.reason == reason; });
  return at == reasons_.end() ? 0 : at->count;
}

std::vector<ReasonCount> ReasonTally::by_count() const {
  std::vector<ReasonCount> sorted = reasons_;
  std::sort(sorted.begin(), sorted.end(), [](const ReasonCount& a, const ReasonCount& b) {
    return a.count != b.count ? a.count > b.count : a.reason < b.reason;
  });
  return sorted;
}

std::uint64_t FileReport::entry_count() const {
  std::uint64_t sum = 0;
  for (const std::uint64_t count : entries) sum += count;
  return sum;
}

double FileReport::unusable_share() const {
  const FileReport one[] = {*this};
  return worst_unusable_share(one).share;
}

void FileReport::merge_counts(const FileReport& other) {
  lines += other.lines;
  blank += other.blank;
  comments += other.comments;
  boilerplate += other.boilerplate;
  taken += other.taken;
  allowed += other.allowed;
  cancelled += other.cancelled;
  unusable += other.unusable;
  unsupported.merge(other.unsupported);
  malformed.merge(other.malformed);
  for (std::size_t i = 0; i < entries.size(); ++i) entries[i] += other.entries[i];
  allow_rules += other.allow_rules;
  addresses += other.addresses;
  single_label += other.single_label;
  tlds_taken += other.tlds_taken;
  skipped_names.merge(other.skipped_names);
  warnings.merge(other.warnings);
}

UnusableShare worst_unusable_share(std::span<const FileReport> reports) {
  std::vector<UnusableShare> lists;
  for (const FileReport& report : reports) {
    auto at = std::find_if(lists.begin(), lists.end(), [&](const UnusableShare& s) { return s.list == report.list; });
    if (at == lists.end()) at = lists.insert(lists.end(), UnusableShare{report.list});
    at->unusable += report.unusable + report.skipped_names.total();
    at->content += report.content_lines() + report.skipped_names.total();
  }
  UnusableShare worst;
  for (UnusableShare& list : lists) {
    if (list.content > 0) list.share = static_cast<double>(list.unusable) / static_cast<double>(list.content);
    if (list.share >= worst.share) worst = list;
  }
  return worst;
}

std::string text_of(const FileReport& report) {
  std::string text;
  const Out out(text);
  fmt::format_to(out, "{}: {}{}{}\n", escaped(report.path), to_string(report.format),
                 report.detected ? " (detected)" : "",
                 report.category.empty() ? "" : fmt::format(", category {}", escaped(report.category)));
  fmt::format_to(out, "  {} lines: {} taken, {} unusable ({:.2f} %), {} comments, {} blank, {} boilerplate",
                 report.lines, report.taken, report.unusable, 100.0 * report.unusable_share(), report.comments,
                 report.blank, report.boilerplate);
  if (report.allowed > 0) fmt::format_to(out, ", {} allowing", report.allowed);
  if (report.cancelled > 0) fmt::format_to(out, ", {} cancelled by $badfilter", report.cancelled);
  fmt::format_to(out, "\n  {}\n", count_text(report.entry_count(), "entry", "entries"));
  for (const Kind kind : kKinds) write_count(out, kind_name(kind), report.entries[index_of(kind)]);
  write_count(out, "of them IP addresses", report.addresses);
  write_count(out, "of them single labels", report.single_label);
  write_count(out, "of them top-level domains", report.tlds_taken);
  write_count(out, "allow rules", report.allow_rules);
  write_count(out, "names skipped in lines of several", report.skipped_names.total());
  for (const std::string& thing : report.left_out) fmt::format_to(out, "  not read: {}\n", escaped(thing));
  write_reasons(out, "skipped:", report.unsupported);
  write_reasons(out, "unreadable:", report.malformed);
  write_reasons(out, "skipped name:", report.skipped_names);
  write_reasons(out, "warning:", report.warnings);
  return text;
}

}  // namespace bloomwall::filter
