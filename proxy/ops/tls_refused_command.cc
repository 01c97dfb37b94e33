// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <string>

#include "proxy/ops/commands.h"
#include "proxy/ops/loading.h"
#include "proxy/ops/running_proxy.h"

namespace bloomwall::proxy {
namespace {

using filter::printable;
using nlohmann::ordered_json;

std::string text_at(const ordered_json& json, const char* name) {
  const auto at = json.find(name);
  return at != json.end() && at->is_string() ? printable(at->get_ref<const std::string&>()) : std::string("-");
}

// "it pins its keys", in words that say what to do about it.
std::string words_for(const std::string& how) {
  if (how == "pins") return "pins: it accepts our certificates for other hosts";
  if (how == "no_ca") return "no_ca: it lacks the authority";
  return how;
}

}  // namespace

int run_tls_refused(const TlsRefusedCommand& command, const Streams& io) {
  const auto answer = ask_running(command.config, {.method = "GET", .path = "/api/v1/tls/refused"}, io);
  if (!answer) return answer.error();
  if (command.json) {
    filter::print_json(io.out, *answer);
    return kExitDone;
  }
  for (const ordered_json& item : answer->value("items", ordered_json::array())) {
    io.out << fmt::format("{}\t{}\t{}\t{}\t{}\n", text_at(item, "client"), text_at(item, "host"),
                          text_at(item, "since"), words_for(text_at(item, "how")), text_at(item, "signal"));
  }
  return kExitDone;
}

}  // namespace bloomwall::proxy
