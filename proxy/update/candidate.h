// Asks for one list: fetches it, or copies the file that it is, reads it, and says whether it may take the place of the
// last good copy. The state is told what became of it; a list that may is on the disk beside the last good one, and
// takes its place only by accept(), once the filter that was built of it has been.
// Blocking; under the lock of the update.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <optional>
#include <string>
#include <vector>

#include "conf/config.h"
#include "filter/lists/list_reader.h"
#include "proxy/update/due.h"
#include "proxy/update/fetch.h"
#include "proxy/update/guards.h"
#include "proxy/update/list_copies.h"
#include "proxy/update/list_scan.h"
#include "proxy/update/lists_state.h"
#include "proxy/update/shared_fetches.h"
#include "proxy/update/unpacked_archives.h"

namespace bloomwall::proxy {

struct Candidate {
  std::string copy = {};  // its name among the copies
  ListScan scan = {};
  std::string read_as = {};  // text_of_reading()
  std::string etag = {}, last_modified = {};
  std::string overruled = {};  // the guard that would have refused it; empty: none
};

struct AskOptions {
  const conf::Source& source;
  const conf::Guards& guards;  // must_pass is empty where it does not count
  const filter::ReadOptions& read;
  const FetchWay& way;
  SharedFetches& shared;
  UnpackedArchives& archives;
  const ListCopies& copies;
  Milliseconds timeout;
  bool force = false;  // guards are overruled, but for no_list, most_bytes and sha256
  Seconds now = 0;
  const std::atomic<bool>* stop = nullptr;
};

// Nothing: it has not changed, or it failed or was refused, as `state.result` says. A list that is to be taken leaves
// `state.result` at updated and the rest of what is known of the last good copy as it was.
std::optional<Candidate> ask_for_list(const AskOptions& options, SourceState& state);

// The last good copy under other options than those it was read with: what it holds now. Nothing where it can no longer
// be read: then its next edition is not compared with it.
void read_again(const AskOptions& options, SourceState& state);

// The candidate is the last good copy from now on.
void accept(const Candidate& candidate, Seconds now, SourceState& state);
// It is not: the filter that was made of it was refused.
void refuse(const Refusal& refusal, const AskOptions& options, SourceState& state);

}  // namespace bloomwall::proxy
