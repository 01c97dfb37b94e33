// `bloomwall env`: lines for a shell that send its programs to the proxy.
// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <optional>
#include <string>

#include "base/terminal.h"
#include "conf/forms.h"
#include "proxy/cli/command_line.h"
#include "proxy/cli/footers.h"
#include "proxy/io/endpoint.h"
#include "proxy/reload/loading.h"
#include "proxy/reply/setup_lines.h"

namespace bloomwall::proxy {
namespace {

std::string own_name() {
  std::array<char, 256> name{};
  if (::gethostname(name.data(), name.size() - 1) != 0 || !conf::is_host_name(name.data())) return "localhost";
  return name.data();
}

std::optional<ProxyAddress> address_of(const conf::Listener& listener) {
  const auto endpoint = Endpoint::parse(listener.address);
  const bool is_reachable = endpoint && endpoint->port() != 0 && listener.proxy_protocol.empty() &&
                            listener.mode == conf::Listener::Mode::forward;
  if (!is_reachable) return std::nullopt;
  const std::string ip = endpoint->is_v6() ? "[" + endpoint->ip() + "]" : endpoint->ip();
  return ProxyAddress{endpoint->is_wildcard() ? own_name() : ip, endpoint->port(), !listener.tls.certificate.empty()};
}

// The address that was named; else what the configuration says.
std::optional<ProxyAddress> address_for(const EnvCommand& command, const conf::Config& settings) {
  if (!command.address.empty()) return configured_proxy(command.address);
  if (!settings.pac.proxies.empty()) return configured_proxy(settings.pac.proxies.front());
  for (const conf::Listener& listener : settings.listeners) {
    if (auto address = address_of(listener)) return address;
  }
  return std::nullopt;
}

void print_export(const std::string& name, const std::string& value, const Streams& io) {
  std::string quoted;
  for (const char c : value) quoted += c == '\'' ? std::string("'\\''") : std::string(1, c);
  io.out << fmt::format("export {}='{}'\n", name, quoted);
}

void print_authority(const conf::Config& settings, const Streams& io) {
  if (conf::greatest_inspection_mode(settings) == conf::TlsInspection::Mode::off) return;
  print_export("NODE_EXTRA_CA_CERTS", settings.tls_inspection.ca.certificate.string(), io);
  io.out << "# Others take the system's roots, or a bundle: bloomwall ca export --bundle >bundle.pem, then\n"
            "# SSL_CERT_FILE, CURL_CA_BUNDLE, REQUESTS_CA_BUNDLE and AWS_CA_BUNDLE name it.\n";
}

}  // namespace

int run_env(const EnvCommand& command, const Streams& io) {
  const auto settings = load_settings(command.config);
  if (!settings) {
    print_lines(io.err, settings.error().lines);
    return settings.error().status;
  }
  std::string named = command.address;
  if (!named.empty() && !conf::kPacProxy.check(named)) {
    print_lines(io.err, {fmt::format("--address {}: expected {}", command.address, conf::kPacProxy.expected)});
    return kExitError;
  }
  const auto address = address_for({.config = command.config, .address = named}, *settings);
  if (!address) {
    print_lines(io.err, {"no listener has an address that can be named: name one by --address host:port"});
    return kExitError;
  }
  for (const auto& [name, value] : proxy_environment(*address, settings->pac.direct)) print_export(name, value, io);
  print_authority(*settings, io);
  return kExitDone;
}

void EnvCommands::add(CLI::App& app, int& status, const Streams& io) {
  CLI::App* const sub =
      add_command(app, "env", "Shell lines that make its programs use the proxy.", environment, status, io, run_env);
  sub->add_option("--address", environment.address, "where clients reach the proxy")->type_name("HOST:PORT");
  sub->footer(kEnvFooter);
}

}  // namespace bloomwall::proxy
