// A run of `bloomwall update`: all filters that are made of lists, or some of them, one after the other; where all,
// tls_inspection.verify.intermediates then. At most one
// run at a time in a folder: another one waits up to kMostLockWait, then gives up.
// The state is written after each filter, so that a run that is killed loses what it was doing and nothing else. The
// proxy is told at the end, also of what runs before have replaced and could not tell it.
// Blocking.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <chrono>
#include <functional>
#include <string>
#include <tl/expected.hpp>
#include <vector>

#include "base/handles.h"
#include "conf/config.h"
#include "proxy/update/due.h"

namespace bloomwall::proxy {

inline constexpr std::chrono::seconds kMostLockWait{60};

struct UpdateRunOptions {
  std::vector<std::string> names = {};  // filters; these alone, and at once. Empty: all
  bool at_once = false;                 // also lists that are not due
  bool force = false;
  bool missing_only = false;  // only filters that have no file
  std::string forced_by = {};
  // Instead of the above: what a wish asks for, at once. Without one nothing is done.
  bool of_wish = false;
  std::function<void(const std::string&)> say = {};
  std::function<Seconds()> now = {};
  // Has the running proxy take the files over; false: it has not, and the next run tries again.
  std::function<bool()> reload = {};
  const std::atomic<bool>* stop = nullptr;
  std::chrono::milliseconds lock_wait = kMostLockWait;
};

struct UpdateReport {
  std::vector<std::string> built = {};  // filters whose file was replaced
  bool is_bad = false;                  // something failed or was refused; it was said
  Seconds next = 0;                     // when the first list of all is due again; 0: there are none
};

// Error: nothing could be done: an unknown name, a folder that cannot be written, another run.
tl::expected<UpdateReport, std::string> run_update(const conf::Config& settings, const UpdateRunOptions& options);

// What the running proxy wants done by the next run, in a file of the folder: names of filters (none: all) and whether
// to overrule guards. The run takes it away once it has its turn, so that one that gives up leaves it to the next.
// Wishes that come before are joined into one, but for those that overrule guards, which are one for themselves: the
// file may stay for another run.
struct UpdateWish {
  std::vector<std::string> names = {};
  bool force = false;
  std::string who = {};
};
inline constexpr const char* kWishFile = "wish.json";
tl::expected<void, std::string> leave_wish(const std::filesystem::path& folder, const UpdateWish& wish);
// The oldest. Nothing: there is none, or it could not be understood; it is gone either way.
std::optional<UpdateWish> take_wish(const std::filesystem::path& folder);
bool has_wish(const std::filesystem::path& folder);

}  // namespace bloomwall::proxy
