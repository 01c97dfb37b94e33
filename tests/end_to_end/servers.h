// The servers of an end-to-end test: bloomwall itself as its users run it, and nginx as the origin behind it.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "tests/end_to_end/process.h"

namespace bloomwall::test {

std::string bloomwall_program();  // paths of the programs under test
std::string filter_program();

// Builds FILE from the text of a list; fails the test where that fails.
void build_filter(const std::string& file, const std::string& list, const std::vector<std::string>& options = {});

// A port nobody listens on now. Somebody else may take it before its user does: users try again.
std::uint16_t free_port();
bool accepts_connections(std::uint16_t port, Seconds bound = Seconds(10));

// `bloomwall run` with a configuration of the test's. Listens on a port of the kernel's choice.
class Proxy {
 public:
  // `yaml` comes after listeners and admin, which are set here: each test has its own control socket, and an admin
  // listener where it wants one. Its end is not announced unless `yaml` has timeouts, and nothing is kept unless it has
  // a state_dir.
  enum class Admin : std::uint8_t { off, on };
  Proxy(const TempDir& folder, const std::string& yaml, Admin admin = Admin::off, const BeforeExec& before_exec = {});
  Process& process() { return *process_; }
  std::uint16_t port() const { return port_; }
  std::uint16_t admin_port() const { return admin_port_; }
  // Another configuration under the same name, for the next reload.
  void configure(const TempDir& folder, const std::string& yaml);
  std::string address() const { return "127.0.0.1:" + std::to_string(port_); }
  std::string url() const { return "http://" + address(); }
  const std::string& config() const { return config_; }
  Finished reload() const { return run({bloomwall_program(), "reload", "--config", config_}); }

 private:
  std::uint16_t port_in(const std::string& prefix);
  Admin admin_;
  std::string config_;
  std::unique_ptr<Process> process_;
  std::uint16_t port_ = 0, admin_port_ = 0;
};

// nginx with a document root, plain and TLS (a certificate of its own for *.example.test), everything below `folder`.
class Nginx {
 public:
  explicit Nginx(const TempDir& folder);
  std::uint16_t port() const { return port_; }
  std::uint16_t tls_port() const { return tls_port_; }
  std::string certificate() const { return folder_ + "/cert.pem"; }
  std::string access_log() const { return folder_ + "/access.log"; }  // one line a request: host, then the request line

 private:
  void write_config() const;
  std::string folder_;
  std::uint16_t port_ = 0, tls_port_ = 0;
  std::unique_ptr<Process> process_;
};

}  // namespace bloomwall::test
