// One thing wrong with a configuration, placed so that an editor can jump to it.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <tl/expected.hpp>

namespace bloomwall::conf {

struct ConfigError {
  std::string file;
  int line = 0;              // 1-based; 0: the whole file
  int column = 0;            // 1-based
  std::string key;           // "timeouts.idle"
  std::string what;          // "expected a duration from 1ms to 24h, such as 60s"
  std::string text() const;  // "file:line:column: key: what"
};

}  // namespace bloomwall::conf
