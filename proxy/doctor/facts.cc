// SPDX-License-Identifier: Apache-2.0
#include "proxy/doctor/facts.h"

#include <fmt/format.h>
#include <pwd.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/timex.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <ctime>
#include <fstream>
#include <memory>
#include <nlohmann/json.hpp>
#include <string_view>
#include <system_error>
#include <utility>

#include "proxy/state/time_text.h"

namespace bloomwall::proxy {
namespace {

using nlohmann::ordered_json;

bool may_write(const struct stat& status, uid_t user) {
  if (user == 0) return true;
  if (status.st_uid == user) return (status.st_mode & S_IWUSR) != 0;
  const passwd* const known = ::getpwuid(user);
  if (known != nullptr && known->pw_gid == status.st_gid) return (status.st_mode & S_IWGRP) != 0;
  return (status.st_mode & S_IWOTH) != 0;
}

std::string name_of(uid_t user) {
  const passwd* const known = ::getpwuid(user);
  return known == nullptr ? fmt::format("uid {}", user) : known->pw_name;
}

std::string text_at(const ordered_json& json, const char* name) {
  const auto at = json.find(name);
  return at != json.end() && at->is_string() ? at->get<std::string>() : std::string();
}
std::uint64_t number_at(const ordered_json& json, const char* name) {
  const auto at = json.find(name);
  return at != json.end() && at->is_number_unsigned() ? at->get<std::uint64_t>() : 0;
}
bool flag_at(const ordered_json& json, const char* name) {
  const auto at = json.find(name);
  return at != json.end() && at->is_boolean() && at->get<bool>();
}
ordered_json items_of(const ordered_json& json) {
  const auto at = json.find("items");
  return at != json.end() && at->is_array() ? *at : ordered_json::array();
}

}  // namespace

FolderState look_at_folder(const std::string& key, const std::filesystem::path& path, std::optional<uid_t> user) {
  FolderState out{.key = key, .path = path, .writer = name_of(user.value_or(::geteuid()))};
  struct stat status{};
  struct statvfs system{};
  if (::stat(path.c_str(), &status) != 0 || ::statvfs(path.c_str(), &system) != 0) {
    out.error = errno;
    return out;
  }
  if (!S_ISDIR(status.st_mode)) {
    out.error = ENOTDIR;
    return out;
  }
  // Access lists count where the caller is the one who writes.
  out.is_writable = user && *user != ::geteuid() ? may_write(status, *user) : ::access(path.c_str(), W_OK) == 0;
  out.bytes = std::uint64_t{system.f_blocks} * system.f_frsize;
  out.free = std::uint64_t{system.f_bavail} * system.f_frsize;
  out.inodes = system.f_files;
  out.unused = system.f_favail;
  return out;
}

std::optional<uid_t> user_id(const std::string& name) {
  const passwd* const known = ::getpwnam(name.c_str());
  if (known == nullptr) return std::nullopt;
  return known->pw_uid;
}

MachineClock read_clock() {
  timex state{};
  const int result = ::adjtimex(&state);
  return {.now = std::time(nullptr), .is_synchronised = result != TIME_ERROR && (state.status & STA_UNSYNC) == 0};
}

std::optional<std::uint64_t> descriptor_limit_of(int pid) {
  constexpr std::string_view kLine = "Max open files";
  std::ifstream limits(fmt::format("/proc/{}/limits", pid));
  for (std::string line; std::getline(limits, line);) {
    if (!line.starts_with(kLine)) continue;
    const std::size_t begin = line.find_first_of("0123456789", kLine.size());
    if (begin == std::string::npos) return std::nullopt;  // unlimited, or what we do not know
    std::uint64_t soft = 0;
    if (std::from_chars(line.data() + begin, line.data() + line.size(), soft).ec != std::errc{}) return std::nullopt;
    return soft;
  }
  return std::nullopt;
}

void take_status(const ordered_json& status, Running& running) {
  running.pid = static_cast<int>(number_at(status, "pid"));
  running.configuration = text_at(status, "configuration");
  running.loaded = std::max(running.loaded, parse_time(text_at(status, "started")).value_or(0));
}

void take_filters(const ordered_json& filters, Running& running) {
  for (const ordered_json& item : items_of(filters)) {
    if (!item.is_object()) continue;
    running.filters.push_back({.name = text_at(item, "name"),
                               .created = text_at(item, "created"),
                               .sequence = number_at(item, "sequence"),
                               .bytes = number_at(item, "bytes"),
                               .lost = flag_at(item, "lost")});
    const auto fallback = item.find("fallback");
    if (fallback == item.end() || !fallback->is_object()) continue;
    const auto why = fallback->find("why");
    const bool is_told = why != fallback->end() && why->is_array() && !why->empty() && why->front().is_string();
    running.fallbacks.push_back({text_at(item, "name"), is_told ? why->front().get<std::string>() : "not said"});
  }
}

void take_reloads(const ordered_json& reloads, Running& running) {
  bool is_newest = true;
  for (const ordered_json& item : items_of(reloads)) {
    if (!item.is_object()) continue;
    const std::int64_t at = parse_time(text_at(item, "at")).value_or(0);
    if (flag_at(item, "ok")) {
      running.loaded = std::max(running.loaded, at);
      return;
    }
    if (std::exchange(is_newest, false)) {
      running.has_failed_reload = true;
      running.failed_at = at;
      const auto lines = item.find("lines");
      if (lines != item.end() && lines->is_array() && !lines->empty() && lines->front().is_string()) {
        running.failure = lines->front().get<std::string>();
      }
    }
  }
}

}  // namespace bloomwall::proxy
