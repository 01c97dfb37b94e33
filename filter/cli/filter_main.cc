// SPDX-License-Identifier: Apache-2.0
#include <unistd.h>

#include <csignal>
#include <iostream>
#include <string>
#include <vector>

#include "filter/cli/program.h"

int main(int argc, char** argv) {
  std::ios::sync_with_stdio(false);
  std::cin.tie(nullptr);
  // `query ... | head` ends quietly, also where our parent ignores SIGPIPE.
  std::signal(SIGPIPE, SIG_DFL);
  // A file over RLIMIT_FSIZE is an error, as on a full disk, so that no temporary file is left behind.
  std::signal(SIGXFSZ, SIG_IGN);
  const bloomwall::Streams io{.in = std::cin,
                              .out = std::cout,
                              .err = std::cerr,
                              .err_is_terminal = isatty(STDERR_FILENO) != 0,
                              .in_is_terminal = isatty(STDIN_FILENO) != 0};
  return bloomwall::filter::run_program({argv + (argc > 0 ? 1 : 0), argv + argc}, io);
}
