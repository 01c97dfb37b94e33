// What the command lines of `bloomwall` have in common. Those of one subject have a file of their own.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <CLI/CLI.hpp>
#include <string>

#include "conf/config.h"
#include "proxy/cli/commands.h"
#include "proxy/reload/running_socket.h"

namespace bloomwall::proxy {

// A subcommand with --config; its run function is called once the line is parsed.
template <typename Command>
CLI::App* add_command(CLI::App& app, const char* name, const char* what, Command& command, int& status,
                      const Streams& io, int (*run)(const Command&, const Streams&)) {
  CLI::App* sub = app.add_subcommand(name, what);
  sub->add_option("--config", command.config,
                  std::string("configuration; default ") + conf::kDefaultConfigFile + ", else the built-in defaults")
      ->type_name("FILE");
  sub->callback([&command, &status, &io, run] { status = run(command, io); });
  return sub;
}
// Likewise of a command that asks the running proxy.
template <typename Command>
CLI::App* add_asking_command(CLI::App& app, const char* name, const char* what, Command& command, int& status,
                             const Streams& io, int (*run)(const Command&, const Streams&)) {
  CLI::App* sub = add_command(app, name, what, command, status, io, run);
  sub->add_option("--socket", socket_option(),
                  "the running proxy's control socket; default: the one that it says, else admin.control_socket")
      ->type_name("PATH");
  return sub;
}

// What the command lines of `run`, `reload`, `upgrade`, `health`, `doctor`, `listeners` and `answer` fill in.
struct ServiceCommands {
  ServeCommand serve;
  ReloadCommand reload;
  UpgradeCommand upgrade;
  HealthCommand health;
  DoctorCommand doctor;
  ListenersCommand listeners;
  AnswerCommand answer;

  void add_run(CLI::App& app, int& status, const Streams& io);
  void add_others(CLI::App& app, int& status, const Streams& io);

 private:
  void add_answer(CLI::App& app, int& status, const Streams& io);
};
void add_update(CLI::App& app, UpdateCommand& command, int& status, const Streams& io);

// Likewise of `env`.
struct EnvCommands {
  EnvCommand environment;

  void add(CLI::App& app, int& status, const Streams& io);
};

}  // namespace bloomwall::proxy
