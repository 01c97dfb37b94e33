// SPDX-License-Identifier: Apache-2.0
#include <unistd.h>

#include <csignal>
#include <iostream>

#include "proxy/cli/commands.h"

int main(int argc, char** argv) {
  std::ios::sync_with_stdio(false);
  std::cin.tie(nullptr);
  // As in bloomwall-filter: `update` builds filters, too.
  std::signal(SIGXFSZ, SIG_IGN);
  const bloomwall::Streams io{.in = std::cin,
                              .out = std::cout,
                              .err = std::cerr,
                              .err_is_terminal = ::isatty(STDERR_FILENO) != 0,
                              .in_is_terminal = ::isatty(STDIN_FILENO) != 0};
  return bloomwall::proxy::run_program({argv + (argc > 0 ? 1 : 0), argv + argc}, io);
}
