// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "base/units.h"
#include "filter/builder/build_checks.h"
#include "filter/cli/commands.h"
#include "filter/cli/header_json.h"
#include "filter/cli/progress.h"
#include "filter/cli/terminal.h"

namespace bloomwall::filter {
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
  const PredictedErrors& p = report.header.predicted;
  std::string out =
      fmt::format("{}: {} from {} files, sequence {}\n", printable(command.options.output.string()),
                  format_bytes(report.header.file_bytes), command.options.inputs.size(), report.header.sequence);
  const bool estimated = (report.header.compatible & kEstimatedCounts) != 0;
  out += fmt::format("  {}{} distinct entries on {} hosts{}\n", estimated ? "about " : "",
                     format_count(distinct_entries(report.header)), format_count(report.header.hosts),
                     estimated ? " (estimated)" : "");
  out += fmt::format("  error of a request at p99, predicted: {}\n", format_rate(worst_error(p)));
  out += fmt::format("  error of a request, measured: {}\n", measured_text(report.header));
  for (const std::string& note : report.notes) out += fmt::format("  {}\n", printable(note));
  return out;
}

}  // namespace

int run_merge(const MergeCommand& command, const Streams& io) {
  MergeReport report;
  Interrupt interrupt;
  MergeOptions options = command.options;
  options.stop = &interrupt.requested();
  const auto result = [&] {
    BuildProgressLine line(io);
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
  for (const std::string& warning : report.warnings)
    io.err << "bloomwall-filter: warning: " << printable(warning) << '\n';
  if (!result) print_error(io.err, result.error());
  io.err.flush();
  interrupt.end();
  if (!result) interrupt.obey();
  return result ? kExitDone : kExitError;
}

}  // namespace bloomwall::filter
