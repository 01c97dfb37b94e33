// tls_inspection.verify.intermediates: asks for the lists of intermediate certificates that are due, and, where one has
// changed or the last file is a day old, chooses again what of them leads to a root (proxy/tls/intermediate_list.h) and
// replaces the file from which the proxy takes them. A list that fails or is refused: its last good copy is taken.
// Blocking; under the lock of the update.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <functional>
#include <string>

#include "conf/config.h"
#include "proxy/update/due.h"
#include "proxy/update/fetch.h"
#include "proxy/update/lists_state.h"

namespace bloomwall::proxy {

inline constexpr Seconds kIntermediatesEvery = 86'400;  // between two requests for a URL; a path is read each time

// Whether they are fetched: some are named, and TLS is inspected.
bool wants_intermediates(const conf::Config& settings);

struct IntermediatesOptions {
  const conf::Config& settings;
  const FetchWay& way;
  bool at_once = false;  // lists that are not due yet are asked for, too, unless the server has forbidden it
  std::function<Seconds()> now = {};
  std::function<void(const std::string&)> say = {};  // a line for people
  const std::atomic<bool>* stop = nullptr;
};

// Whether something failed or was refused; it was said. `state`: its `filter` is empty, its `entries` are certificates.
// `state.is_untold` is set where the file was replaced.
bool update_intermediates(const IntermediatesOptions& options, ListFilterState& state);

}  // namespace bloomwall::proxy
