// SPDX-License-Identifier: Apache-2.0
#include "tests/end_to_end/servers.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <random>
#include <stdexcept>
#include <thread>

namespace bloomwall::test {
namespace {

sockaddr_in loopback(std::uint16_t port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  return address;
}

}  // namespace

std::string bloomwall_program() { return BLOOMWALL_BINARY_DIR "/bloomwall"; }
std::string filter_program() { return BLOOMWALL_BINARY_DIR "/bloomwall-filter"; }

void build_filter(const std::string& file, const std::string& list, const std::vector<std::string>& options) {
  std::vector<std::string> argv{filter_program(), "build", "-o", file};
  argv.insert(argv.end(), options.begin(), options.end());
  argv.emplace_back("-");
  const auto built = run(argv, list, Seconds(300));
  ASSERT_EQ(built.status, 0) << built.out;
}

// Connections get theirs from 32768 on, unless the machine is set up otherwise.
std::uint16_t free_port() {
  std::random_device random;
  for (int tries = 0; tries < 1000; ++tries) {
    const auto port = static_cast<std::uint16_t>(10'240 + random() % 22'528);
    const int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    const sockaddr_in address = loopback(port);
    const bool is_free = ::bind(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0;
    ::close(fd);
    if (is_free) return port;
  }
  throw std::runtime_error("no free port");
}

bool accepts_connections(std::uint16_t port, Seconds bound) {
  const auto deadline = std::chrono::steady_clock::now() + bound;
  while (std::chrono::steady_clock::now() < deadline) {
    const int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    const sockaddr_in address = loopback(port);
    const bool connected = ::connect(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0;
    ::close(fd);
    if (connected) return true;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));  // a server that starts gives no other event
  }
  return false;
}

Proxy::Proxy(const TempDir& folder, const std::string& yaml, Admin admin, const BeforeExec& before_exec)
    : admin_(admin) {
  configure(folder, yaml);
  process_ = std::make_unique<Process>(std::vector<std::string>{bloomwall_program(), "run", "--config", config_},
                                       std::string(), before_exec);
  port_ = port_in("listening on 127.0.0.1:");
  if (admin_ == Admin::on) admin_port_ = port_in("admin on 127.0.0.1:");
}

void Proxy::configure(const TempDir& folder, const std::string& yaml) {
  config_ =
      folder.write("bloomwall.yaml",
                   "listeners: [{address: 127.0.0.1:0}]\n"
                   "admin: {address: " +
                       std::string(admin_ == Admin::on ? "127.0.0.1:0" : "null") + ", control_socket: control.sock}\n" +
                       (yaml.find("timeouts:") == std::string::npos ? "timeouts: {announce: 0}\n" : "") +
                       (yaml.find("state_dir:") == std::string::npos ? "state_dir: null\n" : "") + yaml);
}

std::uint16_t Proxy::port_in(const std::string& prefix) {
  const auto line = process_->wait_for_line(prefix);
  if (!line) throw std::runtime_error("bloomwall did not start:\n" + process_->output());
  return static_cast<std::uint16_t>(std::stoi(line->substr(line->find(prefix) + prefix.size())));
}

Nginx::Nginx(const TempDir& folder) : folder_(folder.path("nginx")) {
  std::filesystem::create_directories(folder_ + "/root");
  const auto made = run({"openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1",
                         "-nodes", "-keyout", folder_ + "/key.pem", "-out", folder_ + "/cert.pem", "-days", "2",
                         "-subj", "/CN=example.test", "-addext", "subjectAltName=DNS:example.test,DNS:*.example.test"});
  if (made.status != 0) throw std::runtime_error(made.out);
  for (int attempt = 0; attempt < 5; ++attempt) {
    port_ = free_port();
    tls_port_ = free_port();
    write_config();
    process_ = std::make_unique<Process>(
        std::vector<std::string>{"nginx", "-p", folder_, "-c", folder_ + "/nginx.conf", "-e", folder_ + "/error.log"});
    if (accepts_connections(port_, Seconds(5)) && accepts_connections(tls_port_, Seconds(5))) return;
  }
  throw std::runtime_error("nginx did not start:\n" + process_->output());
}

void Nginx::write_config() const {
  std::ofstream out(folder_ + "/nginx.conf");
  out << "daemon off;\nworker_processes 1;\npid " << folder_ << "/nginx.pid;\n"
      << (::geteuid() == 0 ? "user root;\n" : "") << "events { worker_connections 8192; }\nhttp {\n"
      << "  log_format plain '$host $request';\n  access_log " << folder_ << "/access.log plain;\n";
  for (const char* kind : {"client_body", "proxy", "fastcgi", "uwsgi", "scgi"}) {
    out << "  " << kind << "_temp_path " << folder_ << "/" << kind << ";\n";
  }
  out << "  keepalive_requests 1000000;\n  default_type text/html;\n  server {\n    listen 127.0.0.1:" << port_
      << ";\n    listen 127.0.0.1:" << tls_port_
      << " ssl;\n    ssl_certificate cert.pem;\n    ssl_certificate_key key.pem;\n"
      << "    root " << folder_ << "/root;\n    location / { try_files $uri /page.html; }\n  }\n}\n";
}

}  // namespace bloomwall::test
