// What a new process has loaded in an upgrade, until its predecessor lets it serve (daemon_takeover.cc).
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "base/handles.h"
#include "proxy/daemon/daemon.h"
#include "proxy/decision/snapshot.h"
#include "proxy/reload/reload_job.h"

namespace bloomwall::proxy {

struct Daemon::Waiting {
  Edition edition;
  std::shared_ptr<Handover> handover;
  UniqueFd logins = {};  // of the predecessor, until the server has them
};

}  // namespace bloomwall::proxy
