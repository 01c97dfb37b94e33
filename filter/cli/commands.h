// The commands of bloomwall-filter: what was asked for, and one function each that does it and returns the exit status.
//   0 done, nothing listed    1 listed, corrupt, can't be met    2 usage or runtime error
// Not thread-safe; `build` takes over SIGINT, SIGTERM, SIGHUP and SIGPIPE while its temporary file exists.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "filter/builder/builder.h"
#include "filter/builder/merge.h"
#include "filter/builder/plan.h"
#include "filter/cli/streams.h"
#include "filter/dedup/dedup_size.h"
#include "filter/policy/delta.h"

namespace bloomwall::filter {

// Report on err as text, or on out as one JSON object (also where the build is refused).
struct BuildCommand {
  BuildOptions options;
  bool counting = false;  // a counting filter: run_build_counting() in update_commands.h
  bool json = false;
  bool quiet = false;  // no report as text; warnings and errors all the same
};
int run_build(const BuildCommand& command, const Streams& io);

// Report as of `build`.
struct MergeCommand {
  MergeOptions options;
  bool json = false;
};
int run_merge(const MergeCommand& command, const Streams& io);

// Everything in the header and the info section. Corrupt: 1.
struct InfoCommand {
  std::filesystem::path file;
  std::filesystem::path delta;  // empty: none; else how much of the filter it is, and whether a rebuild is due
  double rebuild_at = kRebuildShare;
  bool show_secret = false;
  bool json = false;
};
int run_info(const InfoCommand& command, const Streams& io);

// For every URL, in order: "listed<TAB>URL<TAB>expression", "clear<TAB>URL" or "invalid<TAB>URL<TAB>reason"; 1 if any is
// listed. URLs come from `in`, one a line, where none is given (or "-").
struct QueryCommand {
  std::filesystem::path file;
  std::vector<std::string> urls;
  std::filesystem::path delta;  // empty: none
  std::filesystem::path exact;  // the exact side; empty: none
  bool raw = false;
  bool json = false;
};
int run_query(const QueryCommand& command, const Streams& io);

// Reads every byte, checks every digest, and with a key who signed it. "ok", or what is wrong and 1. Of a delta: its
// syntax, and with a key its signature.
struct VerifyCommand {
  std::filesystem::path file;
  std::filesystem::path key;  // of a public key; empty: signatures are not looked at
  bool json = false;
};
int run_verify(const VerifyCommand& command, const Streams& io);

// 1 where `build` would refuse.
struct PlanCommand {
  PlanRequest request;
  bool json = false;
};
int run_plan(const PlanCommand& command, const Streams& io);

// Every line of the files (none, or "-": stdin) to out the first time it is seen; a summary on err, as text or JSON.
// 1 where the error ended above target.fpr, 2 where not all could be read or written.
struct DedupCommand {
  std::vector<std::string> files;
  DedupTarget target;
  std::filesystem::path series_key_file;  // empty: a random key, which nobody can foresee
  unsigned threads = 0;                   // that hash; 0: one a processor less one
  bool json = false;
  bool quiet = false;  // no summary
};
int run_dedup(const DedupCommand& command, const Streams& io);

// The exit status for a file that can't be opened or read: 1 where its bytes are to blame, 2 where the system is.
int status_of(const Error& error);

}  // namespace bloomwall::filter
