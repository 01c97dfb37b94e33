// SPDX-License-Identifier: Apache-2.0
#include "proxy/cli/command_line.h"
#include "proxy/cli/footers.h"

namespace bloomwall::proxy {

void ServiceCommands::add_run(CLI::App& app, int& status, const Streams& io) {
  add_command(app, "run", "The proxy, in the foreground.", serve, status, io, run_serve)->footer(kRunFooter);
}

void ServiceCommands::add_others(CLI::App& app, int& status, const Streams& io) {
  add_command(app, "reload", "Has the running proxy reload, and reports the outcome.", reload, status, io, run_reload)
      ->footer(kReloadFooter);
  CLI::App* const upgrade_app = add_command(app, "upgrade", "Has the installed program take over from the running one.",
                                            upgrade, status, io, run_upgrade);
  upgrade_app
      ->add_option("--silence", upgrade.silence, "how long the new process may stay silent while it loads; default 60")
      ->check(CLI::Range(1, 3600))
      ->type_name("SECONDS");
  upgrade_app->footer(kUpgradeFooter);
  add_command(app, "health", "Whether the running proxy serves.", health, status, io, run_health)
      ->footer(kHealthFooter);
  CLI::App* const ports = add_command(app, "listeners", "Which program holds the address of each listener.", listeners,
                                      status, io, run_listeners);
  ports->footer(kListenersFooter);
  ports->add_flag("--after-failure", listeners.after_failure, "for ExecStopPost= of systemd")->group("");
}

}  // namespace bloomwall::proxy
