// Exceptions that hold until the next build of the filters that they are against (`bloomwall allow --until-build`):
// what the filters that are served now say of them. Pure; no clock is read. What lies on a disk and not in memory is
// taken as listed still.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <string>
#include <vector>

#include "filter/policy/policy.h"
#include "proxy/state/state_store.h"

namespace bloomwall::proxy {

// By the name of each filter that the exception is against (those it names, else all that block or monitor) and that
// takes exceptions: the id of its file. `policy`: nullptr: nothing is served, and there is none.
std::map<std::string, std::string> builds_of(const filter::Override& made, const filter::Policy* policy);

// Whether one of these filters lists its entry. A name does not say which networks it leads to. nullptr: it is taken as
// listed.
bool is_listed(const filter::Override& made, const filter::Policy* policy);

// Of those for which something is to be noted: they are no longer listed, or there are new builds.
std::vector<StateStore::BuildFinding> review_builds(const State& state, const filter::Policy& policy);

}  // namespace bloomwall::proxy
