// SPDX-License-Identifier: Apache-2.0
#include "filter/cli/read_progress.h"

#include <fmt/format.h>

#include "filter/builder/quantity.h"

namespace bloomwall::filter {

ReadProgress::~ReadProgress() {
  if (is_shown_) io_.err << "\r\x1b[K" << std::flush;
}

void ReadProgress::show(std::uint64_t done, std::uint64_t total) {
  const auto now = std::chrono::steady_clock::now();
  if (!io_.err_is_terminal || now - shown_ < std::chrono::milliseconds(100)) return;
  shown_ = now;
  is_shown_ = true;
  io_.err << fmt::format("\r\x1b[Kreading {} of {}", format_bytes(done), format_bytes(total)) << std::flush;
}

}  // namespace bloomwall::filter
