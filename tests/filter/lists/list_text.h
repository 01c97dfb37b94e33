// Reads a list from memory and writes down what became of it, in one line that a table of tests can state in full;
// ranges of addresses are taken of lists of networks, and where wide ones are allowed:
//   "S example.com, X 192.0.2.1, allow example.net, skip: address range x2, warn: public suffix"
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "filter/lists/list_reader.h"

namespace bloomwall::filter::test {

struct Collected final : ListSink {
  void entry(const Entry& entry, std::uint64_t line) override {
    entries.push_back(fmt::format("{} {}", static_cast<char>(entry.kind), text_of(entry)));
    lines.push_back(line);
    story.push_back(fmt::format("{}: {}", line, entries.back()));
  }
  void allow(std::string_view text, std::uint64_t line) override {
    allowed.emplace_back(text);
    lines.push_back(line);
    story.push_back(fmt::format("{}: allow {}", line, text));
  }
  bool takes_ranges() const override { return with_ranges; }
  void range(const AddressRange& range, std::uint64_t line) override {
    entries.push_back(fmt::format("N {}", text_of(range)));
    lines.push_back(line);
    story.push_back(fmt::format("{}: {}", line, entries.back()));
  }
  bool with_ranges = false;
  std::vector<std::string> entries;
  std::vector<std::string> allowed;
  std::vector<std::uint64_t> lines;  // of both, in the order they came
  std::vector<std::string> story;
};

inline ReadOptions options_for(Format format) {
  ReadOptions options;
  options.format = format;
  return options;
}

struct Reading {
  Collected sink;
  FileReport report;
  std::string error;  // not empty: the list was refused
};

inline Reading read_text(std::string_view text, const ReadOptions& options, const ListFile& file = {},
                         std::size_t step = kInputChunkBytes) {
  // Exact size, so that a sanitizer sees an over-read.
  const std::vector<char> exact(text.begin(), text.end());
  Reading reading;
  reading.sink.with_ranges = options.format == Format::networks || options.allow_wide_ranges;
  auto report =
      read_list(ListInput::of_memory({exact.data(), exact.size()}, file.path.empty() ? "list" : file.path, step), file,
                options, reading.sink);
  if (report) {
    reading.report = *report;
  } else {
    reading.error = report.error().text();
  }
  return reading;
}

inline Reading read_text(std::string_view text, Format format) {
  ReadOptions options;
  options.format = format;
  return read_text(text, options);
}

inline void append(std::string& to, std::string_view what) { to.append(to.empty() ? "" : ", ").append(what); }

inline void append_count(std::string& to, std::string_view what, std::uint64_t count) {
  if (count > 0) append(to, count == 1 ? std::string(what) : fmt::format("{} x{}", what, count));
}

inline std::string describe(const Reading& reading) {
  if (!reading.error.empty()) return "refused: " + reading.error;
  std::string text;
  for (const auto& entry : reading.sink.entries) append(text, entry);
  for (const auto& rule : reading.sink.allowed) append(text, "allow " + rule);
  const FileReport& report = reading.report;
  for (const auto& reason : report.unsupported.by_count()) append_count(text, "skip: " + reason.reason, reason.count);
  for (const auto& reason : report.malformed.by_count()) append_count(text, "bad: " + reason.reason, reason.count);
  append_count(text, "blank", report.blank);
  append_count(text, "comment", report.comments);
  append_count(text, "boilerplate", report.boilerplate);
  append_count(text, "cancelled", report.cancelled);
  for (const auto& reason : report.skipped_names.by_count())
    append_count(text, "skipped name: " + reason.reason, reason.count);
  for (const auto& reason : report.warnings.by_count()) append_count(text, "warn: " + reason.reason, reason.count);
  return text;
}

// The whole story of a list, entry by entry with line numbers, then the report: what the files *.want hold.
inline std::string full_story(const Reading& reading) {
  if (!reading.error.empty()) return "refused: " + reading.error + "\n";
  std::string text;
  for (const auto& entry : reading.sink.story) text += entry + "\n";
  return text + text_of(reading.report);
}

// Every line is in exactly one count, and the counts of the report agree with what reached the sink.
inline void expect_sums(const Reading& reading) {
  const FileReport& r = reading.report;
  EXPECT_EQ(r.lines, r.blank + r.comments + r.boilerplate + r.taken + r.allowed + r.cancelled + r.unusable);
  EXPECT_EQ(r.unusable, r.unsupported.total() + r.malformed.total());
  EXPECT_EQ(r.entry_count(), reading.sink.entries.size());
  EXPECT_EQ(r.allow_rules, reading.sink.allowed.size());
  EXPECT_GE(r.entry_count(), r.addresses + r.single_label);
}

// One row of a table: the rule it stands for, the text, and what describe() says of it.
struct Row {
  const char* rule;
  std::string_view text;
  const char* want;
};
inline void PrintTo(const Row& row, std::ostream* out) { *out << row.text; }

inline std::string row_name(const testing::TestParamInfo<Row>& info) { return info.param.rule; }

inline void expect_row(const Row& row, const ReadOptions& options) {
  const Reading reading = read_text(row.text, options);
  EXPECT_EQ(describe(reading), row.want);
  if (reading.error.empty()) expect_sums(reading);
}

}  // namespace bloomwall::filter::test
