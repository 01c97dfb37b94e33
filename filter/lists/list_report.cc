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
  const std::vector<ReasonCount> reasons = tally.by_count();
  std::uint64_t rest = tally.total();
  for (std::size_t i = 0; i < reasons.size(); ++i) {
    const ReasonCount& reason = reasons[i];
    if (i == kReasonsShown && reasons.size() > kReasonsShown + 1) {
      fmt::format_to(out, "  {} {}: {}\n", title, kOtherReasons, rest);
      return;
    }
    rest -= reason.count;
    fmt::format_to(out, "  {} {}: {}\n", title, reason.reason, reason.count);
    for (const Example& example : reason.examples) fmt::format_to(out, "    line {}: {}\n", example.line, example.text);
  }
}

// What says whether the list is whole.
void write_completeness(Out out, const FileReport& report) {
  if (report.stated.count > 0) {
    const std::uint64_t missing = report.missing_of_stated();
    fmt::format_to(out, "  states {}{} (line {}: {})\n", count_text(report.stated.count, "entry", "entries"),
                   missing > 0 ? fmt::format(", {} of them are missing", missing) : "", report.stated.line,
                   report.stated.text);
  }
  if (report.open_line > 0) {
    fmt::format_to(out, "  the last line, {}, has no line end: the list may have been cut there\n", report.open_line);
  }
}

void write_count(Out out, const char* name, std::uint64_t count) {
  if (count > 0) fmt::format_to(out, "    {}: {}\n", name, count);
}

}  // namespace

std::string shown_line(std::string_view text) { return shown(text); }

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

void FileReport::note_stated(std::uint64_t count, std::uint64_t line, std::string_view text) {
  if (count > stated.count) stated = {count, line, shown(text)};
}

std::uint64_t FileReport::missing_of_stated() const {
  const std::uint64_t names = entry_count() + allow_rules + unusable + skipped_names.total();
  const std::uint64_t rules = content_lines() + cancelled;
  // A line of a hosts file may hold several names; two records of a zone are one entry; one rule of an adblock list may
  // be two entries.
  const bool by_name = format == Format::hosts || format == Format::dnsmasq || format == Format::rpz;
  const std::uint64_t found = format == Format::mixed ? std::max(names, rules) : by_name ? names : rules;
  return stated.count > found ? stated.count - found : 0;
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
  other_formats.merge(other.other_formats);
  open_line = std::max(open_line, other.open_line);
  const bool first = other.stated.count == stated.count && other.stated.line < stated.line;
  if (other.stated.count > stated.count || first) stated = other.stated;
}

std::vector<ReasonCount> not_taken(const FileReport& report, std::size_t most) {
  ReasonTally all = report.unsupported;
  all.merge(report.malformed);
  all.merge(report.skipped_names);
  std::vector<ReasonCount> reasons = all.by_count();
  if (reasons.size() <= most || most == 0) return reasons;
  ReasonCount rest{std::string(kOtherReasons), 0, {}};
  for (std::size_t i = most - 1; i < reasons.size(); ++i) rest.count += reasons[i].count;
  reasons.resize(most - 1);
  reasons.push_back(std::move(rest));
  return reasons;
}

std::string loss_text(const FileReport& report) {
  constexpr std::size_t kMostReasons = 4;
  const std::uint64_t lost = report.unusable + report.skipped_names.total();
  if (lost == 0) return {};
  std::string text = fmt::format("{} of {} rules are not taken ({:.1f} %)", lost,
                                 report.content_lines() + report.skipped_names.total(), 100 * report.unusable_share());
  std::string_view separator = ": ";
  for (const ReasonCount& reason : not_taken(report, kMostReasons)) {
    text += fmt::format("{}{} {}", separator, reason.count, reason.reason);
    if (!reason.examples.empty()) {
      text += fmt::format(" (line {}: {})", reason.examples.front().line, reason.examples.front().text);
    }
    separator = "; ";
  }
  return text;
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
  const std::string begins =
      report.other_formats.empty() ? "" : fmt::format("; begins as {}", to_string(report.begins_as));
  fmt::format_to(out, "{}: {}{}{}\n", escaped(report.path), to_string(report.format),
                 report.detected ? fmt::format(" (detected{})", begins) : "",
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
  write_completeness(out, report);
  for (const std::string& thing : report.left_out) fmt::format_to(out, "  not read: {}\n", escaped(thing));
  write_reasons(out, "skipped:", report.unsupported);
  write_reasons(out, "unreadable:", report.malformed);
  write_reasons(out, "skipped name:", report.skipped_names);
  write_reasons(out, "warning:", report.warnings);
  write_reasons(out, "later lines read as", report.other_formats);
  return text;
}

}  // namespace bloomwall::filter
