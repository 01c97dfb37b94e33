// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include "filter/cli/text.h"
#include "proxy/ops/commands.h"
#include "proxy/ops/control_client.h"
#include "proxy/ops/loading.h"

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
  Answerer who;
  const auto say = [&](std::string_view line) { io.out << filter::printable(line) << '\n' << std::flush; };
  const auto status = ask(socket, "reload", say, &who);
  if (!status) {
    print_lines(io.err, {status.error()});
    return kExitError;
  }
  const std::string meant = configuration_file(command.config).string();
  if (!who.configuration.empty() && who.configuration != meant) {
    print_lines(io.err,
                {fmt::format("process {} answered, which serves {} and not {}: admin.control_socket {} is another's",
                             who.pid, who.configuration, meant, socket.string())});
    return kExitRefused;
  }
  return *status == 0 ? kExitDone : kExitRefused;
}

}  // namespace bloomwall::proxy
