// SPDX-License-Identifier: Apache-2.0
#include "proxy/ops/command_line.h"

namespace bloomwall::proxy {
namespace {

constexpr const char* kRunFooter =
    "Signals: SIGHUP reloads all that can change without new listeners and reopens logs; SIGUSR1 reopens logs;\n"
    "SIGTERM announces the end and drains (timeouts.announce, .drain), a second one stops now; SIGINT stops now.";
constexpr const char* kReloadFooter =
    "Exit status: 0 the new files are served; 1 they were refused, and the old ones are served on; 2 nobody to ask.";
constexpr const char* kHealthFooter =
    "Asked of the running proxy, over admin.control_socket, for at most 5 s. Exit status: 0 it serves; 1 it starts or "
    "stops, or\na filter is lost; 2 nobody to ask.";
constexpr const char* kListenersFooter =
    "One line each: key, address, and free or the program that listens there. Only root sees the programs of others.\n"
    "Exit status: 0 done; 1 another program is seen to hold one of them.";

}  // namespace

void ServiceCommands::add_run(CLI::App& app, int& status, const Streams& io) {
  add_command(app, "run", "The proxy, in the foreground.", serve, status, io, run_serve)->footer(kRunFooter);
}

void ServiceCommands::add_others(CLI::App& app, int& status, const Streams& io) {
  add_command(app, "reload", "Asks the running proxy to reload; waits; says what happened.", reload, status, io,
              run_reload)
      ->footer(kReloadFooter);
  add_command(app, "health", "Whether the running proxy serves.", health, status, io, run_health)
      ->footer(kHealthFooter);
  CLI::App* const ports = add_command(app, "listeners", "Which program has the address of each listener.", listeners,
                                      status, io, run_listeners);
  ports->footer(kListenersFooter);
  ports->add_flag("--after-failure", listeners.after_failure, "for ExecStopPost= of systemd")->group("");
}

}  // namespace bloomwall::proxy
