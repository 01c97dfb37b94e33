// SPDX-License-Identifier: Apache-2.0
#include "proxy/ops/policy_of_files.h"

#include "proxy/ops/commands.h"
#include "proxy/ops/exception_list.h"

namespace bloomwall::proxy {

Loaded<PolicyPtr> load_policy_of_files(const conf::Config& settings, std::ostream& err,
                                       std::vector<filter::Override>* made) {
  auto policy = load_policy(settings, {.verify = false, .progress = {}});
  if (!policy) return policy;
  const auto exceptions = ExceptionList::load(state_folder(settings));
  if (exceptions) {
    if (made != nullptr) *made = exceptions->exceptions();
    return (*policy)->with(exceptions->exceptions());
  }
  print_lines(err, {"without exceptions: " + exceptions.error()});
  return policy;
}

}  // namespace bloomwall::proxy
