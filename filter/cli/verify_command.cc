// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <chrono>
#include <nlohmann/json.hpp>

#include "filter/build/quantity.h"
#include "filter/cli/commands.h"
#include "filter/cli/header_json.h"
#include "filter/cli/text.h"
#include "filter/file/filter_file.h"

namespace bloomwall::filter {
namespace {

Result<void> verify_file(const VerifyCommand& command, const Streams& io) {
  const auto file = FilterFile::open(command.file);
  if (!file) return unexpected(file.error());
  auto shown = std::chrono::steady_clock::time_point{};
  bool any_shown = false;
  const auto progress = [&](std::uint64_t done, std::uint64_t total) {
    const auto now = std::chrono::steady_clock::now();
    if (!io.err_is_terminal || now - shown < std::chrono::milliseconds(100)) return true;
    shown = now;
    any_shown = true;
    io.err << fmt::format("\r\x1b[Kreading {} of {}", format_bytes(done), format_bytes(total)) << std::flush;
    return true;
  };
  auto result = (*file)->verify(FilterFile::Depth::tampering, progress);
  if (any_shown) io.err << "\r\x1b[K" << std::flush;
  if (!result) return result;
  const auto info = (*file)->info();
  if (!info) return unexpected(info.error());
  return {};
}

}  // namespace

int run_verify(const VerifyCommand& command, const Streams& io) {
  const auto result = verify_file(command, io);
  if (command.json) {
    nlohmann::ordered_json out{{"file", command.file.string()}, {"ok", result.has_value()}};
    if (!result) out["error"] = to_json(result.error());
    print_json(io.out, out);
  } else if (result) {
    io.out << printable(command.file.string()) << ": ok\n";
  }
  if (result) return kExitDone;
  print_error(io.err, result.error());
  return status_of(result.error());
}

}  // namespace bloomwall::filter
