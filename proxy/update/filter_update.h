// One filter of filters[].sources: asks for the lists that are due, and, where the lists it is made of have changed,
// builds the file again and replaces it. Only a better file replaces a good one:
//   a list that fails or is refused       the last good copy of it is taken
//   a file that is made and refused       stays away, with the lists that were new in it: guards must_pass and
//   must_block of the whole filter, its error together with all others (`most_error`), a file that does not verify
// Blocking; under the lock of the update.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <functional>
#include <string>
#include <string_view>

#include "conf/config.h"
#include "proxy/update/due.h"
#include "proxy/update/fetch.h"
#include "proxy/update/lists_state.h"
#include "proxy/update/shared_fetches.h"
#include "proxy/update/unpacked_archives.h"

namespace bloomwall::proxy {

struct FilterUpdateOptions {
  const conf::Filter& filter;
  const conf::Update& update;
  const FetchWay& way;
  SharedFetches& shared;
  UnpackedArchives& archives;
  bool at_once = false;        // lists that are not due yet are asked for, too, unless the server has forbidden it
  bool force = false;          // these as well, and guards are overruled
  std::string forced_by = {};  // who, of `force`
  double other_error = 0;      // of the other filters that block, together
  std::filesystem::path known_good = {};  // what reports have shown that no filter may stop by mistake; may be missing
  std::function<Seconds()> now = {};
  std::function<void(const std::string&)> say = {};  // a line for people
  const std::atomic<bool>* stop = nullptr;
  // Before the file may be replaced: writes what has to be known where this process dies meanwhile.
  std::function<void(const ListFilterState&)> note_build = {};
};

struct FilterOutcome {
  bool is_built = false;  // the file was replaced
  bool is_bad = false;    // something failed or was refused
};

FilterOutcome update_filter(const FilterUpdateOptions& options, ListFilterState& state);

}  // namespace bloomwall::proxy
