// Directives of squid.conf that have no key of ours, or one that an operator must set by hand: what to say of each.
// Source: Squid 5's squid.conf.documented.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

#include "proxy/import/rule_model.h"

namespace bloomwall::proxy::foreign {

struct Directive {
  std::string_view name;  // one that ends in _ stands for all that begin with it
  Outcome outcome;
  const char* reason;
};
// Nothing where nothing is known of it. A whole name comes before the beginning of one.
const Directive* directive(std::string_view name);

}  // namespace bloomwall::proxy::foreign
