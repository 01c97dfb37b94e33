// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include "filter/cli/terminal.h"
#include "proxy/ops/commands.h"
#include "proxy/ops/loading.h"
#include "proxy/ops/reload_api.h"

namespace bloomwall::proxy {

int run_reload(const ReloadCommand& command, const Streams& io) {
  const auto settings = load_settings(command.config);
  if (!settings) {
    print_lines(io.err, settings.error().lines);
    print_lines(io.err, {"the running proxy was not asked: it would refuse this configuration"});
    return kExitRefused;
  }
  const auto& socket = settings->admin.control_socket;
  if (socket.empty()) {
    print_lines(io.err, {"admin.control_socket is null: send SIGHUP instead"});
    return kExitError;
  }
  const auto say = [&](std::string_view line) { io.out << filter::printable(line) << '\n' << std::flush; };
  const auto answer = ask_to_reload(socket, say);
  if (!answer) {
    print_lines(io.err, {answer.error()});
    return kExitError;
  }
  const std::string meant = filter::printable(configuration_file(command.config).string());
  if (!answer->configuration.empty() && answer->configuration != meant) {
    print_lines(io.err,
                {fmt::format("process {} answered, which serves {} and not {}: admin.control_socket {} is another's",
                             answer->pid, answer->configuration, meant, socket.string())});
    return kExitRefused;
  }
  return answer->exit_status == 0 ? kExitDone : kExitRefused;
}

}  // namespace bloomwall::proxy
