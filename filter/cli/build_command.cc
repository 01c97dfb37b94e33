// SPDX-License-Identifier: Apache-2.0

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/figures.h"
#include "base/terminal.h"
#include "base/units.h"
#include "filter/builder/build_checks.h"
#include "filter/cli/commands.h"
#include "filter/cli/header_json.h"
#include "filter/cli/header_text.h"
#include "filter/cli/progress.h"
#include "filter/cli/slice_commands.h"

namespace bloomwall::filter {
namespace {

std::uint64_t all_duplicates(const BuildReport& report) {
  std::uint64_t sum = 0;
  for (const IngestedFile& file : report.files) sum += file.duplicates();
  if (!report.summary.estimated) return sum;
  for (const IngestedFile& file : report.files) sum += file.report.entry_count();
  return sum - std::min(sum, report.summary.total());
}

// Prints warnings and the error; returns the exit status, or ends the process by the signal that stopped the run.
int finish(const Result<void>& result, const std::vector<std::string>& warnings, Interrupt& interrupt,
           const Streams& io) {
  for (const std::string& warning : warnings) io.err << "bloomwall-filter: warning: " << printable(warning) << '\n';
  if (!result) print_error(io.err, result.error());
  io.err.flush();
  interrupt.end();
  if (!result) interrupt.obey();
  return result ? kExitDone : kExitError;
}

// In earlier phases a signal may end the process at once: nothing is on disk yet.
bool has_temporary_file(BuildPhase phase) { return phase != BuildPhase::reading && phase != BuildPhase::estimating; }

std::string raw_file_text(const FileReport& r) {
  return fmt::format("{}: raw keys\n  {} lines: {} taken, {} blank, {} over 64 KiB\n", printable(r.path), r.lines,
                     r.taken, r.blank, r.unusable);
}

std::string sections_text(const BuildReport& report) {
  std::string out;
  for (const SectionEntry& s : report.header.sections) {
    if (!has_pages(s.type)) continue;
    out += fmt::format("{}{} {} {}", out.empty() ? "" : ", ", to_string(s.type), format_bytes(s.length),
                       layout_name(s.geometry.layout));
  }
  return out;
}

// Three lines. `is_bound`: the worst host may have fewer marks.
std::string predictions_text(const Header& header, const WorstHost& worst, bool is_bound) {
  std::string out = fmt::format("  {}\n", worst_error_text(header, ", predicted"));
  const bool has_hosts = header.find(SectionType::hosts) != nullptr;
  if (has_hosts) {
    out += fmt::format("  error of a request on the worst host, predicted: {}{}\n", is_bound ? "at most " : "",
                       worst_host_text(worst));
  }
  return out +
         fmt::format("  error of a {}, measured: {}\n", has_hosts ? "request" : "question", measured_text(header));
}

std::string summary_text(const BuildReport& report, const std::filesystem::path& output) {
  const KeySummary& s = report.summary;
  std::string kinds;
  for (std::size_t i = 0; i < kKindCount; ++i) {
    if (s.distinct[i] > 0) {
      kinds += fmt::format("{}{}: {}", kinds.empty() ? "" : "; ", kind_meaning(kKinds[i]), format_count(s.distinct[i]));
    }
  }
  std::string out = fmt::format("{}: {}, sequence {}\n", printable(output.string()),
                                format_bytes(report.header.file_bytes), report.header.sequence);
  out += fmt::format("  {}{} on {} ({}); {}{}\n", s.estimated ? "about " : "",
                     count_text(s.total(), "distinct entry", "distinct entries"), count_text(s.hosts, "host", "hosts"),
                     kinds, count_text(all_duplicates(report), "duplicate", "duplicates"),
                     s.estimated ? " (estimated, within 1 %)" : "");
  if (report.streamed) {
    out += fmt::format("  streamed in {}: {} written, {} read again\n",
                       count_text(report.stream.rounds, "round", "rounds"), format_bytes(report.stream.bytes_written),
                       format_bytes(report.stream.bytes_read));
  }
  if (s.estimated) {
    out += "  covered by a listed host or parent: kept, not counted (nothing is held of an entry that streams)\n";
  } else if (s.covered_hosts + s.covered_paths > 0) {
    out += fmt::format("  covered by a listed host or parent, and kept: {}, {}\n",
                       count_text(s.covered_hosts, "host entry", "host entries"),
                       count_text(s.covered_paths, "URL entry", "URL entries"));
  }
  if (report.allow_rules > 0)
    out += fmt::format("  {} found\n", count_text(report.allow_rules, "allow rule", "allow rules"));
  out += fmt::format("  sections: {}\n", sections_text(report));
  return out + predictions_text(report.header, report.worst, s.estimated);
}

std::string report_text(const BuildReport& report, const std::filesystem::path& output) {
  std::string out;
  for (const IngestedFile& file : report.files) {
    out += file.raw ? raw_file_text(file.report) : text_of(file.report);
    if (file.duplicates() > 0) out += fmt::format("  duplicates: {}\n", file.duplicates());
  }
  if (report.header.file_bytes > 0) out += summary_text(report, output);
  return out;
}

nlohmann::ordered_json report_json(const BuildReport& report, const std::filesystem::path& output,
                                   const Result<void>& result) {
  nlohmann::ordered_json files = nlohmann::ordered_json::array();
  for (const IngestedFile& file : report.files) files.push_back(to_json(file));
  nlohmann::ordered_json out{{"file", output.string()}, {"status", result ? "done" : "refused"}};
  if (!result) out["error"] = to_json(result.error());
  out["warnings"] = report.warnings;
  out["entries"] = report.summary.total();
  out["duplicates"] = all_duplicates(report);
  out["estimated"] = report.summary.estimated;
  if (report.streamed) {
    out["stream"] = {{"rounds", report.stream.rounds},
                     {"bytes_written", report.stream.bytes_written},
                     {"bytes_read", report.stream.bytes_read}};
  }
  // Of entries that stream nothing is held with which their parents could be compared.
  out["covered"] = nullptr;
  if (!report.summary.estimated)
    out["covered"] = {{"hosts", report.summary.covered_hosts}, {"urls", report.summary.covered_paths}};
  out["allow_rules"] = report.allow_rules;
  out["notes"] = report.notes;
  out["files"] = std::move(files);
  if (!result) return out;
  out["header"] = to_json(report.header, false);
  out["header"]["predicted"]["worst_host"] = to_json(report.worst);
  out["info"] = to_json(report.info);
  return out;
}

}  // namespace

int run_build(const BuildCommand& command, const Streams& io) {
  BuildReport report;
  Interrupt interrupt;
  BuildOptions options = command.options;
  options.stop = &interrupt.requested();
  say_reading_if_named(options.lists, options.raw ? "a key" : "an entry", io);
  say_reading_if_named(options.known_good, "a URL", io);
  const auto result = [&] {
    BuildProgressLine line(io);
    auto like = like_of(options.like.file);
    if (!like) return Result<void>(unexpected(std::move(like).error()));
    options.like.geometry = *std::move(like);
    return build(options, report, [&](const BuildProgress& progress) {
      if (has_temporary_file(progress.phase)) interrupt.begin();
      line.show(progress);
    });
  }();
  if (command.json) {
    print_json_tall(io.out, report_json(report, options.output, result));
  } else if (!command.quiet || (!result && result.error().code == Errc::bad_syntax)) {  // only then it says why
    io.err << report_text(report, options.output);
    for (const std::string& note : report.notes) io.err << "  " << note << '\n';
  }
  return finish(result, report.warnings, interrupt, io);
}

namespace {

std::string phase_text(MergePhase phase, std::uint64_t done, std::uint64_t total) {
  const std::string bytes = fmt::format("{} of {}", format_bytes(done), format_bytes(total));
  switch (phase) {
    case MergePhase::checking:
      return "checking " + bytes;
    case MergePhase::writing:
      return "merging " + bytes;
    case MergePhase::finishing:
      return "sync";
  }
  return {};
}

std::string report_text(const MergeCommand& command, const MergeReport& report) {
  std::string out =
      fmt::format("{}: {} from {} files, sequence {}\n", printable(command.options.output.string()),
                  format_bytes(report.header.file_bytes), command.options.inputs.size(), report.header.sequence);
  const bool estimated = (report.header.compatible & kEstimatedCounts) != 0;
  out += fmt::format("  {}{} on {}{}\n", estimated ? "about " : "",
                     count_text(distinct_entries(report.header), "distinct entry", "distinct entries"),
                     count_text(report.header.hosts, "host", "hosts"), estimated ? " (estimated)" : "");
  out += predictions_text(report.header, worst_host_of(report.header), true);
  for (const std::string& note : report.notes) out += fmt::format("  {}\n", printable(note));
  return out;
}

}  // namespace

int run_merge(const MergeCommand& command, const Streams& io) {
  MergeReport report;
  Interrupt interrupt;
  MergeOptions options = command.options;
  options.stop = &interrupt.requested();
  say_reading_if_named(options.known_good, "a URL", io);
  const auto result = [&] {
    BuildProgressLine line(io);
    auto like = like_of(command.like);
    if (!like) return Result<void>(unexpected(std::move(like).error()));
    options.like = *std::move(like);
    if (!command.like.empty() && !options.like) {
      return Result<void>(unexpected(Error{Errc::usage, command.like.string(), "is no geometry of `plan`"}));
    }
    return merge(options, report, [&](MergePhase phase, std::uint64_t done, std::uint64_t total) {
      if (phase != MergePhase::checking) interrupt.begin();
      line.show(phase_text(phase, done, total));
    });
  }();
  if (command.json) {
    nlohmann::ordered_json out{{"file", options.output.string()}, {"status", result ? "done" : "refused"}};
    if (!result) out["error"] = to_json(result.error());
    out["notes"] = report.notes;
    out["warnings"] = report.warnings;
    if (result) {
      out["header"] = to_json(report.header, false);
      out["info"] = to_json(report.info);
    }
    print_json_tall(io.out, out);
  } else if (result) {
    io.err << report_text(command, report);
  }
  return finish(result, report.warnings, interrupt, io);
}

}  // namespace bloomwall::filter
