// SPDX-License-Identifier: Apache-2.0
#include "proxy/import/import.h"

#include <algorithm>
#include <cstddef>
#include <string_view>
#include <utility>

#include "base/text.h"
#include "conf/config.h"
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

namespace {

// squid.conf alone, of a Squid that asks another program: what that refuses passes.
void look_for_redirector(Imported& imported) {
  for (std::size_t at = 0; at < imported.report.size(); ++at) {
    std::string_view rest = imported.report[at].text;
    const std::string_view name = next_word(rest);
    if (equals_ignoring_case(name, "url_rewrite_program") || equals_ignoring_case(name, "redirect_program")) {
      imported.worsen(
          at, Outcome::lost_deny,
          "what this program refuses passes: give the configuration of squidGuard or ufdbGuard to import as "
          "well");
    }
  }
}

constexpr const char* kConfiguration = "bloomwall.yaml";

// Settings whose values bloomwall refuses, such as times out of its range, are left out and reported. True: some were.
bool leave_out_refused(const std::string& yaml, Imported& imported) {
  const auto loaded = conf::load_text(yaml, kConfiguration);
  bool any = false;
  for (const conf::ConfigError& wrong : loaded ? conf::ConfigErrors{} : loaded.error()) {
    const auto said = imported.said.find(wrong.key);
    if (said == imported.said.end()) continue;
    imported.settings.erase(wrong.key);
    imported.worsen(said->second, Outcome::lost, wrong.key + ": " + wrong.what);
    any = true;
  }
  return any;
}

}  // namespace

ImportResult import_texts(const std::vector<std::pair<std::string, std::string>>& named_texts) {
  Imported imported;
  bool has_redirector = false;
  for (const auto& [name, text] : named_texts) {
    if (looks_like_squidguard(text)) {
      has_redirector = true;
      import_squidguard(text, name, imported);
    } else {
      import_squid(text, name, imported);
    }
  }
  if (!has_redirector) look_for_redirector(imported);
  const std::vector<CompiledGroup> groups = compile_groups(imported);
  ImportResult result{{}, written(imported, groups)};
  if (leave_out_refused(result.files.at(kConfiguration), imported)) result.files = written(imported, groups);
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
