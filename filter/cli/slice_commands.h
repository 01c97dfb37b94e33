// The steps of a build in slices as commands: count, map, reduce, assemble, and `plan` of counts.
//   0 done    1 `plan`: the target can't be had    2 refused or failed    3 slices, parts or lists are missing
// Not thread-safe; they handle signals as `build` does.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <optional>

#include "base/terminal.h"
#include "filter/slices/assemble.h"
#include "filter/slices/geometry.h"
#include "filter/slices/reduce.h"
#include "filter/slices/slice.h"

namespace CLI {
class App;
}

namespace bloomwall::filter {

struct PlanCommand;

inline constexpr int kExitIncomplete = 3;
struct SliceCommand {
  SliceOptions options;
  bool json = false;
  bool quiet = false;
};
int run_slice(const SliceCommand& command, const Streams& io);

struct ReduceCommand {
  ReduceOptions options;
  bool json = false;
};
int run_reduce(const ReduceCommand& command, const Streams& io);

struct AssembleCommand {
  AssembleOptions options;
  bool json = false;
};
int run_assemble(const AssembleCommand& command, const Streams& io);

// `plan` of counted slices, where there is an output; of `plan` its target counts.
int run_plan_of_counts(const PlanCommand& plan, const GeometryOptions& counted, const Streams& io);

struct SliceCommands {
  SliceCommand count, map;
  ReduceCommand reduce;
  AssembleCommand assemble;
  GeometryOptions plan;
};
void add_slice_commands(CLI::App& program, int& status, SliceCommands& commands, const Streams& io);
void add_plan_of_counts(CLI::App& plan, GeometryOptions& options);  // its -o and arguments

// Of --like: what a geometry stands for; nothing where it is no geometry.
Result<std::optional<Header>> like_of(const std::filesystem::path& file);

}  // namespace bloomwall::filter
