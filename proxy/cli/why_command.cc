// SPDX-License-Identifier: Apache-2.0
#include <nlohmann/json.hpp>

#include "base/terminal.h"
#include "proxy/cli/commands.h"
#include "proxy/explain/policy_of_files.h"
#include "proxy/explain/under_name.h"
#include "proxy/explain/why.h"
#include "proxy/reload/loading.h"

namespace bloomwall::proxy {

int run_why(const WhyCommand& command, const Streams& io) {
  const auto settings = load_settings(command.config);
  if (!settings) {
    print_lines(io.err, settings.error().lines);
    return settings.error().status;
  }
  if (const auto wrong = wrong_name_of(command.under)) {
    print_lines(io.err, {"--under " + *wrong});
    return kExitError;
  }
  const auto policy = load_policy_of_files(*settings, io.err);
  if (!policy) {
    print_lines(io.err, policy.error().lines);
    return policy.error().status;
  }
  const WhyAnswer answer =
      why(**policy, *settings,
          {.url = command.url, .lists = command.lists, .filter = command.filter, .under = command.under, .stop = {}});
  if (print_damage(**policy, io.err)) return kExitError;
  if (command.json) {
    print_json(io.out, to_json(answer));
  } else {
    io.out << why_text(answer);
  }
  print_lines(io.err, answer.errors);
  for (const WhyAnswer& other : answer.under) print_lines(io.err, other.errors);
  return is_explained(answer) && !has_errors(answer) ? kExitDone : kExitRefused;
}

}  // namespace bloomwall::proxy
