// The commands of bloomwall-filter that change or vouch for what is there: keys, signatures, deltas, the counting form.
// Not thread-safe; `update` of a counting filter takes over signals while its temporary file exists, as `build` does.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "filter/cli/commands.h"
#include "filter/cli/streams.h"
#include "filter/update/changes.h"

namespace CLI {
class App;
}

namespace bloomwall::filter {

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

}  // namespace bloomwall::filter
