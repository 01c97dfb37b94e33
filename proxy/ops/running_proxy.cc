// SPDX-License-Identifier: Apache-2.0
#include "proxy/ops/running_proxy.h"

#include <fmt/format.h>

#include <string>
#include <vector>

#include "proxy/ops/commands.h"
#include "proxy/ops/loading.h"

namespace bloomwall::proxy {

using nlohmann::ordered_json;

tl::expected<ordered_json, int> ask_running(const std::filesystem::path& config, const HttpQuestion& question,
                                            const Streams& io) {
  constexpr std::size_t kMostAnswer = std::size_t{64} << 20;
  const auto fail = [&](const std::vector<std::string>& lines, int status) {
    print_lines(io.err, lines);
    return tl::unexpected(status);
  };
  const auto settings = load_settings(config);
  if (!settings) return fail(settings.error().lines, settings.error().status);
  const auto& socket = settings->admin.control_socket;
  if (socket.empty()) return fail({"admin.control_socket is null: the running proxy cannot be asked"}, kExitError);
  std::string body;
  const auto status = ask_http(socket, question, [&](int, std::string_view piece) {
    if (body.size() < kMostAnswer) body += piece;
  });
  if (!status) return fail({status.error()}, kExitError);
  auto json = ordered_json::parse(body, nullptr, false);
  if (!json.is_object()) return fail({fmt::format("{}: {} {}", socket.string(), *status, body)}, kExitError);
  if (*status < 300) return json;
  const auto detail = json.find("detail");
  const bool is_said = detail != json.end() && detail->is_string();
  return fail({is_said ? detail->get<std::string>() : body}, *status < 500 ? kExitRefused : kExitError);
}

}  // namespace bloomwall::proxy
