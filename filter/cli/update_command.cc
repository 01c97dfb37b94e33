// The commands that change files or sign them: their command lines, `update` of a delta or a counting filter, `build
// --counting` and `emit`. key_commands.cc has `keygen` and `sign`.
// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include <optional>

#include "base/encoding.h"
#include "base/figures.h"
#include "base/terminal.h"
#include "base/units.h"
#include "filter/cli/commands.h"
#include "filter/cli/header_json.h"
#include "filter/cli/header_text.h"
#include "filter/cli/parsed_option.h"
#include "filter/cli/progress.h"
#include "filter/file/header.h"
#include "filter/update/counting.h"
#include "filter/update/update_delta.h"

namespace bloomwall::filter {

namespace {

constexpr const char* kKeygenFooter =
    R"(The private key gets mode 0600 and is never overwritten. The public one goes to filters[].public_key of every proxy;
a file may hold several, one after the other, any of which may then have signed.
Exit status: 0 done, 2 error.)";
constexpr const char* kSignFooter =
    R"(FILE is a filter file or a delta. Every byte is checked first; the result is a new file that takes the old one's
place, so that no process that has the old one mapped sees a change. A file holds at most 72 signatures.
Exit status: 0 done, 1 corrupt, 2 error.)";
constexpr const char* kUpdateFooter =
    R"(Lists may have any format that `build` takes. Removals come first, then additions: what both name is added.
A filter (.bwf) is not changed; its delta is written, as a whole or not at all, and keeps what it said before: the last
word about an entry counts. Removing a host leaves the entries under it. The proxy reads the delta on reload.
For ranges of addresses (1.10.16.0/20) the last word about each address counts: a part of a range can be removed. Removing
an address removes it as a host and from the ranges, and adding it again restores both. Removing a range removes the
addresses in it that were added one by one; of up to 256 addresses those that the filter lists as hosts, too. A counting
filter holds no ranges.
What added lists except (@@||host^) frees what the filter stops, as after `build`, and stands beside the delta
(FILE.allow) or the counting filter; what removed lists except leaves it.
A counting filter (.bwc) is replaced by a changed copy. What was added twice must be removed twice. It does not know
whether an entry was ever added; removing one that was not takes others away, hence --force. `emit` makes the filter.
Exit status: 0 done, 1 refused or corrupt, 2 error.)";
constexpr const char* kEmitFooter =
    R"(The filter has the series and sequence of the counting filter, and a file id for each sequence: emitting twice gives
the same bytes. A delta of the filter that it replaces must be made again. The filter is not checked for its entries, as
after a build: the counting filter does not know them.
Exit status: 0 done, 1 refused or corrupt, 2 error.)";

void add_list_options(CLI::App& app, ChangeLists& lists) {
  app.add_option("--add", lists.add, "a list of entries to add, - for stdin; may be given several times")
      ->type_name("LIST");
  app.add_option("--remove", lists.remove, "a list of entries to remove, - for stdin; may be given several times")
      ->type_name("LIST");
  add_read_options(app, lists.read, lists.raw);
  app.add_flag("--allow-unsupported", lists.allow_unsupported, "accept lists of which more than 5 % can't be used");
}

void add_update(CLI::App& program, int& status, UpdateCommand& command, const Streams& io) {
  CLI::App& app = *program.add_subcommand("update", "add and remove entries without a rebuild");
  app.final_callback([&] { status = run_update(command, io); });
  app.add_option("file", command.file, "a filter file, or a counting filter")->type_name("FILE")->required();
  app.add_option("--delta", command.delta, "the delta of that filter; made if it does not exist")->type_name("FILE");
  add_list_options(app, command.lists);
  app.add_flag(
      "--rebase", command.rebase,
      "take over a delta of another build of the filter: its additions are kept, its removals dropped; makes an "
      "empty delta if none exists");
  app.add_option("--key", command.key,
                 "a private key to sign the delta with; an existing delta must bear its signature already")
      ->type_name("PRIVATE");
  app.add_flag("--take-unsigned", command.take_unsigned,
               "with --key: sign an existing delta that bears no valid signature of that key, whoever wrote it");
  add_rebuild_at(app, command.rebuild_at);
  add_access_options(app, command.access);
  app.add_flag("--force", command.force, "counting filter: remove even though it may take other entries away");
  add_parsed(app, "--created", "SECONDS", "counting filter: time of making, since 1970; default: now", count_from,
             [&command](std::uint64_t time) { command.created = time; });
  app.add_option("--threads", command.threads, "counting filter: default one a processor")
      ->check(CLI::Range(1, 1024))
      ->type_name("N");
  app.add_flag("--json", command.json, "the report as JSON on standard output");
  app.add_flag("-q,--quiet", command.quiet, "no report as text");
  app.footer(kUpdateFooter);
}

void add_emit(CLI::App& program, int& status, EmitCommand& command, const Streams& io) {
  CLI::App& app = *program.add_subcommand("emit", "make the filter file of a counting filter");
  app.final_callback([&] { status = run_emit(command, io); });
  app.add_option("file", command.file, "the counting filter")->type_name("FILE")->required();
  app.add_option("-o,--output", command.output, "the filter file")->type_name("FILE")->required();
  add_parsed(app, "--file-id", "HEX", "32 hex digits; default: made of the counting filter's id and sequence",
             file_id_from, [&command](FileId id) { command.file_id = id; });
  add_parsed(app, "--created", "SECONDS", "time of making, since 1970; default: that of the counting filter",
             count_from, [&command](std::uint64_t time) { command.created = time; });
  add_access_options(app, command.access);
  app.add_flag("--json", command.json, "the header as JSON");
  app.footer(kEmitFooter);
}

void add_keygen(CLI::App& program, int& status, KeygenCommand& command, const Streams& io) {
  CLI::App& app = *program.add_subcommand("keygen", "make a pair of keys for signing filters and deltas");
  app.final_callback([&] { status = run_keygen(command, io); });
  app.add_option("private", command.private_file, "the private key")->type_name("FILE")->required();
  app.add_option("public", command.public_file, "the public key; default: the private key's name with .pub")
      ->type_name("FILE");
  app.footer(kKeygenFooter);
}

void add_sign(CLI::App& program, int& status, SignCommand& command, const Streams& io) {
  CLI::App& app = *program.add_subcommand("sign", "sign a filter file or a delta");
  app.final_callback([&] { status = run_sign(command, io); });
  app.add_option("file", command.file, "the filter file or delta")->type_name("FILE")->required();
  app.add_option("--key", command.key, "the private key, as keygen makes it")->type_name("PRIVATE")->required();
  app.add_option("-o,--output", command.output, "the signed file; default: replace FILE")->type_name("FILE");
  add_access_options(app, command.access);
  app.footer(kSignFooter);
}

}  // namespace

void add_update_commands(CLI::App& program, int& status, UpdateCommands& commands, const Streams& io) {
  add_keygen(program, status, commands.keygen, io);
  add_sign(program, status, commands.sign, io);
  add_update(program, status, commands.update, io);
  add_emit(program, status, commands.emit, io);
}

namespace {

using Json = nlohmann::ordered_json;

int fail(const std::vector<Error>& errors, bool json, const std::filesystem::path& file, const Streams& io) {
  if (json)
    print_json_tall(io.out, {{"file", file.string()}, {"status", "refused"}, {"error", to_json(errors.front())}});
  for (const Error& error : errors) print_error(io.err, error);
  const Errc code = errors.front().code;
  return code == Errc::wrong_base || code == Errc::limit ? kExitListed : status_of(errors.front());
}

std::string notes_text(const std::vector<std::string>& notes) {
  std::string out;
  for (const std::string& note : notes) out += "  " + printable(note) + '\n';
  return out;
}

int delta_refused(const UpdateCommand& command, std::string what, const Streams& io) {
  return fail({{Errc::usage, command.file.string(), std::move(what)}}, command.json, command.file, io);
}

int update_delta_file(const UpdateCommand& command, const Streams& io) {
  if (command.delta.empty())
    return delta_refused(command, "a filter is changed by a delta beside it: name it with --delta", io);
  if (command.force) return delta_refused(command, "--force is for counting filters", io);
  if (command.take_unsigned && command.key.empty()) return delta_refused(command, "--take-unsigned needs --key", io);
  std::optional<SigningKey> key;
  if (!command.key.empty()) {
    auto read = SigningKey::read(command.key);
    if (!read) return fail({{Errc::usage, read.error().where, read.error().what}}, command.json, command.file, io);
    key.emplace(*std::move(read));
  }
  DeltaUpdateReport report;
  const DeltaUpdate update{.filter = command.file,
                           .delta = command.delta,
                           .lists = command.lists,
                           .rebase = command.rebase,
                           .key = key ? &*key : nullptr,
                           .take_unsigned = command.take_unsigned,
                           .access = command.access};
  const auto errors = update_delta(update, report);
  if (!command.quiet && !command.json) io.err << files_text(report.files);
  if (!errors.empty()) return fail(errors, command.json, command.file, io);
  if (report.was_signed && !key) {
    io.err << "bloomwall-filter: warning: " << printable(command.delta.string())
           << ": was signed and is not any more; sign it again, or update it with --key\n";
  }
  if (report.dropped != 0 && !command.quiet) {
    io.err << "bloomwall-filter: warning: " << printable(command.delta.string()) << ": " << format_count(report.dropped)
           << " removals were left behind; name what is still not to be stopped with --remove\n";
  }
  if (report.exceptions_unsigned != 0 && !command.quiet) {
    io.err << "bloomwall-filter: warning: " << printable(command.delta.string()) << ": "
           << count_text(report.exceptions_unsigned, "exception", "exceptions")
           << " of the lists left out: beside a signed delta they don't count\n";
  }
  const DeltaSize size{.adds = report.added, .removes = report.removed, .rebuild_at = command.rebuild_at};
  if (command.json) {
    Json out{{"file", command.delta.string()}, {"status", "done"},
             {"changed", report.changed},      {"dropped", report.dropped},
             {"not_there", report.not_there},  {"exceptions", report.exceptions.rules.size()}};
    out["delta"] = delta_json(size, report.filter);
    out["signed_by"] = key ? Json(to_hex(key->id())) : Json();
    print_json_tall(io.out, out);
  } else if (!command.quiet) {
    io.err << fmt::format("{}: {} changed, {} of what is not in the filter left out\n  {}\n  error of a request: {}\n",
                          printable(command.delta.string()), count_text(report.changed, "entry", "entries"),
                          count_text(report.not_there, "removal", "removals"), delta_text(size, report.filter),
                          error_now_text(report.filter))
           << notes_text(notes_of(report.exceptions));
  }
  return kExitDone;
}

Json tally_json(const CellTally& tally) {
  return {{"entries", tally.entry_count()}, {"not_there", tally.not_there + tally.no_section}};
}

std::string counting_text(const CountingUpdateReport& report, const std::filesystem::path& file) {
  return fmt::format("{}: {} added, {} removed, {} removals of what is not there left out; sequence {}\n  {}\n  {}\n",
                     printable(file.string()), format_count(report.added.entry_count()),
                     format_count(report.removed.entry_count()),
                     format_count(report.removed.not_there + report.removed.no_section), report.header.sequence,
                     cells_text(report.cells, report.header.marks > 0), worst_error_text(report.header));
}

int update_counting_file(const UpdateCommand& command, const Streams& io) {
  if (!command.delta.empty() || !command.key.empty() || command.take_unsigned || command.rebase) {
    return delta_refused(command, "is a counting filter: it has no delta and is not signed", io);
  }
  Interrupt interrupt;
  interrupt.begin();
  CountingUpdateReport report;
  const auto done = update_counting({.file = command.file,
                                     .lists = command.lists,
                                     .force = command.force,
                                     .created = command.created,
                                     .access = command.access,
                                     .threads = command.threads,
                                     .stop = &interrupt.requested()},
                                    report);
  interrupt.end();
  if (!command.quiet && !command.json) io.err << files_text(report.files);
  if (!done) {
    const int status = fail({done.error()}, command.json, command.file, io);
    io.err.flush();
    interrupt.obey();
    return status;
  }
  if (command.json) {
    Json out{{"file", command.file.string()}, {"status", "done"}};
    out["added"] = tally_json(report.added);
    out["removed"] = tally_json(report.removed);
    out["exceptions"] = report.exceptions.rules.size();
    out["cells"] = cells_json(report.cells);
    out["header"] = to_json(report.header, false);
    print_json_tall(io.out, out);
  } else if (!command.quiet) {
    io.err << counting_text(report, command.file) << notes_text(notes_of(report.exceptions));
  }
  return kExitDone;
}

}  // namespace

int run_update(const UpdateCommand& command, const Streams& io) {
  say_reading_if_named(command.lists.add, "an entry to add", io);
  say_reading_if_named(command.lists.remove, "an entry to remove", io);
  const auto kind = file_kind(command.file);
  if (!kind) return fail({kind.error()}, command.json, command.file, io);
  return *kind == FileKind::counting ? update_counting_file(command, io) : update_delta_file(command, io);
}

// build --counting, and emit.

namespace {

using Json = nlohmann::ordered_json;

// Options of a build that a counting filter has no use for; to ignore them would be to lie.
const char* unfit_option(const BuildOptions& o) {
  if (!o.allow_out.empty()) return "--allow-out";
  if (!o.report_marks.empty()) return "--report-marks";
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
  return fmt::format("{}: {}, {} counted, sequence {}\n  {}\n  {}, predicted\n", printable(file.string()),
                     format_bytes(report.header.file_bytes), count_text(report.added.entry_count(), "entry", "entries"),
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
  say_reading_if_named(options.lists, "an entry", io);
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
    if (done) io.err << notes_text(notes_of(report.exceptions));
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
