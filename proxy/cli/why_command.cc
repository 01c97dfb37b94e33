// SPDX-License-Identifier: Apache-2.0
#include <nlohmann/json.hpp>

#include "base/terminal.h"
#include "proxy/cli/commands.h"
#include "proxy/explain/policy_of_files.h"
#include "proxy/explain/why.h"
#include "proxy/reload/loading.h"

namespace bloomwall::proxy {

int run_why(const WhyCommand& command, const Streams& io) {
  const auto settings = load_settings(command.config);
  if (!settings) {
    print_lines(io.err, settings.error().lines);
    return settings.error().status;
  }
  const auto policy = load_policy_of_files(*settings, io.err);
  if (!policy) {
    print_lines(io.err, policy.error().lines);
    return policy.error().status;
  }
  const WhyAnswer answer =
      why(**policy, *settings, {.url = command.url, .lists = command.lists, .filter = command.filter, .stop = {}});
  if (print_damage(**policy, io.err)) return kExitError;
  if (command.json) {
    print_json(io.out, to_json(answer));
  } else {
    io.out << why_text(answer);
  }
  print_lines(io.err, answer.errors);
  return is_explained(answer) && answer.errors.empty() ? kExitDone : kExitRefused;
}

}  // namespace bloomwall::proxy
