// The commands of bloomwall-filter: the options of each, and a function that runs it and returns the exit status.
//   0 done, nothing listed    1 listed, corrupt, can't be met    2 usage or runtime error    3 incomplete
// Not thread-safe; `build` takes over SIGINT, SIGTERM, SIGHUP and SIGPIPE while its temporary file exists.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "base/terminal.h"
#include "filter/builder/builder.h"
#include "filter/builder/merge.h"
#include "filter/builder/plan.h"
#include "filter/dedup/dedup.h"
#include "filter/policy/delta.h"
#include "filter/update/changes.h"

namespace CLI {
class App;
}

namespace bloomwall::filter {

// Report on err as text, or on out as one JSON object (also where the build is refused).
struct BuildCommand {
  BuildOptions options;
  bool counting = false;  // a counting filter: run_build_counting() in commands.h
  bool json = false;
  bool quiet = false;  // no report as text; warnings and errors all the same
};
int run_build(const BuildCommand& command, const Streams& io);

// Report as of `build`.
struct MergeCommand {
  MergeOptions options;
  std::filesystem::path like;  // empty, or a geometry
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

// For every URL, in order: "listed<TAB>URL<TAB>expression", "clear<TAB>URL" or "invalid<TAB>URL<TAB>reason"; 1 if any
// is listed. URLs come from `in`, one a line, where none is given (or "-").
struct QueryCommand {
  std::filesystem::path file;
  std::vector<std::string> urls;
  std::filesystem::path delta;  // empty: none
  std::filesystem::path exact;  // the exact side; empty: none
  bool raw = false;
  bool json = false;
};
int run_query(const QueryCommand& command, const Streams& io);

// Reads every byte, checks every digest, and with a key the signature. Prints "ok", or what is wrong and returns 1. Of
// a delta: its syntax, and with a key its signature.
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
// 1 where the error ended above target.fpr (kMostDedupError), 2 where not all could be read, written or saved.
struct DedupCommand {
  std::vector<std::string> files;
  DedupTarget target;
  std::filesystem::path series_key_file;  // empty: that of the state, or a random, unpredictable one
  std::filesystem::path state;            // where the set is kept from run to run; empty: nowhere
  bool urls = false;                      // lines are compared by the URLs that they spell
  unsigned threads = 0;                   // that hash; 0: one a processor less one
  bool json = false;
  bool quiet = false;  // no summary
};
int run_dedup(const DedupCommand& command, const Streams& io);

// The exit status for a file that can't be opened or read: 1 where its bytes are wrong, 2 where the system refused.
int status_of(const Error& error);

// Commands that change files or sign them. `update` of a counting filter handles signals as `build` does.

// Makes a pair of Ed25519 keys. 2 where one of the files is there already.
struct KeygenCommand {
  std::filesystem::path private_file;
  std::filesystem::path public_file;  // empty: the private one's name with ".pub" behind it
};
int run_keygen(const KeygenCommand& command, const Streams& io);

// Signs a filter file or a delta. 1 where it is corrupt.
struct SignCommand {
  std::filesystem::path file;
  std::filesystem::path key;
  std::filesystem::path output;  // empty: the file itself is replaced
  FileAccess access;
};
int run_sign(const SignCommand& command, const Streams& io);

// Adds and removes what lists name: in the delta of a filter, or in a counting filter. 1 where it is refused.
struct UpdateCommand {
  std::filesystem::path file;
  std::filesystem::path delta;  // of a filter
  ChangeLists lists;
  bool rebase = false;         // of a delta that was made for another build of the filter
  std::filesystem::path key;   // signs the delta, which it must have signed before
  bool take_unsigned = false;  // or not
  double rebuild_at = kRebuildShare;
  FileAccess access;
  bool force = false;  // of a counting filter, and the next two
  std::optional<std::uint64_t> created;
  unsigned threads = 0;
  bool json = false;
  bool quiet = false;
};
int run_update(const UpdateCommand& command, const Streams& io);

// `build --counting`.
int run_build_counting(const BuildCommand& command, const Streams& io);

// Makes the filter of a counting filter.
struct EmitCommand {
  std::filesystem::path file, output;
  std::optional<FileId> file_id;
  std::optional<std::uint64_t> created;
  FileAccess access;
  bool json = false;
};
int run_emit(const EmitCommand& command, const Streams& io);

struct UpdateCommands {
  KeygenCommand keygen;
  SignCommand sign;
  UpdateCommand update;
  EmitCommand emit;
};
void add_update_commands(CLI::App& program, int& status, UpdateCommands& commands, const Streams& io);

// "bloomwall-filter: where: what" on one line of its own.
void print_error(std::ostream& err, const Error& error);

// As say_reading() (base/terminal.h), where "-" is among these words.
void say_reading_if_named(const std::vector<std::string>& words, std::string_view what, const Streams& io);

}  // namespace bloomwall::filter
