// SPDX-License-Identifier: Apache-2.0
#include "proxy/ops/command_line.h"

namespace bloomwall::proxy {
namespace {

constexpr const char* kUpdateFooter =
    "Without names those lists are asked for that are due (filters[].sources[].every); with names those of these "
    "filters "
    "at once.\nA list that fails, or that a guard refuses, is kept as it was, and so is a filter that a guard refuses. "
    "As "
    "root it works as\nthe user whom update.folder belongs to. The running proxy notes --force in its audit; where "
    "none "
    "does, stderr says so.\nExit status: 0 all is well; 1 something failed or was refused, which is named; 2 nothing "
    "could be done.";

}  // namespace

void add_update(CLI::App& app, UpdateCommand& command, int& status, const Streams& io) {
  CLI::App* const sub = add_command(app, "update", "Fetches lists, and builds the filters that are made of them.",
                                    command, status, io, run_update_command);
  sub->add_option("NAME", command.names, "filters; with --add names of lists in the catalogue");
  CLI::Option* const adds = sub->add_flag("--add", command.add, "make a filter of each NAME of the catalogue");
  CLI::Option* const shows = sub->add_flag("--catalogue", command.catalogue, "show the lists that --add knows");
  CLI::Option* const force = sub->add_flag("--force", command.force, "ask at once, and overrule guards");
  sub->add_option("--why", command.why, "of --force: a reason, for the audit")->needs(force);
  CLI::Option* const missing = sub->add_flag("--missing", command.missing, "only filters that have no file yet");
  CLI::Option* const loop = sub->add_flag("--loop", command.loop, "go on, for containers without a timer");
  sub->add_flag("--json", command.json, "what is known of the lists afterwards, as JSON");
  adds->excludes(shows)->excludes(missing)->excludes(loop);
  shows->excludes(force)->excludes(missing)->excludes(loop);
  missing->excludes(loop);
  sub->footer(kUpdateFooter);
}

}  // namespace bloomwall::proxy
