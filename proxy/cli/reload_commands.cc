// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <chrono>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>

#include "base/terminal.h"
#include "proxy/api/reload_api.h"
#include "proxy/cli/commands.h"
#include "proxy/daemon/upgrade.h"
#include "proxy/reload/loading.h"
#include "proxy/reload/running_socket.h"

namespace bloomwall::proxy {
namespace {

struct Asked {
  std::filesystem::path socket;
  std::string configuration;  // as the running proxy shows its own
};

// Whom to ask, or the exit status. A configuration that this program refuses is the running proxy's to refuse: it
// counts that, and tells whoever watches it. `instead`: what to do without a control socket.
tl::expected<Asked, int> whom_to_ask(const std::filesystem::path& config, std::string_view instead, const Streams& io) {
  std::filesystem::path socket = socket_to_ask(config, {});
  if (socket.empty()) {
    const auto settings = load_settings(config);
    if (!settings) {
      print_lines(io.err, settings.error().lines);
      print_lines(io.err, {"the running proxy was not asked: this program refuses the configuration, and nothing else "
                           "says where the proxy's socket is (--socket)"});
      return tl::unexpected(kExitRefused);
    }
    socket = settings->admin.control_socket;
  }
  if (socket.empty()) {
    print_lines(io.err, {fmt::format("admin.control_socket is null: {}", instead)});
    return tl::unexpected(kExitError);
  }
  return Asked{std::move(socket), printable(configuration_file(config).string())};
}

auto line_by_line(const Streams& io) {
  return [&io](std::string_view line) { io.out << printable(line) << '\n' << std::flush; };
}

}  // namespace

int run_reload(const ReloadCommand& command, const Streams& io) {
  const auto asked = whom_to_ask(command.config, "send SIGHUP instead", io);
  if (!asked) return asked.error();
  const auto answer = ask_to_reload(asked->socket, line_by_line(io));
  if (!answer) {
    print_lines(io.err, {answer.error()});
    return kExitError;
  }
  if (!answer->configuration.empty() && answer->configuration != asked->configuration) {
    print_lines(io.err,
                {fmt::format("process {} answered, which serves {} and not {}: admin.control_socket {} is another's",
                             answer->pid, answer->configuration, asked->configuration, asked->socket.string())});
    return kExitRefused;
  }
  return answer->exit_status == 0 ? kExitDone : kExitRefused;
}

int run_upgrade(const UpgradeCommand& command, const Streams& io) {
  const auto asked = whom_to_ask(command.config, "restart it instead", io);
  if (!asked) return asked.error();
  const nlohmann::ordered_json wanted{{"configuration", asked->configuration}, {"silence", command.silence}};
  const std::string body = wanted.dump();
  const HttpPatience patience{.silence = std::chrono::seconds(command.silence) + std::chrono::minutes(2)};
  const auto answer = ask_and_follow(asked->socket, {"POST", Upgrade::kPath, body}, line_by_line(io), patience);
  if (!answer) {
    print_lines(io.err, {answer.error()});
    return kExitError;
  }
  if (answer->exit_status == 0) return kExitDone;
  print_lines(io.err, {answer->pid == 0 ? "no upgrade: the running process starts or stops"
                                        : fmt::format("no upgrade: process {} serves on", answer->pid)});
  return kExitRefused;
}

}  // namespace bloomwall::proxy
