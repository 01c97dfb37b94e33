// `bloomwall-filter release`: its command lines, and what they print.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "base/terminal.h"
#include "filter/release/publisher.h"

namespace CLI {
class App;
}

namespace bloomwall::filter {

struct ReleaseCommand {
  std::filesystem::path folder;
  std::string filter;
  std::vector<std::filesystem::path> keys;  // private halves
  std::filesystem::path public_key;         // of `status` and `check`
  std::uint64_t valid_for = kValidFor;      // seconds
  bool json = false;
  // publish
  Publication publication;
  bool is_urgent = false;
  std::string why;
  // reissue, renew
  std::uint64_t release = 0;
  std::vector<std::string> rings;
  // prune
  std::uint64_t keep = 10;
};

// `command` lives as long as the program's command line.
void add_release(CLI::App& program, int& status, ReleaseCommand& command, const Streams& io);

}  // namespace bloomwall::filter
