// A request to the running proxy over its unix socket (http_server.h). Blocking; for commands, not for event loops.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <functional>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <tl/expected.hpp>

#include "base/terminal.h"
#include "proxy/io/timer_wheel.h"

namespace bloomwall::proxy {

struct HttpPatience {
  Milliseconds head{30'000};      // until the head of the response
  Milliseconds silence{600'000};  // between two pieces of its body
};

// Sends a request, of type application/json where it has a body, and gives the body of the response to `on_body`, piece
// by piece as it comes, with the status. Returns the status once the response is complete, or the error: connection
// refused, no permission, no HTTP, the proxy closed the connection or timed out.
using OnHttpBody = std::function<void(int status, std::string_view piece)>;
struct HttpQuestion {
  std::string_view method, path, body = {};
};
tl::expected<int, std::string> ask_http(const std::filesystem::path& socket, const HttpQuestion& question,
                                        const OnHttpBody& on_body, const HttpPatience& patience = {});

// A question to the running proxy of a configuration, for commands whose answer is one JSON object. Blocking.
// Errors are printed, and are the exit status: 78 the configuration, 1 the proxy refuses (4xx), 2 there is nobody to
// ask, or it failed. What an answer warns of ("warnings") is printed, too. At most 64 MiB of it are taken.
tl::expected<nlohmann::ordered_json, int> ask_running(const std::filesystem::path& config, const HttpQuestion& question,
                                                      const Streams& io);

// All pages of a list, as one: {"items":[...],"next":null}. `path` without a cursor, its query begun ("/x?limit=9").
tl::expected<nlohmann::ordered_json, int> ask_for_all(const std::filesystem::path& config, const std::string& path,
                                                      const Streams& io);

}  // namespace bloomwall::proxy
