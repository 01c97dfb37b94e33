// SPDX-License-Identifier: Apache-2.0
#include "proxy/check/settings_check.h"

#include <fmt/chrono.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sys/stat.h>

#include <chrono>
#include <cstdint>
#include <ctime>
#include <filesystem>
#include <optional>
#include <system_error>
#include <utility>

#include "base/terminal.h"
#include "base/units.h"
#include "conf/forms.h"
#include "proxy/check/lists_json.h"
#include "proxy/decision/tls_inspection.h"
#include "proxy/io/endpoint.h"
#include "proxy/io/unix_socket.h"

namespace bloomwall::proxy {
namespace {

constexpr std::chrono::hours kSoon{24 * 14};

std::string day(std::int64_t seconds) { return fmt::format("{:%Y-%m-%d %H:%M}Z", fmt::gmtime(std::time_t{seconds})); }

void check_mode(const std::string& key, const std::filesystem::path& file, std::vector<std::string>& lines) {
  struct stat status{};
  if (file.empty() || ::stat(file.c_str(), &status) != 0 || (status.st_mode & (S_IROTH | S_IWOTH)) == 0) return;
  lines.push_back(fmt::format("{}: {}: everybody on this machine can read it (mode {:04o})", key, file.string(),
                              status.st_mode & 07777U));
}

void check_dates(const std::string& key, const TlsContext& tls, std::vector<std::string>& lines) {
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

void check_authority(const TlsInspection& inspection, std::vector<std::string>& lines) {
  const CertificateAuthority& authority = *inspection.mint().authority();
  const auto warning = expiry_warning(authority, std::time(nullptr));
  if (warning) lines.push_back(fmt::format("tls_inspection.ca: {}", warning->text));
  if (inspection.rules().greatest_mode() != conf::TlsInspection::Mode::all) return;
  if (const auto domain = permitted_domain(authority)) {
    lines.push_back(fmt::format(
        "tls_inspection.mode: all decrypts every host, and the CA's name constraints permit only some ({}): "
        "clients refuse its certificates for the rest; use mode urls, or a CA without \"permitted\"",
        printable(*domain)));
  }
}

void check_admin_certificate(const Snapshot& snapshot, std::vector<std::string>& lines) {
  const AdminCertificate& certificate = *snapshot.admin_tls;
  const AuthorityPtr authority = certificate.authority();
  if (authority == nullptr) return check_dates("admin.tls", *certificate.context(), lines);
  if (snapshot.inspection == nullptr) {  // else it was looked at there
    if (const auto warning = expiry_warning(*authority, std::time(nullptr))) {
      lines.push_back(fmt::format("tls_inspection.ca: {}", warning->text));
    }
  }
  if (certificate.forbidden().empty()) return;
  lines.push_back(fmt::format(
      "admin.tls: internal: the CA's name constraints forbid {}: browsers that go there will refuse the certificate",
      fmt::join(certificate.forbidden(), ", ")));
}

// Bytes that a client's connection in decrypted TLS holds while it idles, with that to its origin: as counted, of
// HTTP/2; one of HTTP/1.1 holds half of that.
constexpr std::uint64_t kIdleTls = std::uint64_t{110} * 1024;

std::uint64_t whole_mebibytes(std::uint64_t bytes) { return ((bytes >> 20) + 1) << 20; }

void check_log(const std::string& key, const std::filesystem::path& file, std::vector<std::string>& lines) {
  if (file == "stderr" || file == "stdout" || file == "off" || file == "journal" || file == "syslog" || file.empty())
    return;
  std::error_code failed;
  if (std::filesystem::is_directory(file, failed)) {
    lines.push_back(fmt::format("{}: {}: is a folder, not a file", key, file.string()));
    return;
  }
  const auto folder = file.has_parent_path() ? file.parent_path() : std::filesystem::path(".");
  if (std::filesystem::is_directory(folder, failed)) return;
  lines.push_back(fmt::format("{}: {}: there is no folder {}", key, file.string(), folder.string()));
}

void check_sources(const conf::Filter& filter, std::vector<std::string>& lines) {
  for (const conf::Source& source : filter.sources) {
    check_mode(fmt::format("filters: {}: header_file", filter.name), source.header_file, lines);
  }
  std::error_code failed;
  if (filter.sources_folder.empty() || std::filesystem::is_directory(filter.sources_folder, failed)) return;
  lines.push_back(
      fmt::format("filters: {}: sources_folder: there is no folder {}", filter.name, filter.sources_folder.string()));
}

}  // namespace

bool collide(const Endpoint& one, const Endpoint& two) {
  if (one.port() == 0 || one.port() != two.port()) return false;
  const auto covers = [](const Endpoint& wide, const Endpoint& other) {
    return wide.is_wildcard() && (wide.is_v6() || !other.is_v6());
  };
  return covers(one, two) || covers(two, one) || one.same_ip(two);
}

bool may_serve_api(const conf::Admin& admin) {
  return admin.address && (admin.tls.is_on() || conf::is_of_this_host(*admin.address));
}

std::optional<std::string> memory_warning(const conf::Limits& limits) {
  const std::uint64_t most = limits.client_connections * kIdleTls;
  const std::uint64_t usable = limits.buffer_memory - limits.buffer_memory / 8;  // the rest is kept free (BufferPool)
  if (most <= usable) return std::nullopt;
  return fmt::format(
      "limits.buffer_memory: {} is enough for {} clients that idle in decrypted TLS, and limits.client_connections is "
      "{}: beyond that those that idle longest are closed. {} would be enough for all",
      format_size(limits.buffer_memory), usable / kIdleTls, limits.client_connections,
      format_size(whole_mebibytes(most + most / 7)));
}

void append_warnings(const Snapshot& snapshot, std::vector<std::string>& lines) {
  const conf::Config& settings = snapshot.settings;
  for (std::size_t i = 0; i < settings.listeners.size(); ++i) {
    const std::string key = fmt::format("listeners[{}].tls", i);
    check_mode(key + ".key", settings.listeners[i].tls.key, lines);
    if (snapshot.listeners[i].tls == nullptr) continue;
    check_dates(key, *snapshot.listeners[i].tls, lines);
    const std::int64_t end = snapshot.listeners[i].tls->revocations_end();
    if (end != 0 && end <= std::time(nullptr)) {
      lines.push_back(
          fmt::format("{}.crl: a list is out of date, so that the certificates it is about are refused: put "
                      "the next one there",
                      key));
    }
  }
  if (snapshot.inspection != nullptr) check_authority(*snapshot.inspection, lines);
  if (snapshot.inspection != nullptr &&
      snapshot.inspection->rules().greatest_mode() == conf::TlsInspection::Mode::all) {
    if (auto line = memory_warning(settings.limits)) lines.push_back(*std::move(line));
  }
  if (snapshot.groups != nullptr) {
    for (std::string& line : snapshot.groups->warnings()) lines.push_back(std::move(line));
  }
  check_mode("admin.tls.key", settings.admin.tls.key, lines);
  if (snapshot.admin_tls != nullptr) check_admin_certificate(snapshot, lines);
  const conf::Upstream& upstream = settings.upstream;
  check_mode("upstream.credentials_file", upstream.credentials_file, lines);
  check_mode("authentication.users_file", settings.authentication.users_file, lines);
  check_mode("admin.users_file", settings.admin.users_file, lines);
  if (!upstream.credentials_file.empty() && !upstream.tls) {
    lines.emplace_back("upstream.credentials_file: goes to the parent in clear: upstream.tls is false");
  }
  for (const conf::Filter& filter : settings.filters) check_sources(filter, lines);
  check_mode("update.credentials_file", settings.update.credentials_file, lines);
  for (std::string& line : list_warnings(settings, std::time(nullptr))) lines.push_back(std::move(line));
  if (settings.access.clients.empty()) lines.emplace_back("access.clients: is empty: nobody may use the proxy");
  if (settings.filters.empty()) lines.emplace_back("no filters are configured: nothing will be blocked");
}

std::vector<std::string> listener_errors(const conf::Config& settings) {
  std::vector<std::pair<std::string, std::string>> addresses;  // key and address
  for (std::size_t i = 0; i < settings.listeners.size(); ++i) {
    addresses.emplace_back(fmt::format("listeners[{}].address", i), settings.listeners[i].address);
  }
  std::vector<std::string> lines;
  for (std::size_t i = 0; i < settings.answers.size(); ++i) {
    const conf::Answers& door = settings.answers[i];
    addresses.emplace_back(fmt::format("answers[{}].address", i), door.address);
    if (!door.group) continue;
    if (const auto known = group_id(*door.group); !known) {
      lines.push_back(
          fmt::format("answers[{}].group: {}: name one that `getent group` shows, or leave it out", i, known.error()));
    }
  }
  if (settings.admin.address) addresses.emplace_back("admin.address", *settings.admin.address);
  for (std::size_t later = 1; later < addresses.size(); ++later) {
    for (std::size_t earlier = 0; earlier < later; ++earlier) {
      const auto one = Endpoint::parse(addresses[earlier].second), two = Endpoint::parse(addresses[later].second);
      if (!one || !two || !collide(one->unmapped(), two->unmapped())) continue;
      lines.push_back(fmt::format("{}: {}: is taken by {}: {}", addresses[later].first, addresses[later].second,
                                  addresses[earlier].first, addresses[earlier].second));
    }
  }
  return lines;
}

std::vector<std::string> log_errors(const conf::Log& settings) {
  std::vector<std::string> lines;
  check_log("log.file", settings.file, lines);
  check_log("log.access.file", settings.access.file, lines);
  return lines;
}

}  // namespace bloomwall::proxy
