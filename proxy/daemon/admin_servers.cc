// SPDX-License-Identifier: Apache-2.0
#include "proxy/daemon/admin_servers.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <cstddef>
#include <ctime>
#include <utility>

#include "proxy/decision/admin_certificate.h"
#include "proxy/decision/snapshot.h"
#include "proxy/io/interfaces.h"
#include "proxy/log/log.h"

namespace bloomwall::proxy {
namespace {

constexpr std::size_t kPoolBytes = std::size_t{64} << 20;  // of connections of both
constexpr std::size_t kScratchBytes = std::size_t{64} << 10;
constexpr Milliseconds kLongestControlWait{5000};
constexpr HttpServer::Bounds kAdminBounds{.connections = 64, .patience = Milliseconds(10'000)};
constexpr HttpServer::Bounds kControlBounds{.connections = 32, .patience = Milliseconds(5000)};

std::optional<ListeningSocket> take_passed_admin(PassedSockets& passed, const std::string& address) {
  const auto wanted = Endpoint::parse(address);
  auto socket = std::exchange(passed.admin, std::nullopt);
  if (!socket || !wanted) return std::nullopt;
  const bool is_meant = wanted->port() == 0 ? wanted->same_ip(socket->address) : *wanted == socket->address;
  return is_meant ? std::move(socket) : std::nullopt;
}

}  // namespace

AdminServers::AdminServers(EventLoop& loop, const Served& served, const std::filesystem::path& file,
                           const conf::Config& settings, Routes routes)
    : loop_(loop),
      pool_(kPoolBytes),
      scratch_(kScratchBytes),
      io_{loop_, pool_, scratch_},
      served_(served),
      file_(file),
      settings_(settings),
      routes_(std::move(routes)),
      control_retry_(loop.timers(), [](void* self) { static_cast<AdminServers*>(self)->on_control_retry(); }, this) {}

AdminServers::~AdminServers() = default;

tl::expected<void, std::string> AdminServers::open(PassedSockets& passed) {
  const conf::Admin& admin = settings_.admin;
  if (!admin.control_socket.empty()) {
    // Nothing but `bloomwall reload` needs it, and the default place exists only where a service manager made it.
    const bool is_meant = passed.control_path == admin.control_socket;
    if (const auto opened = open_control(is_meant ? std::move(passed.control) : UniqueFd()); !opened) {
      log::warning("{}; `bloomwall reload` cannot reach this process, SIGHUP can", opened.error());
      control_retry_.set(control_wait_);
    }
  }
  if (!admin.address) return {};
  auto tls = AdminCertificate::load(settings_, interfaces(), std::time(nullptr));
  if (!tls) return tl::unexpected(tls.error());
  auto opened =
      HttpServer::open(io_, *admin.address, HttpRoutes(routes_(Door::address), admin.hosts), kAdminBounds,
                       *tls == nullptr ? nullptr : (*tls)->context(), take_passed_admin(passed, *admin.address));
  if (!opened) return tl::unexpected(opened.error());
  admin_ = *std::move(opened);
  log::info("admin on {} (/healthz /readyz /metrics)", admin_->address().text());
  return {};
}

tl::expected<void, std::string> AdminServers::open_control(UniqueFd passed) {
  auto opened =
      HttpServer::open_unix(io_, settings_.admin.control_socket,
                            HttpRoutes(routes_(Door::control_socket), std::nullopt), kControlBounds, std::move(passed));
  if (!opened) return tl::unexpected(opened.error());
  control_ = *std::move(opened);
  running_ = std::make_unique<RunningSocket>(file_, settings_.admin.control_socket);
  return {};
}

// Another instance may have held the socket and ended since; usually soon, when this process replaces it.
void AdminServers::on_control_retry() {
  if (served_.phase() == Phase::draining) return;
  if (!open_control({})) {
    control_wait_ = std::min(2 * control_wait_, kLongestControlWait);
    return control_retry_.set(control_wait_);
  }
  log::info("admin.control_socket {} can be used now", settings_.admin.control_socket.string());
}

void AdminServers::keep_control_socket(PassedSockets& passed) {
  if (control_ != nullptr) control_->keep_name();
  if (passed.control) const SocketName removed(passed.control_path);
  passed.control.reset();
}

void AdminServers::give_up() {
  if (running_ != nullptr) running_->forget();
  control_.reset();
  admin_.reset();
}

void AdminServers::hold(bool is_held) {
  for (HttpServer* const server : {admin_.get(), control_.get()}) {
    if (server != nullptr) is_held ? server->hold() : server->resume();
  }
}

void AdminServers::hand_over() {
  for (HttpServer* const server : {admin_.get(), control_.get()}) {
    if (server != nullptr) server->hand_over();
  }
  if (running_ != nullptr) running_->forget();
  control_retry_.clear();
}

void AdminServers::close_control() {
  running_.reset();
  control_.reset();
}

void AdminServers::close() {
  close_control();
  admin_.reset();
}

void AdminServers::show_certificate() {
  const SnapshotPtr snapshot = served_.snapshot();
  if (admin_ != nullptr && settings_.admin.tls.is_on() && snapshot->admin_tls != nullptr)
    admin_->set_tls(snapshot->admin_tls->context());
}

void AdminServers::renew_certificate() {
  const SnapshotPtr snapshot = served_.snapshot();
  if (admin_ == nullptr || snapshot == nullptr || snapshot->admin_tls == nullptr) return;
  AdminCertificate& certificate = *snapshot->admin_tls;
  if (certificate.authority() == nullptr) return;
  const auto renewed = certificate.renew(interfaces(), std::time(nullptr));
  std::string failure = renewed ? std::string() : renewed.error();
  if (failure != certificate_failure_ && !failure.empty()) {
    log::error("admin.tls: internal: {}; the certificate before it is shown on", failure);
  }
  certificate_failure_ = std::move(failure);
  if (!renewed || !*renewed) return;
  admin_->set_tls(certificate.context());
  log::info("admin.tls: a new certificate, for {}", fmt::join(certificate.names(), ", "));
}

std::optional<Endpoint> AdminServers::address() const {
  return admin_ == nullptr ? std::nullopt : std::optional(admin_->address());
}

HttpServer::Answered AdminServers::answered() const {
  HttpServer::Answered sum{};
  for (const HttpServer* const server : {control_.get(), admin_.get()}) {
    if (server == nullptr) continue;
    for (std::size_t i = 0; i < sum.size(); ++i) sum[i] += server->answered()[i];
  }
  return sum;
}

tl::expected<std::vector<Successor::Passed>, std::string> AdminServers::share_sockets() const {
  std::vector<Successor::Passed> out;
  for (const auto& [server, name] :
       {std::pair(admin_.get(), kPassedAdmin), std::pair(control_.get(), kPassedControl)}) {
    if (server == nullptr) continue;
    auto socket = server->share_socket();
    if (!socket) return tl::unexpected(socket.error());
    out.push_back({std::move(socket->fd), name});
  }
  return out;
}

}  // namespace bloomwall::proxy
