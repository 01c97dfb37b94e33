// SPDX-License-Identifier: Apache-2.0
#include "proxy/ops/doubts.h"

#include <fmt/chrono.h>
#include <fmt/format.h>
#include <sys/stat.h>

#include <chrono>
#include <ctime>
#include <filesystem>
#include <system_error>

namespace bloomwall::proxy {
namespace {

constexpr std::chrono::hours kSoon{24 * 14};

std::string day(std::int64_t seconds) { return fmt::format("{:%Y-%m-%d %H:%M}Z", fmt::gmtime(std::time_t{seconds})); }

void doubt_mode(const std::string& key, const std::filesystem::path& file, std::vector<std::string>& lines) {
  struct stat status{};
  if (file.empty() || ::stat(file.c_str(), &status) != 0 || (status.st_mode & (S_IROTH | S_IWOTH)) == 0) return;
  lines.push_back(fmt::format("{}: {}: everybody on this machine can read it (mode {:04o})", key, file.string(),
                              status.st_mode & 07777U));
}

void doubt_dates(const std::string& key, const TlsContext& tls, std::vector<std::string>& lines) {
  const auto now =
      std::chrono::duration_cast<std::chrono::seconds>(std::chrono::system_clock::now().time_since_epoch());
  const auto& valid = tls.validity();
  if (now.count() > valid.not_after) {
    lines.push_back(
        fmt::format("{}: the certificate has expired on {}: clients will refuse it", key, day(valid.not_after)));
  } else if (now.count() < valid.not_before) {
    lines.push_back(fmt::format("{}: the certificate is not valid before {}", key, day(valid.not_before)));
  } else if (now.count() + std::chrono::seconds(kSoon).count() > valid.not_after) {
    lines.push_back(fmt::format("{}: the certificate expires on {}", key, day(valid.not_after)));
  }
}

void doubt_folder(const std::string& key, const std::filesystem::path& file, std::vector<std::string>& lines) {
  if (file == "stderr" || file == "stdout" || file == "off" || file.empty()) return;
  std::error_code failed;
  const auto folder = file.has_parent_path() ? file.parent_path() : std::filesystem::path(".");
  if (std::filesystem::is_directory(folder, failed)) return;
  lines.push_back(fmt::format("{}: {}: there is no folder {}", key, file.string(), folder.string()));
}

}  // namespace

void append_doubts(const Snapshot& snapshot, std::vector<std::string>& lines) {
  const conf::Config& settings = snapshot.settings;
  for (std::size_t i = 0; i < settings.listeners.size(); ++i) {
    const std::string key = fmt::format("listeners[{}].tls", i);
    doubt_mode(key + ".key", settings.listeners[i].tls.key, lines);
    if (snapshot.listeners[i].tls != nullptr) doubt_dates(key, *snapshot.listeners[i].tls, lines);
  }
  const conf::Upstream& upstream = settings.upstream;
  doubt_mode("upstream.credentials_file", upstream.credentials_file, lines);
  if (!upstream.credentials_file.empty() && !upstream.tls) {
    lines.emplace_back("upstream.credentials_file: goes to the parent in clear: upstream.tls is false");
  }
  if (settings.access.clients.empty()) lines.emplace_back("access.clients: is empty: nobody may use the proxy");
  if (settings.filters.empty()) lines.emplace_back("no filters are configured: nothing will be blocked");
}

std::vector<std::string> log_faults(const conf::Log& settings) {
  std::vector<std::string> lines;
  doubt_folder("log.file", settings.file, lines);
  doubt_folder("log.access.file", settings.access.file, lines);
  return lines;
}

}  // namespace bloomwall::proxy
