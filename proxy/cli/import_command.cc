// `bloomwall import`: configurations of other proxies.
// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <array>
#include <nlohmann/json.hpp>
#include <system_error>

#include "base/terminal.h"
#include "conf/config.h"
#include "filter/file/temp_file.h"
#include "proxy/cli/commands.h"
#include "proxy/import/import.h"
#include "proxy/reload/loading.h"

namespace bloomwall::proxy {
namespace {

namespace fs = std::filesystem;
using foreign::ImportResult;
using foreign::Outcome;
using foreign::ReportLine;

void print_report(const ImportResult& result, bool as_json, std::ostream& out) {
  for (const ReportLine& line : result.report) {
    const char* const outcome = foreign::kOutcomeNames.at(static_cast<std::size_t>(line.outcome));
    if (as_json) {
      print_json(out, {{"file", line.file},
                       {"line", line.line},
                       {"outcome", outcome},
                       {"text", line.text},
                       {"reason", line.reason}});
      continue;
    }
    out << printable(fmt::format("{}:{}: {}: {}{}", line.file, line.line, outcome, line.text,
                                 line.reason.empty() ? "" : " -- " + line.reason))
        << '\n';
  }
}

std::string summary_of(const ImportResult& result) {
  std::array<std::size_t, foreign::kOutcomeNames.size()> counts{};
  for (const ReportLine& line : result.report) ++counts.at(static_cast<std::size_t>(line.outcome));
  std::string text = fmt::format("{} lines", result.report.size());
  for (std::size_t i = 0; i < counts.size(); ++i)
    text += fmt::format("{} {} {}", i == 0 ? ":" : ",", counts[i], foreign::kOutcomeNames[i]);
  return text;
}

// False and a message where one cannot be written.
bool write_files(const ImportResult& result, const ImportCommand& command, std::ostream& err) {
  std::error_code error;
  if (!command.force && fs::exists(command.out / "bloomwall.yaml", error)) {
    print_lines(err,
                {fmt::format("{} is there already; --force replaces it", (command.out / "bloomwall.yaml").string())});
    return false;
  }
  for (const auto& [name, content] : result.files) {
    const fs::path path = command.out / name;
    fs::create_directories(path.parent_path(), error);
    if (error) {
      print_lines(err, {fmt::format("{}: {}", path.parent_path().string(), error.message())});
      return false;
    }
    if (const auto done = filter::replace_file(path, content); !done) {
      print_lines(err, {done.error().text()});
      return false;
    }
  }
  return true;
}

}  // namespace

int run_import(const ImportCommand& command, const Streams& io) {
  const auto result = foreign::import_files(command.files);
  if (!result) {
    print_lines(io.err, {result.error()});
    return kExitError;
  }
  if (!write_files(*result, command, io.err)) return kExitError;
  print_report(*result, command.json, io.out);
  const fs::path configuration = command.out / "bloomwall.yaml";
  const auto loaded = conf::load_file(configuration);
  if (!loaded) {
    for (const conf::ConfigError& wrong : loaded.error()) print_lines(io.err, {wrong.text()});
    print_lines(io.err, {"mend these in " + configuration.string()});
  }
  print_lines(io.err, {summary_of(*result)});
  print_lines(io.err, {"Loopback and private networks are not reached unless access.allow_destinations names them."});
  print_lines(io.err, {fmt::format("Next: bloomwall update --config {0} && bloomwall check --config {0}",
                                   configuration.string())});
  return loaded && !result->deny_lost() ? kExitDone : kExitRefused;
}

}  // namespace bloomwall::proxy
