// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <cstdlib>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>

#include "base/terminal.h"
#include "proxy/check/port_holders.h"
#include "proxy/cli/commands.h"
#include "proxy/reload/loading.h"

namespace bloomwall::proxy {
namespace {

// What systemd tells ExecStopPost= of the main process.
bool start_has_failed() {
  const char* const status = std::getenv("EXIT_STATUS");
  return status != nullptr && std::string_view(status) == std::to_string(kExitError);
}

std::string holder_text(const std::optional<PortHolder>& holder) {
  if (!holder) return "free";
  if (holder->pid == 0) return "held by a process that is not seen from here";
  return fmt::format("{} (process {})", printable(holder->program), holder->pid);
}

// Null: it is free.
nlohmann::ordered_json holder_json(const std::optional<PortHolder>& holder) {
  if (!holder) return {};
  nlohmann::ordered_json json{{"program", nullptr}, {"pid", nullptr}};  // what is not seen from here
  if (holder->pid != 0) json = {{"program", printable(holder->program)}, {"pid", holder->pid}};
  return json;
}

}  // namespace

int run_listeners(const ListenersCommand& command, const Streams& io) {
  if (command.after_failure && !start_has_failed()) return kExitDone;
  const auto settings = load_settings(command.config);
  if (!settings) {
    print_lines(io.err, settings.error().lines);
    return settings.error().status;
  }
  if (!command.after_failure) {
    for (const auto& [key, address, holder] : configured_addresses(*settings)) {
      if (command.json) {
        print_json(io.out, {{"key", key}, {"address", address}, {"holder", holder_json(holder)}});
      } else {
        io.out << fmt::format("{}\t{}\t{}\n", key, address, holder_text(holder));
      }
    }
  }
  const auto taken =
      taken_addresses(*settings, command.after_failure ? HeldBy::other_processes : HeldBy::other_programs);
  print_lines(io.err, taken);
  return taken.empty() ? kExitDone : kExitRefused;
}

}  // namespace bloomwall::proxy
