// SPDX-License-Identifier: Apache-2.0
#include "proxy/api/served.h"

#include "proxy/decision/snapshot.h"

namespace bloomwall::proxy {

std::string_view to_string(Phase phase) {
  switch (phase) {
    case Phase::starting:
      return "starting";
    case Phase::serving:
      return "serving";
    case Phase::draining:
      return "draining";
  }
  return "unknown";
}

std::shared_ptr<const Snapshot> Served::snapshot() const { return edition().snapshot; }

std::uint64_t Served::generation() const { return edition().snapshot == nullptr ? 0 : edition().snapshot->generation; }

}  // namespace bloomwall::proxy
