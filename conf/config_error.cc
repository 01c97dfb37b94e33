// SPDX-License-Identifier: Apache-2.0
#include "conf/config_error.h"

#include <fmt/format.h>

namespace bloomwall::conf {
namespace {

// Escapes in quoted YAML can spell any octet; none of them reaches a terminal or a log as it is.
std::string printable(const std::string& text) {
  std::string out;
  for (const char c : text) {
    const bool control = (c >= 0 && c < 0x20) || c == 0x7f;
    out += control ? fmt::format("\\x{:02x}", static_cast<unsigned>(c)) : std::string(1, c);
  }
  return out;
}

}  // namespace

std::string ConfigError::text() const {
  std::string where = file;
  if (line > 0) where += fmt::format(":{}:{}", line, column);
  if (!key.empty()) where += (where.empty() ? "" : ": ") + key;
  return printable(where.empty() ? what : where + ": " + what);
}

}  // namespace bloomwall::conf
