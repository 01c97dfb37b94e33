// URLs that are allowed on hosts that are blocked: over https they pass only where TLS is decrypted for them. For
// `check`: what of them has no effect there.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "conf/config.h"
#include "proxy/decision/snapshot.h"

namespace bloomwall::proxy {

inline constexpr std::size_t kMostUrlWarnings = 20;

// "/etc/allow.txt:12: https://a.test/docs/ ...", of entries in allow_lists for URLs, at most kMostUrlWarnings and how
// many more; and one line for each filter with action: allow that holds URLs. By the filters as they are outside of
// groups. Reads the allow lists again.
std::vector<std::string> allowed_urls_without_effect(const conf::Config& settings, const Edition& edition);

}  // namespace bloomwall::proxy
