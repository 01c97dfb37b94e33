// SPDX-License-Identifier: Apache-2.0
#include "proxy/dns/cares_channel.h"

#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <mutex>
#include <utility>

namespace bloomwall::proxy {
namespace {

constexpr int kFirstTimeoutMs = 1500;  // doubled with each round over the servers
constexpr int kTries = 3;
constexpr Milliseconds kTick{200};  // how late a time-out may be
#ifdef ARES_OPT_UDP_MAX_QUERIES
constexpr int kQuestionsAPort = 16;  // then the next leave from another
#endif
constexpr std::size_t kMaxAnswerAddresses = 16;  // of one family of one name; the rest is not used

bool is_stream(int fd) {
  int type = 0;
  socklen_t size = sizeof type;
  return ::getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &size) == 0 && type == SOCK_STREAM;
}

// c-ares says the same of a server that refuses and of a socket that cannot be had.
bool is_out_of_sockets() { return !UniqueFd(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0)); }

// A server is given to c-ares as "1.2.3.4:53" or "[::1]:53".
tl::expected<std::string, std::string> servers_text(const std::vector<std::string>& servers) {
  std::string joined;
  for (const std::string& server : servers) {
    auto address = Endpoint::parse(server);
    if (!address) address = Endpoint::parse_ip(server, 53);
    if (!address) return tl::unexpected("dns.servers: expected ip or ip:port, got " + server);
    if (!joined.empty()) joined += ',';
    joined += address->text();
  }
  return joined;
}

void init_library() {
  static std::once_flag once;
  std::call_once(once, [] { ares_library_init(ARES_LIB_INIT_ALL); });
}

}  // namespace

CaresChannel::CaresChannel(EventLoop& loop)
    : loop_(loop), tick_(loop.timers(), [](void* self) { static_cast<CaresChannel*>(self)->on_tick(); }, this) {}

CaresChannel::~CaresChannel() { tick_.clear(); }

tl::expected<std::unique_ptr<CaresChannel>, std::string> CaresChannel::create(EventLoop& loop,
                                                                              const std::vector<std::string>& servers) {
  const auto text = servers_text(servers);
  if (!text) return tl::unexpected(text.error());
  init_library();
  std::unique_ptr<CaresChannel> made(new CaresChannel(loop));
  ares_options options{};
  std::array<char, 2> lookups{'b', '\0'};  // DNS servers only; StaticHosts reads the hosts file
  options.flags = ARES_FLAG_NOSEARCH | ARES_FLAG_NOALIASES;
  options.timeout = kFirstTimeoutMs;
  options.tries = kTries;
  options.ndomains = 0;
  options.lookups = lookups.data();
  options.sock_state_cb = [](void* self, ares_socket_t fd, int readable, int writable) {
    static_cast<CaresChannel*>(self)->on_socket_state(fd, readable != 0, writable != 0);
  };
  options.sock_state_cb_data = made.get();
  int mask = ARES_OPT_FLAGS | ARES_OPT_TIMEOUTMS | ARES_OPT_TRIES | ARES_OPT_DOMAINS | ARES_OPT_LOOKUPS |
             ARES_OPT_SOCK_STATE_CB;
#ifdef ARES_OPT_UDP_MAX_QUERIES
  options.udp_max_queries = kQuestionsAPort;
  mask |= ARES_OPT_UDP_MAX_QUERIES;
#endif
  ares_channel channel = nullptr;
  int status = ares_init_options(&channel, &options, mask);
  if (status == ARES_SUCCESS) made->channel_.reset(channel);
  if (status == ARES_SUCCESS && !text->empty()) status = ares_set_servers_ports_csv(channel, text->c_str());
  if (status != ARES_SUCCESS) return tl::unexpected(std::string("resolver: ") + ares_strerror(status));
  return made;
}

ResolveError CaresChannel::error_of(int status) const {
  switch (status) {
    case ARES_SUCCESS:
      return ResolveError::none;
    case ARES_ENOTFOUND:
      return ResolveError::no_such_name;
    case ARES_ENODATA:
      return ResolveError::no_address;
    case ARES_EBADNAME:
      return ResolveError::bad_name;
    case ARES_ETIMEOUT:
      return ResolveError::timed_out;
    case ARES_ECONNREFUSED:
      if (is_ending_) return ResolveError::timed_out;
      return is_out_of_sockets() ? ResolveError::overloaded : ResolveError::failed;
    default:
      return ResolveError::failed;
  }
}

void CaresChannel::ask(const std::string& host, Family family, Asker& asker) {
  ares_addrinfo_hints hints{};
  hints.ai_flags = ARES_AI_NOSORT;
  hints.ai_family = family == Family::v4 ? AF_INET : AF_INET6;
  hints.ai_socktype = SOCK_STREAM;
  ++open_;
  if (!tick_.is_set()) tick_.set(kTick);
  auto question = std::make_unique<Asked>(Asked{this, &asker});
  ares_getaddrinfo(
      channel_.get(), host.c_str(), nullptr, &hints,
      [](void* to, int status, int, ares_addrinfo* raw) {
        const AresAddrinfoPtr info(raw);
        const std::unique_ptr<Asked> asked(static_cast<Asked*>(to));
        FamilyAnswer answer{.addresses = {}, .error = asked->channel->error_of(status)};
        int ttl = static_cast<int>(std::chrono::seconds(std::chrono::hours(24)).count());
        for (auto* node = info ? info->nodes : nullptr; node != nullptr; node = node->ai_next) {
          ttl = std::min(ttl, node->ai_ttl);
          if (answer.addresses.size() < kMaxAnswerAddresses) answer.addresses.push_back(Endpoint::from(node->ai_addr));
        }
        for (auto* alias = info ? info->cnames : nullptr; alias != nullptr; alias = alias->next) {
          ttl = std::min(ttl, alias->ttl);
        }
        if (status == ARES_SUCCESS && answer.addresses.empty()) answer.error = ResolveError::no_address;
        --asked->channel->open_;
        asked->asker->on_answer(std::move(answer), std::chrono::seconds(std::max(ttl, 0)));
      },
      question.release());
}

void CaresChannel::on_socket_state(int fd, bool readable, bool writable) {
  auto found = std::find_if(watches_.begin(), watches_.end(), [&](const auto& watch) { return watch->fd == fd; });
  if (!readable && !writable) {  // about to be closed
    if (found == watches_.end()) return;
    (*found)->event.disarm();
    loop_.deferred().delete_later(std::move(*found));
    watches_.erase(found);
    return;
  }
  if (found == watches_.end()) {
    found = watches_.insert(found, std::make_unique<Watch>());
    (*found)->is_tcp = is_stream(fd);
    (*found)->heard = monotonic_now();
  }
  Watch& watch = **found;
  watch.channel = this;
  watch.fd = fd;
  const int what = (readable ? EV_READ : 0) | (writable ? EV_WRITE : 0) | EV_PERSIST;
  watch.event.assign(
      loop_.base(), fd, static_cast<short>(what),
      [](evutil_socket_t, short how, void* self) {
        auto* ready = static_cast<Watch*>(self);
        ready->channel->on_ready(*ready, how);
      },
      &watch);
  watch.event.arm();
}

void CaresChannel::on_ready(Watch& watch, short what) {
  const int fd = watch.fd;
  if ((what & EV_READ) != 0) watch.heard = monotonic_now();
  ares_process_fd(channel_.get(), (what & EV_READ) != 0 ? fd : ARES_SOCKET_BAD,
                  (what & EV_WRITE) != 0 ? fd : ARES_SOCKET_BAD);
}

void CaresChannel::on_tick() {
  ares_process_fd(channel_.get(), ARES_SOCKET_BAD, ARES_SOCKET_BAD);
  end_silent_connections();
  if (open_ > 0) tick_.set(kTick);
}

// c-ares has no call for that: it reads the end of what was shut down, closes the socket, and sends the questions that
// have a try left on a new connection.
void CaresChannel::end_silent_connections() {
  const Milliseconds now = monotonic_now();
  const auto is_silent = [&](const auto& watch) { return watch->is_tcp && now - watch->heard >= kSilence; };
  for (;;) {  // anew each time: what is closed leaves watches_
    const auto found = std::find_if(watches_.begin(), watches_.end(), is_silent);
    if (found == watches_.end()) return;
    const int fd = (*found)->fd;
    (*found)->heard = now;
    ::shutdown(fd, SHUT_RDWR);
    is_ending_ = true;
    ares_process_fd(channel_.get(), fd, ARES_SOCKET_BAD);
    is_ending_ = false;
  }
}

}  // namespace bloomwall::proxy
