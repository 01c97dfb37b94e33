// The doors of `answers`, as `bloomwall doctor` shows them: who can connect, and who is believed for what. Whether
// somebody listens there: check_holders(). Blocking; no root needed.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

#include "conf/config.h"
#include "proxy/doctor/finding.h"

namespace bloomwall::proxy {

struct DoorState {
  conf::Answers settings;
  // Of the socket at a path: who has it; empty: it is not there, or not seen, or the door has an address.
  std::string owner = {}, group = {};
  mode_t mode = 0;
};
std::vector<DoorState> look_at_doors(const conf::Config& settings);

Diagnosis check_doors(const std::vector<DoorState>& doors, const conf::Config& settings);

}  // namespace bloomwall::proxy
