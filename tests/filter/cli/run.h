// Runs bloomwall-filter inside the test, on strings.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <vector>

#include "filter/cli/program.h"

namespace bloomwall::test {

struct Ran {
  int status = -1;
  std::string out, err;
  nlohmann::json json() const { return nlohmann::json::parse(out); }
};

inline Ran run(const std::vector<std::string>& arguments, const std::string& input = {}, bool terminal = false) {
  std::istringstream in(input);
  std::ostringstream out;
  std::ostringstream err;
  Ran ran;
  ran.status = filter::run_program(arguments, {.in = in, .out = out, .err = err, .err_is_terminal = terminal});
  ran.out = out.str();
  ran.err = err.str();
  return ran;
}

}  // namespace bloomwall::test
