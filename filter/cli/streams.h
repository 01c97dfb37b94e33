// Where a command reads and writes, and how it ends. Commands are functions on these, so that tests call them directly.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <istream>
#include <ostream>

namespace bloomwall::filter {

struct Streams {
  std::istream& in;
  std::ostream& out;  // results
  std::ostream& err;  // messages and progress
  bool err_is_terminal = false;
};

inline constexpr int kExitDone = 0;    // done; nothing listed
inline constexpr int kExitListed = 1;  // listed; corrupt; can't be met
inline constexpr int kExitError = 2;   // usage or runtime error

}  // namespace bloomwall::filter
