// SPDX-License-Identifier: Apache-2.0
#include "proxy/ops/control_socket.h"

#include <fmt/format.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <system_error>
#include <utility>

#include "proxy/io/tcp_transport.h"
#include "proxy/ops/control_client.h"

namespace bloomwall::proxy {
namespace {

std::string without_line_ends(std::string text) {
  std::ranges::replace_if(text, [](char c) { return c == '\n' || c == '\r'; }, ' ');
  return text;
}

tl::unexpected<std::string> failure(const std::filesystem::path& path, int error) {
  return tl::unexpected(
      fmt::format("admin.control_socket: {}: {}", path.string(), std::generic_category().message(error)));
}

// The name must be free: what a dead process left is removed, anything else stays.
tl::expected<void, std::string> make_room(const std::filesystem::path& path) {
  struct stat status{};
  if (::lstat(path.c_str(), &status) != 0) return {};
  if (!S_ISSOCK(status.st_mode)) return failure(path, EEXIST);
  if (connect_to(path)) return failure(path, EADDRINUSE);
  if (errno != ECONNREFUSED || ::unlink(path.c_str()) != 0) return failure(path, errno);
  return {};
}

}  // namespace

// One who asks. Owned by the table; destroyed by the graveyard only.
class ControlSocket::Connection final : public Buried, public Transport::Handler {
 public:
  Connection(ControlSocket& owner, std::uint64_t id, UniqueFd fd)
      : owner_(owner),
        id_(id),
        transport_(std::make_unique<TcpTransport>(owner.io_, std::move(fd), *this)),
        patience_(owner.io_.loop.timers(), [](void* self) { static_cast<Connection*>(self)->end(); }, this) {
    patience_.set(owner_.bounds_.patience);
  }

  bool waits() const { return asked_ && !answered_; }
  void introduce(const std::string& configuration) {
    transport_->send(fmt::format("from {} {}\n", ::getpid(), without_line_ends(configuration)));
  }
  void say(const std::string& text) { transport_->send(fmt::format("say {}\n", without_line_ends(text))); }
  void answer(const ReloadOutcome& outcome) {
    for (const std::string& warning : outcome.warnings) say(warning);
    for (const std::string& line : outcome.lines) say(line);
    answered_ = true;
    transport_->send(fmt::format("status {}\n", outcome.status));
    transport_->shut_write();
    patience_.set(owner_.bounds_.patience);  // to read it and go
  }

  void end() {
    patience_.clear();
    transport_->close();
    owner_.on_closed(id_);  // last line: the owner buries us
  }

 private:
  std::size_t on_data(std::span<const char> bytes) override {
    if (asked_) return bytes.size();
    const std::size_t used = std::min(bytes.size(), kLongestRequest + 1 - request_.size());
    request_.append(bytes.data(), used);
    const auto line_end = request_.find('\n');
    if (line_end == std::string::npos && request_.size() <= kLongestRequest) return bytes.size();
    asked_ = true;
    patience_.clear();
    owner_.on_request(id_, std::string_view(request_).substr(0, line_end));
    return bytes.size();
  }
  void on_end() override {
    if (!answered_ || transport_->backlog() == 0) end();
  }
  void on_drained() override {
    if (answered_ && transport_->read_ended()) end();
  }
  void on_write_failed(int) override { end(); }
  void on_failed(int) override { end(); }

  ControlSocket& owner_;
  const std::uint64_t id_;
  TransportPtr transport_;
  Timer patience_;
  std::string request_;
  bool asked_ = false, answered_ = false;
};

tl::expected<std::unique_ptr<ControlSocket>, std::string> ControlSocket::open(IoContext& io,
                                                                              const std::filesystem::path& path,
                                                                              OnReload on_reload, Bounds bounds) {
  sockaddr_un address{};
  if (path.native().size() >= sizeof address.sun_path) return failure(path, ENAMETOOLONG);
  if (auto room = make_room(path); !room) return tl::unexpected(room.error());
  UniqueFd fd(::socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  if (!fd) return failure(path, errno);
  address.sun_family = AF_UNIX;
  std::memcpy(address.sun_path, path.c_str(), path.native().size());
  // The mode of the socket becomes that of its name, so there is no moment at which others could open it.
  if (::fchmod(fd.get(), 0660) != 0 ||
      ::bind(fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0 ||
      ::chmod(path.c_str(), 0660) != 0 || ::listen(fd.get(), static_cast<int>(bounds.connections)) != 0) {
    return failure(path, errno);
  }
  auto opened = std::unique_ptr<ControlSocket>(
      new ControlSocket(io, path, std::move(on_reload), bounds, ListeningSocket{std::move(fd), Endpoint()}));
  opened->acceptor_.start();
  return opened;
}

ControlSocket::ControlSocket(IoContext& io, std::filesystem::path path, OnReload on_reload, Bounds bounds,
                             ListeningSocket socket)
    : io_(io),
      path_(std::move(path)),
      on_reload_(std::move(on_reload)),
      bounds_(bounds),
      acceptor_(io.loop, *this, std::move(socket), 0, path_.string()) {
  struct stat made{};
  if (::lstat(path_.c_str(), &made) != 0) return;
  device_ = made.st_dev;
  inode_ = made.st_ino;
}

ControlSocket::~ControlSocket() {
  struct stat there{};
  if (::lstat(path_.c_str(), &there) != 0 || there.st_dev != device_ || there.st_ino != inode_) return;
  ::unlink(path_.c_str());
}

void ControlSocket::on_accepted(UniqueFd fd, const Endpoint&, const Acceptor&) {
  if (connections_.size() >= bounds_.connections) {
    const auto oldest = std::ranges::find_if(connections_, [](const auto& each) { return !each.second->waits(); });
    if (oldest == connections_.end()) return;  // closed: fd goes out of scope
    oldest->second->end();
  }
  const std::uint64_t id = next_id_++;
  connections_.emplace(id, std::make_unique<Connection>(*this, id, std::move(fd)));
}

void ControlSocket::on_request(std::uint64_t id, std::string_view request) {
  if (request == "reload") {
    if (!configuration_.empty()) connections_.at(id)->introduce(configuration_);
    return on_reload_(id);
  }
  answer(id, {2, {}, {"only \"reload\" can be asked for"}});
}

void ControlSocket::on_closed(std::uint64_t id) {
  auto node = connections_.extract(id);
  if (!node.empty()) io_.loop.graveyard().bury(std::move(node.mapped()));
}

void ControlSocket::answer(std::uint64_t id, const ReloadOutcome& outcome) {
  if (const auto at = connections_.find(id); at != connections_.end()) at->second->answer(outcome);
}

void ControlSocket::say(const std::string& text) {
  for (const auto& [id, connection] : connections_) {
    if (connection->waits()) connection->say(text);
  }
}

}  // namespace bloomwall::proxy
