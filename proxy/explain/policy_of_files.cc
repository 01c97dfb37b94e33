// SPDX-License-Identifier: Apache-2.0
#include "proxy/explain/policy_of_files.h"

namespace bloomwall::proxy {

Loaded<PolicyPtr> load_policy_of_files(const conf::Config& settings, std::ostream& err, ExportedState* made) {
  auto policy = load_policy(settings, {.verify = false, .progress = {}});
  if (!policy) return policy;
  const auto exceptions = read_export(state_folder(settings));
  if (exceptions) {
    if (made != nullptr) *made = *exceptions;
    return (*policy)->with(exceptions->overrides());
  }
  print_lines(err, {"without exceptions: " + exceptions.error()});
  return policy;
}

bool print_damage(const filter::Policy& policy, std::ostream& err) {
  std::vector<std::string> lines;
  for (const filter::Error& damage : policy.damage()) lines.push_back(damage.text());
  print_lines(err, lines);
  return !lines.empty();
}

}  // namespace bloomwall::proxy
