// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "base/terminal.h"
#include "proxy/api/http_client.h"
#include "proxy/cli/commands.h"
#include "proxy/reload/running_socket.h"

namespace bloomwall::proxy {
namespace {

constexpr HttpPatience kPatience{.head = Milliseconds(5000), .silence = Milliseconds(5000)};
constexpr std::size_t kMostHealthAnswer = 4096;

}  // namespace

int run_health(const HealthCommand& command, const Streams& io) {
  const auto socket = find_socket(command.config);
  if (!socket) {
    print_lines(io.err, socket.error().lines);
    return socket.error().status;
  }
  std::string answer;
  const auto take = [&answer](int, std::string_view piece) {
    answer.append(piece.substr(0, kMostHealthAnswer - std::min(answer.size(), kMostHealthAnswer)));
  };
  const auto status = ask_http(*socket, {.method = "GET", .path = "/readyz"}, take, kPatience);
  if (!status) {
    print_lines(io.err, {status.error()});
    return kExitError;
  }
  while (answer.ends_with('\n')) answer.pop_back();
  if (command.json) {
    print_json(io.out, {{"ready", *status == 200}, {"text", printable(answer)}});
  } else {
    io.out << printable(answer) << '\n';
  }
  return *status == 200 ? kExitDone : kExitRefused;
}

}  // namespace bloomwall::proxy
