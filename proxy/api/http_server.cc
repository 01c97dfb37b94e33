// SPDX-License-Identifier: Apache-2.0
#include "proxy/api/http_server.h"

#include <fmt/format.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "proxy/http/http1_reader.h"
#include "proxy/io/tcp_transport.h"
#include "proxy/io/tls_transport.h"

namespace bloomwall::proxy {

// One client. Owned by the table; deleted by DeferredDeletion only.
class HttpServer::Connection final : public DeletedLater, public Transport::Handler {
 public:
  Connection(HttpServer& owner, std::uint64_t id, UniqueFd fd, const HttpPeer& peer)
      : owner_(owner),
        id_(id),
        peer_(peer),
        socket_(fd.get()),
        transport_(std::make_unique<TcpTransport>(owner.io_, std::move(fd), *this)),
        reader_(owner.limits_),
        patience_(owner.io_.loop.timers(), [](void* self) { static_cast<Connection*>(self)->on_late(); }, this) {
    patience_.set(owner_.bounds_.patience);
    if (owner_.tls_ == nullptr) return;
    transport_ =
        std::make_unique<TlsTransport>(owner_.io_, std::move(transport_), TlsSession::accept(*owner_.tls_), *this);
  }

  bool awaits_reply() const { return state_ == State::streaming || state_ == State::waiting; }
  void write(std::string_view text) {
    if (state_ != State::streaming) return;
    transport_->send(is_chunked() ? as_chunk(text) : std::string(text));
    if (transport_->backlog() > kMostBacklog) return close();
    if (transport_->backlog() > 0 && !patience_.is_set()) patience_.set(owner_.bounds_.patience);
  }
  void end() {
    if (state_ != State::streaming) return;
    if (is_chunked()) transport_->send("0\r\n\r\n");
    finish();
  }
  void reply(const HttpReply& whole) {
    if (state_ != State::waiting) return;
    send(whole);
    if (state_ == State::answered && transport_->read_ended() && transport_->backlog() == 0) close();
  }
  void close() {
    patience_.clear();
    transport_->close();
    owner_.on_closed(id_);  // last line: the owner has us deleted later
  }

 private:
  enum class State : std::uint8_t { reading, waiting, streaming, answered };
  bool is_chunked() const { return to_.version == Version::http11; }

  std::size_t on_data(std::span<const char> bytes) override {
    std::size_t used = 0;
    while (state_ == State::reading) {
      const auto step = reader_.feed(bytes.subspan(used));
      if (!step) {
        refuse(step.error());
        break;
      }
      used += step->consumed;
      if (step->event == ReadEvent::need_more) break;
      if (step->event == ReadEvent::head) on_head();
      if (step->event == ReadEvent::body) on_body(step->body);
      if (step->event == ReadEvent::end) answer();
    }
    return bytes.size();  // what comes behind the request is not read
  }
  void on_head() {
    const RequestHead& head = reader_.head();
    to_ = {.is_head = head.method == Method::head, .version = head.version};
    auto found = owner_.routes_.find(head);
    if (!found) return send(found.error());
    match_ = *std::move(found);
    if (match_.route->method == "GET") return answer();
    if (head.expect_continue) transport_->send("HTTP/1.1 100 Continue\r\n\r\n");
  }
  void on_body(std::span<const char> piece) {
    body_.append(piece.data(), piece.size());
    if (body_.size() <= match_.route->most_body) return;
    refuse({ErrorKind::body_too_large, "the body is longer than this path takes"});
  }
  // A malformed head has no known path. An answer to HEAD has no body, whatever else is wrong.
  void refuse(const HttpError& error) {
    to_.is_head = reader_.asks_by_head();
    send(match_.route == nullptr ? refusal(error) : refusal(error, reader_.head()));
  }
  void answer() {
    send(match_.route->handler({reader_.head(), match_.arguments, body_, HttpStream(owner_, id_), peer_}));
  }
  void send(const HttpReply& reply) {
    if (reply.is_later) {
      state_ = State::waiting;
      return patience_.clear();
    }
    ++owner_.answered_.at(static_cast<std::size_t>(std::clamp(reply.status / 100, 0, 5)));
    std::string out;
    write_reply(out, reply, to_, std::chrono::system_clock::now());
    transport_->send(out);
    if (!reply.goes_on || to_.is_head) return finish();
    state_ = State::streaming;
    patience_.clear();
    limit_kernel();
  }
  // The kernel's own queue would hide for long that nobody reads: patience_ begins when that is full. What the client's
  // kernel does not take is given up after the same time.
  void limit_kernel() const {
    const int octets = kStreamQueue;
    const auto longest = static_cast<unsigned>(owner_.bounds_.patience.count());
    ::setsockopt(socket_, SOL_SOCKET, SO_SNDBUF, &octets, sizeof octets);
    if (!peer_.is_local) ::setsockopt(socket_, IPPROTO_TCP, TCP_USER_TIMEOUT, &longest, sizeof longest);
  }
  void finish() {
    state_ = State::answered;
    transport_->shut_write();
    patience_.set(owner_.bounds_.patience);  // to read it and close
  }
  void on_late() {
    if (state_ != State::reading || reader_.at_start()) return close();
    refuse({ErrorKind::request_timeout, "the request took too long to arrive"});
  }
  // A client may shut down its sending side after its request; a complete reply is sent all the same, also one that is
  // still to come. End of input during a streamed reply means that the client has gone.
  void on_end() override {
    if (state_ == State::waiting) return;
    if (state_ != State::answered || transport_->backlog() == 0) close();
  }
  void on_drained() override {
    if (state_ == State::streaming) return patience_.clear();
    if (state_ == State::answered && transport_->read_ended()) close();
  }
  void on_write_failed(int) override { close(); }
  void on_failed(int) override { close(); }

  HttpServer& owner_;
  const std::uint64_t id_;
  const HttpPeer peer_;
  const int socket_;  // transport_'s
  TransportPtr transport_;
  RequestReader reader_;
  Timer patience_;
  ReplyTo to_;
  HttpRoutes::Match match_{};
  std::string body_;
  State state_ = State::reading;
};

HttpServer::Opened HttpServer::open(IoContext& io, const std::string& address, HttpRoutes routes, Bounds bounds,
                                    TlsContextPtr tls, std::optional<ListeningSocket> given) {
  const auto failure = [&](std::string_view why) {
    return tl::unexpected(fmt::format("admin.address: {}: {}", address, why));
  };
  const auto wanted = Endpoint::parse(address);
  if (!wanted) return failure("expected ip:port, [ip6]:port or :port");
  if (!given) {
    if (const auto free = check_free(*wanted); !free) return failure(free.error());
    auto socket = listen_on(*wanted);
    if (!socket) return failure(socket.error());
    given = *std::move(socket);
  }
  return std::unique_ptr<HttpServer>(
      new HttpServer(io, *std::move(given), {}, std::move(routes), bounds, std::move(tls)));
}

HttpServer::Opened HttpServer::open_unix(IoContext& io, const std::filesystem::path& path, HttpRoutes routes,
                                         Bounds bounds, UniqueFd given) {
  const bool is_given = static_cast<bool>(given);
  if (!is_given) {
    auto fd = listen_at(path, bounds.connections);
    if (!fd) return tl::unexpected(fmt::format("admin.control_socket: {}", fd.error()));
    given = *std::move(fd);
  }
  std::unique_ptr<HttpServer> server(
      new HttpServer(io, ListeningSocket{.fd = std::move(given), .address = {}}, path, std::move(routes), bounds));
  if (is_given) server->name_->forget();
  return server;
}

HttpServer::HttpServer(IoContext& io, ListeningSocket socket, const std::filesystem::path& path, HttpRoutes routes,
                       Bounds bounds, TlsContextPtr tls)
    : io_(io),
      routes_(std::move(routes)),
      bounds_(bounds),
      address_(socket.address),
      tls_(std::move(tls)),
      acceptor_(io.loop, *this, std::move(socket), 0, path.string()),
      name_(path.empty() ? nullptr : std::make_unique<SocketName>(path)) {
  acceptor_.start();
}

HttpServer::~HttpServer() = default;

void HttpServer::keep_name() const {
  if (name_ != nullptr) name_->keep();
}

void HttpServer::hand_over() {
  if (name_ != nullptr) name_->forget();
  acceptor_.finish(true);
}

void HttpServer::on_accepted(UniqueFd fd, const Endpoint& client, const Acceptor&) {
  // Idle connections must not keep a health check out.
  if (connections_.size() >= bounds_.connections) {
    const auto oldest =
        std::ranges::find_if(connections_, [](const auto& each) { return !each.second->awaits_reply(); });
    if (oldest == connections_.end()) return;  // closed: fd goes out of scope
    oldest->second->close();
  }
  const std::uint64_t id = next_id_++;
  const HttpPeer peer = name_ == nullptr ? HttpPeer{.client = client, .is_secure = tls_ != nullptr}
                                         : HttpPeer{.is_local = true, .user = user_of(fd.get())};
  connections_.emplace(id, std::make_unique<Connection>(*this, id, std::move(fd), peer));
}

void HttpServer::on_closed(std::uint64_t id) {
  auto node = connections_.extract(id);
  if (!node.empty()) io_.loop.deferred().delete_later(std::move(node.mapped()));
}

void HttpServer::write(std::uint64_t id, std::string_view text) {
  if (const auto at = connections_.find(id); at != connections_.end()) at->second->write(text);
}

void HttpServer::end(std::uint64_t id) {
  if (const auto at = connections_.find(id); at != connections_.end()) at->second->end();
}

void HttpServer::reply(std::uint64_t id, const HttpReply& whole) {
  if (const auto at = connections_.find(id); at != connections_.end()) at->second->reply(whole);
}

bool HttpServer::goes_on(std::uint64_t id) const {
  const auto at = connections_.find(id);
  return at != connections_.end() && at->second->awaits_reply();
}

}  // namespace bloomwall::proxy
