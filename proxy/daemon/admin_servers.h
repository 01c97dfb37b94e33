// The two servers of the API: on the admin address and on the control socket. Opens them, passes them on in an upgrade,
// and shows the certificate that is valid now.
// A control socket that another instance holds, or that cannot be made, is tried again; until then this is a warning:
// only `bloomwall reload` and its kin need it. An admin address that cannot be had is an error.
// Call order: construct, open(), then the rest. Thread: the loop's.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <tl/expected.hpp>
#include <vector>

#include "conf/config.h"
#include "proxy/api/http_server.h"
#include "proxy/api/served.h"
#include "proxy/daemon/successor.h"
#include "proxy/io/event_loop.h"
#include "proxy/io/service_manager.h"
#include "proxy/io/transport.h"
#include "proxy/reload/running_socket.h"

namespace bloomwall::proxy {

class AdminServers {
 public:
  enum class Door : std::uint8_t { address, control_socket };
  using Routes = std::function<std::vector<HttpRoute>(Door door)>;

  // `file`: the configuration, as on the command line. It and the settings outlive this. `routes`: called when a door
  // is opened.
  AdminServers(EventLoop& loop, const Served& served, const std::filesystem::path& file, const conf::Config& settings,
               Routes routes);
  ~AdminServers();
  AdminServers(const AdminServers&) = delete;
  AdminServers& operator=(const AdminServers&) = delete;

  // Takes the sockets of `passed` that the settings mean. Error: why nothing may be served.
  tl::expected<void, std::string> open(PassedSockets& passed);
  // In an upgrade, once this process serves: the name of the control socket is its own from then on. A passed socket
  // that the settings do not name is closed, and its name removed.
  void keep_control_socket(PassedSockets& passed);
  void give_up();           // in an upgrade, after open(): the predecessor serves on
  void hold(bool is_held);  // true: clients wait in the queues
  void hand_over();         // another process has the queues and the name of the control socket
  void close();
  void close_control();  // alone, where there is no time for more

  // Of the snapshot that is served.
  void show_certificate();
  void renew_certificate();  // of `admin.tls: internal`; a file's stays as it was read

  std::optional<Endpoint> address() const;  // with the port that the kernel chose
  HttpServer::Answered answered() const;    // by both
  tl::expected<std::vector<Successor::Passed>, std::string> share_sockets() const;

 private:
  tl::expected<void, std::string> open_control(UniqueFd passed);
  void on_control_retry();

  EventLoop& loop_;
  BufferPool pool_;
  std::vector<char> scratch_;
  IoContext io_;
  const Served& served_;
  const std::filesystem::path& file_;
  const conf::Config& settings_;
  const Routes routes_;
  std::string certificate_failure_;  // why it could not be renewed; empty: it could
  Milliseconds control_wait_{100};   // until the control socket is tried again
  Timer control_retry_;
  std::unique_ptr<RunningSocket> running_;  // of control_
  std::unique_ptr<HttpServer> control_, admin_;
};

}  // namespace bloomwall::proxy
