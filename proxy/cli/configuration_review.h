// What `check` and `doctor` have in common: the configuration and everything it names, loaded and verified as a start
// would.. Blocking; takes as long as the filters take to read.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "conf/config.h"
#include "proxy/cli/commands.h"
#include "proxy/decision/snapshot.h"
#include "proxy/reload/loading.h"

namespace bloomwall::proxy {

struct ConfigurationReview {
  conf::Config settings;
  Edition edition;
  std::vector<std::string> warnings;
};
// Progress goes to io.err where that is a terminal. Error: what a start would end with.
Loaded<ConfigurationReview> review_configuration(const CheckCommand& command, const Streams& io);

}  // namespace bloomwall::proxy
