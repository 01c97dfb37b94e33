// build --counting, and emit.
// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "base/units.h"
#include "filter/cli/commands.h"
#include "filter/cli/header_json.h"
#include "filter/cli/progress.h"
#include "filter/cli/terminal.h"
#include "filter/cli/update_text.h"
#include "filter/update/counting.h"

namespace bloomwall::filter {
namespace {

using Json = nlohmann::ordered_json;

// Options of a build that a counting filter has no use for; to ignore them would be to lie.
const char* unfit_option(const BuildOptions& o) {
  if (!o.allow_out.empty()) return "--allow-out";
  if (o.max_shrink) return "--max-shrink";
  if (o.samples) return "--measure";
  if (!o.known_good.empty()) return "--known-good";
  if (o.exact_side) return "--exact-side";
  if (o.expected) return "--entries";
  if (!o.like.empty()) return "--like";
  if (o.force) return "--force";
  if (o.empty) return "--empty";
  if (!o.sources.empty()) return "--sources";
  if (!o.allow_unsupported_of.empty()) return "--allow-unsupported-of";
  if (o.most_unusable != kMostUnusable) return "--max-unusable";
  return nullptr;
}

std::string built_text(const CountingReport& report, const std::filesystem::path& file) {
  return fmt::format("{}: {}, {} entries counted, sequence {}\n  {}\n  {}, predicted\n", printable(file.string()),
                     format_bytes(report.header.file_bytes), format_count(report.added.entry_count()),
                     report.header.sequence, cells_text(report.cells, report.header.marks > 0),
                     worst_error_text(report.header));
}

}  // namespace

int run_build_counting(const BuildCommand& command, const Streams& io) {
  if (const char* const option = unfit_option(command.options)) {
    print_error(io.err, {Errc::usage, option, "does not go with --counting"});
    return kExitError;
  }
  Interrupt interrupt;
  interrupt.begin();
  BuildOptions options = command.options;
  options.stop = &interrupt.requested();
  CountingReport report;
  const auto done = build_counting(options, report);
  interrupt.end();
  if (command.json) {
    Json out{{"file", options.output.string()}, {"status", done ? "done" : "refused"}};
    if (!done) out["error"] = to_json(done.error());
    if (done) out["cells"] = cells_json(report.cells);
    if (done) out["header"] = to_json(report.header, false);
    print_json_tall(io.out, out);
  } else if (!command.quiet || !done) {
    io.err << files_text(report.files) << (done ? built_text(report, options.output) : std::string{});
  }
  for (const std::string& warning : report.warnings)
    io.err << "bloomwall-filter: warning: " << printable(warning) << '\n';
  if (done) return kExitDone;
  print_error(io.err, done.error());
  io.err.flush();
  interrupt.obey();
  return kExitError;
}

int run_emit(const EmitCommand& command, const Streams& io) {
  const auto header = emit_filter({.file = command.file,
                                   .output = command.output,
                                   .file_id = command.file_id,
                                   .created = command.created,
                                   .access = command.access});
  if (!header) {
    if (command.json) print_json_tall(io.out, {{"file", command.output.string()}, {"error", to_json(header.error())}});
    print_error(io.err, header.error());
    return status_of(header.error());
  }
  if (command.json) {
    print_json_tall(io.out, {{"file", command.output.string()}, {"header", to_json(*header, false)}});
    return kExitDone;
  }
  io.out << fmt::format("{}: {}, sequence {}\n", printable(command.output.string()), format_bytes(header->file_bytes),
                        header->sequence);
  return kExitDone;
}

}  // namespace bloomwall::filter
