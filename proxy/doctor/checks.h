// What the facts say: pure functions, a finding for each thing, also where all is well.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "conf/config.h"
#include "proxy/check/port_holders.h"
#include "proxy/doctor/facts.h"
#include "proxy/doctor/finding.h"
#include "proxy/io/interfaces.h"
#include "proxy/update/lists_state.h"

namespace bloomwall::proxy {

// `unit`: the state of bloomwall.service (proxy/io/unit_state.h); nothing: systemd does not answer.
Finding check_service(const Running& running, const std::optional<std::string>& unit);

// The last reload, and the files that have changed since. `files`: each with its time of change.
struct FileTime {
  std::filesystem::path file;
  std::int64_t changed = 0;
};
Diagnosis check_reload(const Running& running, const std::string& configuration, const std::vector<FileTime>& files);

// Filters as the files say them, and as they are served.
Diagnosis check_served(const std::vector<FilterIdentity>& on_disk, const Running& running);

// Filters that serve their last good files since the start; empty: none.
Diagnosis check_fallbacks(const Running& running);

// Who listens at each address, of a proxy that runs or does not.
Diagnosis check_holders(const std::vector<ConfiguredAddress>& addresses, const Running& running);

// Whether other machines can reach it, and whether those that can are let in.
Diagnosis check_reach(const conf::Config& settings, const std::vector<Interface>& interfaces);

// Who can open the dashboard, and where. `internal`: the certificate of `admin.tls: internal`; nothing: there is none.
struct InternalCertificate {
  std::vector<std::string> names, forbidden;  // forbidden: by the authority's name constraints
  std::string authority;                      // its subject
};
Finding check_dashboard(const conf::Config& settings, const std::optional<InternalCertificate>& internal,
                        const std::vector<Interface>& interfaces);

// `needed`: bytes that the next files of filters take.
Finding check_folder(const FolderState& folder, std::uint64_t needed);

// `newest`: the newest time that any file says it was made at, and `what` says so.
struct Made {
  std::string what;
  std::int64_t at = 0;
};
Diagnosis check_clock(const MachineClock& clock, const std::vector<Made>& made);

// What the last fetches and builds of lists have left.
Diagnosis check_lists(const conf::Config& settings, const ListsState& state);
// Likewise of tls_inspection.verify.intermediates; empty: none are fetched.
Diagnosis check_intermediates(const conf::Config& settings, const ListsState& state);

// `timer`: the state of bloomwall-update.timer.
std::optional<Finding> check_timer(const conf::Config& settings, const std::optional<std::string>& timer);

// `limit`: of the running proxy.
Finding check_descriptors(std::uint64_t needed, std::optional<std::uint64_t> limit, const Running& running);

}  // namespace bloomwall::proxy
