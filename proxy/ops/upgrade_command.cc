// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <chrono>
#include <nlohmann/json.hpp>
#include <string>

#include "filter/cli/terminal.h"
#include "proxy/ops/commands.h"
#include "proxy/ops/loading.h"
#include "proxy/ops/reload_api.h"
#include "proxy/ops/upgrade.h"

namespace bloomwall::proxy {

int run_upgrade(const UpgradeCommand& command, const Streams& io) {
  const auto settings = load_settings(command.config);
  if (!settings) {
    print_lines(io.err, settings.error().lines);
    print_lines(io.err, {"the running proxy was not asked: this program would refuse its configuration"});
    return kExitRefused;
  }
  const auto& socket = settings->admin.control_socket;
  if (socket.empty()) {
    print_lines(io.err, {"admin.control_socket is null: restart it instead"});
    return kExitError;
  }
  const nlohmann::ordered_json wanted{{"configuration", filter::printable(configuration_file(command.config).string())},
                                      {"silence", command.silence}};
  const std::string body = wanted.dump();
  const HttpPatience patience{.silence = std::chrono::seconds(command.silence) + std::chrono::minutes(2)};
  const auto say = [&](std::string_view line) { io.out << filter::printable(line) << '\n' << std::flush; };
  const auto answer = ask_and_follow(socket, {"POST", Upgrade::kPath, body}, say, patience);
  if (!answer) {
    print_lines(io.err, {answer.error()});
    return kExitError;
  }
  if (answer->exit_status == 0) return kExitDone;
  print_lines(io.err, {fmt::format("no upgrade: process {} serves on", answer->pid)});
  return kExitRefused;
}

}  // namespace bloomwall::proxy
