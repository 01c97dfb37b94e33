// SPDX-License-Identifier: Apache-2.0
#include "filter/cli/slice_commands.h"

#include <fmt/format.h>
#include <sys/resource.h>

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include "base/figures.h"
#include "base/terminal.h"
#include "base/units.h"
#include "filter/cli/build_options.h"
#include "filter/cli/commands.h"
#include "filter/cli/header_json.h"
#include "filter/cli/header_text.h"
#include "filter/cli/parsed_option.h"
#include "filter/cli/progress.h"
#include "filter/file/prediction.h"

namespace bloomwall::filter {
namespace {

using Json = nlohmann::ordered_json;

constexpr const char* kCountFooter =
    R"(The first step of a build in slices: count each slice of the lists, `plan` from all counts, `map` each slice, `reduce` each
part, `assemble`. Slices are numbered from 0; each list belongs to one of them. A slice may be empty.
Exit status: 0 done, 2 refused or failed.)";
constexpr const char* kMapFooter =
    R"(Give the lists and options with which the slice was counted. Where the records do not fit in --ram, some go to --tmp-dir.
Bytes depend on lists, names and options alone: a task that runs twice writes the same file.
Exit status: 0 done, 2 refused or failed.)";
constexpr const char* kReduceFooter =
    R"(Exit status: 0 done, 2 refused or failed, 3 the records of a slice are missing.)";
constexpr const char* kAssembleFooter =
    R"(The filter is that of `build --like` the geometry, of all lists by name, octet for octet if --file-id, --created and
--sequence are the same. Known-good lists must be those of `map`.
Exit status: 0 done, 2 refused or failed, 3 a slice, a part or a list is missing.)";

struct Share {
  std::uint32_t number = 0, of = 0;
};
Result<Share> share_of_whole(std::string_view text) {
  const std::size_t slash = std::min(text.find('/'), text.size());
  const auto number = count_from(text.substr(0, slash));
  const auto of = count_from(slash < text.size() ? text.substr(slash + 1) : std::string_view());
  if (number && of && *of <= kMostSlices && *number < *of)
    return Share{static_cast<std::uint32_t>(*number), static_cast<std::uint32_t>(*of)};
  return unexpected(Error{Errc::usage, {}, fmt::format("'{}' is not I/N, with I from 0 to N - 1", text)});
}

void add_json(CLI::App& app, bool& json) { app.add_flag("--json", json, "the report as JSON on standard output"); }

void add_slice(CLI::App& app, SliceCommand& command) {
  SliceOptions& o = command.options;
  app.add_option("lists", o.build.lists, "lists to read")->type_name("LIST");
  add_parsed(app, "--slice", "I/N", "which of how many slices these lists are, from 0", share_of_whole,
             [&o](Share share) { o.number = share.number, o.of = share.of; })
      ->required();
  add_series_key(app, o.build.identity)->required();
  app.add_option("--sources", o.build.sources,
                 "output of sha256sum for all lists; one that is altered or not named is refused")
      ->type_name("FILE");
  add_reading_options(app, o.build);
  app.add_option("--category", o.build.category, "what the filter stops, for logs and pages")->type_name("NAME");
  add_threads(app, o.build.threads);
  add_access_options(app, o.build.access);
  add_json(app, command.json);
  app.add_flag("-q,--quiet", command.quiet, "no report as text");
}

void add_count(CLI::App& program, int& status, SliceCommand& command, const Streams& io) {
  CLI::App& app = add_command(program, "count", "estimate what a slice of the lists holds, for `plan`", status,
                              [&] { return run_slice(command, io); });
  app.footer(kCountFooter);
  app.add_option("-o,--output", command.options.build.output, "the count (.bwk)")->type_name("FILE")->required();
  add_slice(app, command);
}

void add_map(CLI::App& program, int& status, SliceCommand& command, const Streams& io) {
  CLI::App& app = add_command(program, "map", "write the keys of a slice of the lists, for `reduce`", status,
                              [&] { return run_slice(command, io); });
  SliceOptions& o = command.options;
  app.footer(kMapFooter);
  app.add_option("-o,--output", o.build.output, "the records (.bwr)")->type_name("FILE")->required();
  app.add_option("--like", o.build.like.file, "the geometry that `plan` has made")->type_name("FILE")->required();
  add_slice(app, command);
  app.add_option(
         "--known-good", o.build.known_good,
         "URLs that must not be stopped by mistake, as for `build`; the same for all slices and `assemble`; may "
         "be given several times")
      ->type_name("LIST");
  app.add_flag("--force", o.build.force, "accept more entries than were planned, whatever the error becomes");
  add_parsed(app, "--ram", "BYTES", "memory for keys; default: what is free, less a reserve", bytes_from,
             [&o](std::uint64_t bytes) { o.build.ram_bytes = bytes; });
  app.add_option("--tmp-dir", o.tmp_dir, "where keys go that do not fit in memory; default: beside the output")
      ->type_name("FOLDER");
}

void add_reduce(CLI::App& program, int& status, ReduceCommand& command, const Streams& io) {
  CLI::App& app = add_command(program, "reduce", "make a part of a filter's pages of the records of all slices", status,
                              [&] { return run_reduce(command, io); });
  ReduceOptions& o = command.options;
  app.footer(kReduceFooter);
  app.add_option("-o,--output", o.output, "the part (.bwp)")->type_name("FILE")->required();
  app.add_option("records", o.records, "the records (.bwr) of all slices, in any order")->type_name("FILE")->required();
  add_parsed(app, "--part", "I/N", "which of how many parts, from 0", share_of_whole, [&o](Share share) {
    o.number = share.number, o.of = share.of;
  })->required();
  add_threads(app, o.threads);
  add_access_options(app, o.access);
  add_json(app, command.json);
}

void add_assemble(CLI::App& program, int& status, AssembleCommand& command, const Streams& io) {
  CLI::App& app = add_command(program, "assemble", "make a filter of all parts and slices", status,
                              [&] { return run_assemble(command, io); });
  AssembleOptions& o = command.options;
  app.footer(kAssembleFooter);
  app.add_option("-o,--output", o.output, "the filter file")->type_name("FILE")->required();
  app.add_option("inputs", o.inputs, "all parts (.bwp) and records (.bwr), in any order")
      ->type_name("FILE")
      ->required();
  app.add_option("--like", o.like, "the geometry that `plan` has made")->type_name("FILE")->required();
  add_series_key(app, o.identity)->required();
  add_pins(app, o.identity);
  app.add_option("--category", o.category, "what the filter stops, for logs and pages")->type_name("NAME");
  app.add_option("--sources", o.sources,
                 "output of sha256sum for all lists; one that is missing, altered or given twice is refused")
      ->type_name("FILE");
  app.add_option("--key", o.key, "a private key (PEM) to sign the filter with")->type_name("PRIVATE");
  app.add_option("--known-good", o.known_good, "the lists that `map` had; may be given several times")
      ->type_name("LIST");
  app.add_flag("--allow-unsupported", o.gate.is_open, "go on even if more than 5 % of such a list can't be used");
  add_fpr(app, o.target);
  app.add_flag("--force", o.force, "accept more entries than were planned, whatever the error becomes");
  add_parsed(app, "--measure", "N", "measure the error with N requests; default: as `build` does", count_from,
             [&o](std::uint64_t n) { o.samples = n; });
  add_threads(app, o.threads);
  add_access_options(app, o.access);
  add_json(app, command.json);
}

// A build of a thousand slices has as many files open.
void allow_many_files() {
  rlimit files{};
  if (getrlimit(RLIMIT_NOFILE, &files) != 0 || files.rlim_cur == files.rlim_max) return;
  files.rlim_cur = files.rlim_max;
  setrlimit(RLIMIT_NOFILE, &files);  // else opening says which file was one too many
}

// The end of each command: the report as JSON, warnings, the error, the exit status.
int end(const Result<void>& result, bool is_incomplete, Json* report, const std::vector<std::string>& warnings,
        Interrupt* interrupt, const Streams& io) {
  if (report != nullptr) {
    (*report)["status"] = result ? "done" : is_incomplete ? "incomplete" : "refused";
    if (!result) (*report)["error"] = to_json(result.error());
    (*report)["warnings"] = warnings;
    print_json_tall(io.out, *report);
  }
  for (const std::string& warning : warnings) io.err << "bloomwall-filter: warning: " << printable(warning) << '\n';
  if (!result) print_error(io.err, result.error());
  io.err.flush();
  if (interrupt != nullptr) {
    interrupt->end();
    if (!result) interrupt->obey();
  }
  if (result) return kExitDone;
  return is_incomplete ? kExitIncomplete : kExitError;
}

}  // namespace

Result<std::optional<Header>> like_of(const std::filesystem::path& file) {
  if (file.empty() || !is_geometry(file)) return std::optional<Header>{};
  auto geometry = read_geometry(file);
  if (!geometry) return unexpected(std::move(geometry).error());
  return std::optional<Header>(std::move(geometry->like));
}

void add_plan_of_counts(CLI::App& plan, GeometryOptions& options) {
  plan.add_option("-o,--output", options.output, "write a geometry (.bwg) for these counts")->type_name("FILE");
  plan.add_option("counts", options.counts, "what `count` has written of all slices, in any order")->type_name("FILE");
}

int run_plan_of_counts(const PlanCommand& plan, const GeometryOptions& counted, const Streams& io) {
  allow_many_files();
  GeometryOptions options = counted;
  options.target = plan.request.target;
  GeometryReport report;
  const auto result = plan_geometry(options, report);
  Json out{{"file", options.output.string()}, {"slices", report.slices}};
  if (result) {
    const Header& c = report.counts;
    out["entries"] = distinct_entries(c);
    out["hosts"] = c.hosts;
    out["marks"] = c.marks;
    out["file_bytes"] = report.sizing.file_bytes;
    out["predicted"] = to_json(report.sizing.predicted);
    if (!plan.json) {
      io.err << fmt::format(
          "{}: for about {} distinct entries on {} hosts, and 2 % more, of {}; the filter will have {}\n",
          printable(options.output.string()), format_count(distinct_entries(c)), format_count(c.hosts),
          count_text(report.slices, "slice", "slices"), format_bytes(report.sizing.file_bytes));
    }
  }
  const int status = end(result, report.is_incomplete, plan.json ? &out : nullptr, {}, nullptr, io);
  return !result && result.error().code == Errc::unmet_target ? kExitListed : status;
}

int run_slice(const SliceCommand& command, const Streams& io) {
  BuildReport report;
  Interrupt interrupt;
  SliceOptions options = command.options;
  options.build.stop = &interrupt.requested();
  say_reading_if_named(options.build.lists, options.build.raw ? "a key" : "an entry", io);
  const auto result = [&] {
    BuildProgressLine line(io);
    return write_slice(options, report, [&](const BuildProgress& progress) {
      if (progress.phase != BuildPhase::reading) interrupt.begin();
      line.show(progress);
    });
  }();
  const std::string output = options.build.output.string();
  Json out{{"file", output}, {"slice", options.number}, {"of", options.of}};
  out["entries"] = report.summary.total();
  out["bytes"] = report.header.file_bytes;
  out["files"] = Json::array();
  for (const IngestedFile& file : report.files) out["files"].push_back(to_json(file));
  if (!command.json && (!command.quiet || (!result && result.error().code == Errc::bad_syntax))) {
    for (const IngestedFile& file : report.files) {
      if (!file.raw) io.err << text_of(file.report);
    }
    if (result) {
      io.err << fmt::format("{}: {}, slice {} of {}; about {} on {}\n", printable(output),
                            format_bytes(report.header.file_bytes), options.number, options.of,
                            count_text(report.summary.total(), "distinct entry", "distinct entries"),
                            count_text(report.summary.hosts, "host", "hosts"));
    }
  }
  return end(result, false, command.json ? &out : nullptr, report.warnings, &interrupt, io);
}

int run_reduce(const ReduceCommand& command, const Streams& io) {
  allow_many_files();
  ReduceReport report;
  Interrupt interrupt;
  ReduceOptions options = command.options;
  options.stop = &interrupt.requested();
  const auto result = [&] {
    BuildProgressLine line(io);
    interrupt.begin();
    return reduce(options, report, [&](std::uint64_t done, std::uint64_t total) {
      line.show(fmt::format("{} of {} leaves", done, total));
    });
  }();
  Json out{{"file", options.output.string()}, {"part", options.number}, {"of", options.of}};
  out["leaves"] = report.leaves;
  out["records"] = report.records;
  out["bytes"] = report.file_bytes;
  if (result && !command.json) {
    io.err << fmt::format("{}: {}, part {} of {}; {} records in {}\n", printable(options.output.string()),
                          format_bytes(report.file_bytes), options.number, options.of, format_count(report.records),
                          count_text(report.leaves, "leaf", "leaves"));
  }
  return end(result, report.is_incomplete, command.json ? &out : nullptr, {}, &interrupt, io);
}

int run_assemble(const AssembleCommand& command, const Streams& io) {
  allow_many_files();
  AssembleReport report;
  Interrupt interrupt;
  AssembleOptions options = command.options;
  options.stop = &interrupt.requested();
  const auto result = [&] {
    BuildProgressLine line(io);
    return assemble(options, report, [&](MergePhase phase, std::uint64_t done, std::uint64_t total) {
      interrupt.begin();
      line.show(phase == MergePhase::finishing ? "sync"
                                               : fmt::format("{} of {}", format_bytes(done), format_bytes(total)));
    });
  }();
  Json out{{"file", options.output.string()}, {"slices", report.slices}, {"parts", report.parts}};
  out["notes"] = report.notes;
  if (result) {
    out["header"] = to_json(report.header, false);
    out["info"] = to_json(report.info);
    if (!command.json) {
      io.err << fmt::format("{}: {} from {} and {}, sequence {}\n  about {} on {}\n",
                            printable(options.output.string()), format_bytes(report.header.file_bytes),
                            count_text(report.slices, "slice", "slices"), count_text(report.parts, "part", "parts"),
                            report.header.sequence,
                            count_text(distinct_entries(report.header), "distinct entry", "distinct entries"),
                            count_text(report.header.hosts, "host", "hosts"));
      for (const std::string& note : report.notes) io.err << "  " << printable(note) << '\n';
    }
  }
  return end(result, report.is_incomplete, command.json ? &out : nullptr, report.warnings, &interrupt, io);
}

void add_slice_commands(CLI::App& program, int& status, SliceCommands& commands, const Streams& io) {
  add_count(program, status, commands.count, io);
  add_map(program, status, commands.map, io);
  add_reduce(program, status, commands.reduce, io);
  add_assemble(program, status, commands.assemble, io);
}

}  // namespace bloomwall::filter
