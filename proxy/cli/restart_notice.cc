// SPDX-License-Identifier: Apache-2.0
#include "proxy/cli/restart_notice.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cstddef>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>

#include "base/terminal.h"
#include "conf/config.h"
#include "proxy/api/http_client.h"
#include "proxy/reload/loading.h"
#include "proxy/reload/running_socket.h"

namespace bloomwall::proxy {
namespace {

constexpr HttpPatience kStatusPatience{.head = Milliseconds(5000), .silence = Milliseconds(5000)};
constexpr std::size_t kMostStatus = std::size_t{1} << 20;

}  // namespace

std::optional<std::string> restart_notice(const std::filesystem::path& file, const conf::Config& settings) {
  using nlohmann::ordered_json;
  const std::filesystem::path socket = socket_to_ask(file, settings.admin.control_socket);
  if (socket.empty()) return std::nullopt;
  std::string body;
  const auto take = [&](int, std::string_view piece) {
    if (body.size() < kMostStatus) body += piece;
  };
  const auto status = ask_http(socket, {.method = "GET", .path = "/api/v1/status"}, take, kStatusPatience);
  if (!status || *status != 200) return std::nullopt;
  const ordered_json json = ordered_json::parse(body, nullptr, false);
  const bool is_whole = json.is_object() && json.contains("configuration") && json.contains("since_start") &&
                        json["since_start"].is_object();
  if (!is_whole || json["configuration"] != printable(configuration_file(file).string())) return std::nullopt;
  conf::RestartValues running;
  for (const auto& [key, value] : json["since_start"].items()) {
    if (value.is_string()) running.emplace_back(key, value.get<std::string>());
  }
  const auto keys = conf::needs_restart(running, settings);
  if (keys.empty()) return std::nullopt;
  return fmt::format("takes effect after a restart only: {} (systemctl restart bloomwall)", fmt::join(keys, ", "));
}

}  // namespace bloomwall::proxy
