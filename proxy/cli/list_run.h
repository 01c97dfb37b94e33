// `bloomwall run --list FILE...`: serves lists without a configuration. Three processes, so that the builder stays away
// from the proxy, as in `bloomwall update`:
//   this one         holds a folder of its own in $TMPDIR, waits for signals and children
//   the builder      builds LISTS into the folder: at the beginning, and on each SIGHUP
//   the proxy        serves the folder's configuration, and reloads once a build has succeeded
// A build that fails ends the start with the builder's status; later the filter before stays in use. SIGTERM, SIGINT
// and SIGUSR1 are passed on. The folder is removed with the end of the proxy, also where this process is killed.
// Blocking, until the proxy ends. The caller must have no other threads.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "proxy/cli/commands.h"

namespace bloomwall::proxy {

int run_lists(const ServeCommand& command, const Streams& io);

}  // namespace bloomwall::proxy
