// SPDX-License-Identifier: Apache-2.0
#include "proxy/import/import.h"

#include <algorithm>
#include <utility>

#include "proxy/import/config_lines.h"
#include "proxy/import/group_compiler.h"
#include "proxy/import/squid_import.h"
#include "proxy/import/squidguard_import.h"
#include "proxy/import/written_configuration.h"

namespace bloomwall::proxy::foreign {

std::size_t Imported::say(std::string file, std::uint64_t line, std::string_view text, Outcome outcome,
                          std::string reason) {
  std::string shown(text.substr(0, kMostShown));
  if (text.size() > kMostShown) shown += "...";
  report.push_back({std::move(file), line, outcome, std::move(shown), std::move(reason)});
  return report.size() - 1;
}

void Imported::worsen(std::size_t at, Outcome outcome, const std::string& reason) {
  ReportLine& line = report[at];
  if (outcome < line.outcome) return;
  if (outcome > line.outcome || line.reason.empty()) {
    line.reason = reason;
  } else if (line.reason.find(reason) == std::string::npos && line.reason.size() < 4 * kMostShown) {
    line.reason += "; " + reason;
  }
  line.outcome = outcome;
}

bool ImportResult::deny_lost() const {
  return std::any_of(report.begin(), report.end(),
                     [](const ReportLine& line) { return line.outcome == Outcome::lost_deny; });
}

ImportResult import_texts(const std::vector<std::pair<std::string, std::string>>& named_texts) {
  Imported imported;
  for (const auto& [name, text] : named_texts) {
    if (looks_like_squidguard(text)) {
      import_squidguard(text, name, imported);
    } else {
      import_squid(text, name, imported);
    }
  }
  const std::vector<CompiledGroup> groups = compile_groups(imported);
  ImportResult result{{}, written(imported, groups)};
  result.report = std::move(imported.report);
  // In the order of the lines: a block is reported once its end is known. Included files stand behind.
  std::stable_sort(result.report.begin(), result.report.end(),
                   [](const ReportLine& a, const ReportLine& b) { return a.file == b.file && a.line < b.line; });
  return result;
}

tl::expected<ImportResult, std::string> import_files(const std::vector<std::filesystem::path>& paths) {
  std::vector<std::pair<std::string, std::string>> texts;
  for (const std::filesystem::path& path : paths) {
    auto text = read_text(path, kMostConfigBytes);
    if (!text) return tl::unexpected(path.string() + ": " + text.error());
    texts.emplace_back(path.string(), std::move(*text));
  }
  return import_texts(texts);
}

}  // namespace bloomwall::proxy::foreign
