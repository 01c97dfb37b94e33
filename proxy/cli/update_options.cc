// SPDX-License-Identifier: Apache-2.0
#include <string>

#include "base/text.h"
#include "proxy/cli/command_line.h"
#include "proxy/cli/footers.h"

namespace bloomwall::proxy {
void add_update(CLI::App& app, UpdateCommand& command, int& status, const Streams& io) {
  CLI::App* const sub = add_asking_command(app, "update", "Fetches lists, and builds filters from them.", command,
                                           status, io, run_update_command);
  sub->add_option("NAME", command.names, "filters; with --add lists of the catalogue");
  CLI::Option* const adds = sub->add_flag("--add", command.add, "make a filter of each catalogue list NAME");
  sub->add_flag("--refuse-exceptions", command.refuse_exceptions,
                "with --add: `allow` and `pause` cannot open what they block")
      ->needs(adds);
  CLI::Option* const shows = sub->add_flag("--catalogue", command.catalogue, "show the lists that --add knows");
  CLI::Option* const force = sub->add_flag("--force", command.force, "fetch at once, and overrule guards; needs --why");
  CLI::Option* const why = sub->add_option("--why", command.why, "with --force: the reason, for the audit");
  why->needs(force)->check([](const std::string& text) { return trim(text).empty() ? "a text is needed" : ""; });
  force->needs(why);
  CLI::Option* const missing = sub->add_flag("--missing", command.missing, "only filters that have no file yet");
  CLI::Option* const loop = sub->add_flag("--loop", command.loop, "keep running, for containers without a timer");
  sub->add_flag("--json", command.json, "print the state of the lists afterwards, as JSON");
  adds->excludes(shows)->excludes(missing)->excludes(loop);
  shows->excludes(force)->excludes(missing)->excludes(loop);
  missing->excludes(loop);
  sub->footer(kUpdateFooter);
}

}  // namespace bloomwall::proxy
