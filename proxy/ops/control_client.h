// The asking side of control_socket.h. Blocking; for commands, not for event loops.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <string_view>
#include <tl/expected.hpp>

#include "proxy/io/handles.h"

namespace bloomwall::proxy {

// Connected, or nothing with errno set.
UniqueFd connect_to(const std::filesystem::path& socket);

// Who answered: its process, and the configuration that it serves. Empty where it does not say.
struct Answerer {
  std::string pid, configuration;
};

// Asks and waits for the answer. Each line that is said goes to `said`. Returns the status, or why there is none: nobody
// listens, no permission, the daemon went away.
tl::expected<int, std::string> ask(const std::filesystem::path& socket, std::string_view request,
                                   const std::function<void(std::string_view)>& said, Answerer* who = nullptr);

}  // namespace bloomwall::proxy
