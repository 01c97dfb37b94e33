// SPDX-License-Identifier: Apache-2.0
#include "proxy/ops/admin_server.h"

#include <fmt/format.h>

#include <chrono>
#include <utility>

#include "proxy/http/request_reader.h"
#include "proxy/io/tcp_transport.h"

namespace bloomwall::proxy {

// One who asks. Owned by the table; destroyed by the graveyard only.
class AdminServer::Connection final : public Buried, public Transport::Handler {
 public:
  Connection(AdminServer& owner, std::uint64_t id, UniqueFd fd)
      : owner_(owner),
        id_(id),
        transport_(std::make_unique<TcpTransport>(owner.io_, std::move(fd), *this)),
        reader_(owner.limits_),
        patience_(owner.io_.loop.timers(), [](void* self) { static_cast<Connection*>(self)->end(); }, this) {
    patience_.set(owner_.bounds_.patience);
  }

  void end() {
    patience_.clear();
    transport_->close();
    owner_.on_closed(id_);  // last line: the owner buries us
  }

 private:
  std::size_t on_data(std::span<const char> bytes) override {
    std::size_t used = 0;
    while (!answered_) {
      const auto step = reader_.feed(bytes.subspan(used));
      const TimePoint now = std::chrono::system_clock::now();
      std::string out;
      if (!step) {
        refuse_admin(out, step.error(), now);
        answer(out);
      } else if (step->event == ReadEvent::head) {
        answer_admin(out, reader_.head(), owner_.answers_(), now);
        answer(out);
      } else {
        used += step->consumed;
        if (step->event == ReadEvent::need_more) break;
      }
    }
    return bytes.size();  // what comes behind the request is not read
  }
  void answer(const std::string& out) {
    answered_ = true;
    transport_->send(out);
    transport_->shut_write();
  }
  // A client may close its half as soon as it has asked; the answer goes out all the same.
  void on_end() override {
    if (!answered_ || transport_->backlog() == 0) end();
  }
  void on_drained() override {
    if (transport_->read_ended()) end();
  }
  void on_write_failed(int) override { end(); }
  void on_failed(int) override { end(); }

  AdminServer& owner_;
  const std::uint64_t id_;
  TransportPtr transport_;
  RequestReader reader_;
  Timer patience_;
  bool answered_ = false;
};

tl::expected<std::unique_ptr<AdminServer>, std::string> AdminServer::open(IoContext& io, const std::string& address,
                                                                          Answers answers, Bounds bounds) {
  const auto failure = [&](std::string_view why) {
    return tl::unexpected(fmt::format("admin.address: {}: {}", address, why));
  };
  const auto wanted = Endpoint::parse(address);
  if (!wanted) return failure("expected ip:port, [ip6]:port or :port");
  if (const auto free = check_free(*wanted); !free) return failure(free.error());
  auto socket = listen_on(*wanted);
  if (!socket) return failure(socket.error());
  return std::unique_ptr<AdminServer>(new AdminServer(io, *std::move(socket), std::move(answers), bounds));
}

AdminServer::AdminServer(IoContext& io, ListeningSocket socket, Answers answers, Bounds bounds)
    : io_(io),
      answers_(std::move(answers)),
      bounds_(bounds),
      address_(socket.address),
      acceptor_(io.loop, *this, std::move(socket)) {
  acceptor_.start();
}

AdminServer::~AdminServer() = default;

void AdminServer::on_accepted(UniqueFd fd, const Endpoint&, const Acceptor&) {
  // Whoever holds connections and says nothing must not keep a health check out.
  if (connections_.size() >= bounds_.connections) connections_.begin()->second->end();
  const std::uint64_t id = next_id_++;
  connections_.emplace(id, std::make_unique<Connection>(*this, id, std::move(fd)));
}

void AdminServer::on_closed(std::uint64_t id) {
  auto node = connections_.extract(id);
  if (!node.empty()) io_.loop.graveyard().bury(std::move(node.mapped()));
}

}  // namespace bloomwall::proxy
