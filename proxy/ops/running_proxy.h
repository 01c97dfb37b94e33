// A question to the running proxy of a configuration, for commands whose answer is one JSON object. Blocking.
// Errors are printed, and are the exit status: 78 the configuration, 1 the proxy refuses (4xx), 2 there is nobody to
// ask, or it failed. Of an answer at most 64 MiB are taken.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <nlohmann/json.hpp>
#include <tl/expected.hpp>

#include "filter/cli/terminal.h"
#include "proxy/ops/http_client.h"

namespace bloomwall::proxy {

tl::expected<nlohmann::ordered_json, int> ask_running(const std::filesystem::path& config, const HttpQuestion& question,
                                                      const filter::Streams& io);

}  // namespace bloomwall::proxy
