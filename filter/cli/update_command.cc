// update, of a delta or a counting filter.
// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <optional>

#include "filter/builder/quantity.h"
#include "filter/cli/header_json.h"
#include "filter/cli/interrupt.h"
#include "filter/cli/text.h"
#include "filter/cli/update_commands.h"
#include "filter/cli/update_text.h"
#include "filter/file/header.h"
#include "filter/update/counting.h"
#include "filter/update/update_delta.h"

namespace bloomwall::filter {
namespace {

using Json = nlohmann::ordered_json;

int fail(const std::vector<Error>& errors, bool json, const std::filesystem::path& file, const Streams& io) {
  if (json)
    print_json_tall(io.out, {{"file", file.string()}, {"status", "refused"}, {"error", to_json(errors.front())}});
  for (const Error& error : errors) print_error(io.err, error);
  const Errc code = errors.front().code;
  return code == Errc::wrong_base || code == Errc::limit ? kExitListed : status_of(errors.front());
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
  const DeltaSize size{.adds = report.added, .removes = report.removed, .rebuild_at = command.rebuild_at};
  if (command.json) {
    Json out{{"file", command.delta.string()},
             {"status", "done"},
             {"changed", report.changed},
             {"dropped", report.dropped},
             {"not_there", report.not_there}};
    out["delta"] = delta_json(size, report.filter);
    out["signed_by"] = key ? Json(to_hex(key->id())) : Json();
    print_json_tall(io.out, out);
  } else if (!command.quiet) {
    io.err << fmt::format(
        "{}: {} entries changed, {} removals of what is not in the filter left out\n  {}\n  error of a request: {}\n",
        printable(command.delta.string()), format_count(report.changed), format_count(report.not_there),
        delta_text(size, report.filter), error_now_text(report.filter));
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
    out["cells"] = cells_json(report.cells);
    out["header"] = to_json(report.header, false);
    print_json_tall(io.out, out);
  } else if (!command.quiet) {
    io.err << counting_text(report, command.file);
  }
  return kExitDone;
}

}  // namespace

int run_update(const UpdateCommand& command, const Streams& io) {
  const auto kind = file_kind(command.file);
  if (!kind) return fail({kind.error()}, command.json, command.file, io);
  return *kind == FileKind::counting ? update_counting_file(command, io) : update_delta_file(command, io);
}

}  // namespace bloomwall::filter
