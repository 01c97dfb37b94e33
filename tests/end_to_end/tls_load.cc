// SPDX-License-Identifier: Apache-2.0
#include "tests/end_to_end/tls_load.h"

#include <openssl/err.h>
#include <openssl/ssl.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/time.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <stdexcept>
#include <utility>

#include "proxy/tls/handles.h"
#include "tests/support/scripted_peer.h"

namespace bloomwall::test {
namespace {

constexpr timeval kMostSilence{60, 0};  // no octet for so long is a failure

proxy::SslContextPtr client_context(const std::string& roots) {
  proxy::SslContextPtr context(SSL_CTX_new(TLS_client_method()));
  if (SSL_CTX_load_verify_locations(context.get(), roots.c_str(), nullptr) != 1) {
    throw std::runtime_error("cannot read " + roots);
  }
  SSL_CTX_set_verify(context.get(), SSL_VERIFY_PEER, nullptr);
  SSL_CTX_set_session_cache_mode(context.get(), SSL_SESS_CACHE_OFF);  // sessions are kept here
  return context;
}

std::string last_error(const char* what) {
  std::array<char, 256> text{};
  ERR_error_string_n(ERR_peek_error(), text.data(), text.size());
  ERR_clear_error();
  return std::string(what) + ": " + text.data() + ", " + std::strerror(errno);
}

}  // namespace

// One thread's connections, one after another. A failure throws.
class TlsLoad::Client {
 public:
  explicit Client(TlsLoad& load) : load_(load), plan_(load.plan_), context_(client_context(load.plan_.roots)) {}

  void connection(bool resumes) {
    ScriptedPeer socket = ScriptedPeer::connect(plan_.proxy);
    socket.send("CONNECT " + authority() + " HTTP/1.1\r\nHost: " + authority() + "\r\n" + plan_.fields + "\r\n");
    if (!socket.read_head().starts_with("HTTP/1.1 200")) throw std::runtime_error("no tunnel");
    ::setsockopt(socket.fd(), SOL_SOCKET, SO_RCVTIMEO, &kMostSilence, sizeof kMostSilence);
    proxy::SslPtr tls = shake_hands(socket.fd(), resumes);
    bool kept = true;
    for (unsigned i = 0; kept && i < plan_.requests && !load_.stopping_; ++i) kept = request(tls.get(), i % 5 == 4);
    session_.reset(SSL_get1_session(tls.get()));
    SSL_set_quiet_shutdown(tls.get(), 1);
    SSL_shutdown(tls.get());
  }

 private:
  std::string authority() const { return plan_.host + ":" + std::to_string(plan_.port); }

  proxy::SslPtr shake_hands(int fd, bool resumes) {
    proxy::SslPtr tls(SSL_new(context_.get()));
    SSL_set_fd(tls.get(), fd);
    std::string name = plan_.host;  // as SSL_set_tlsext_host_name() does, without its cast
    SSL_ctrl(tls.get(), SSL_CTRL_SET_TLSEXT_HOSTNAME, TLSEXT_NAMETYPE_host_name, name.data());
    SSL_set1_host(tls.get(), plan_.host.c_str());
    if (resumes && session_) SSL_set_session(tls.get(), session_.get());
    if (SSL_connect(tls.get()) != 1) throw std::runtime_error(last_error("no handshake"));
    const std::lock_guard lock(load_.mutex_);
    ++(SSL_session_reused(tls.get()) != 0 ? load_.report_.resumed : load_.report_.full);
    return tls;
  }

  // Whether the connection is kept after its answer.
  bool request(SSL* tls, bool listed) {
    const std::string text =
        "GET " + (listed ? plan_.listed_path : plan_.path) + " HTTP/1.1\r\nHost: " + authority() + "\r\n\r\n";
    if (SSL_write(tls, text.data(), static_cast<int>(text.size())) <= 0)
      throw std::runtime_error(last_error("no request"));
    const auto [head, body] = read_answer(tls);
    const bool is_right = listed ? head.starts_with("HTTP/1.1 403 ") && body.find("Decision") != std::string::npos
                                 : head.starts_with("HTTP/1.1 200 ") && body == plan_.body;
    if (!is_right) throw std::runtime_error("wrong answer: " + head.substr(0, 300));
    const std::lock_guard lock(load_.mutex_);
    ++load_.report_.requests;
    if (listed) ++load_.report_.blocked;
    return head.find("\r\nConnection: close") == std::string::npos;
  }

  std::pair<std::string, std::string> read_answer(SSL* tls) {
    std::string got;
    std::size_t body_at = std::string::npos, size = 0;
    while (body_at == std::string::npos || got.size() < body_at + size) {
      const int n = SSL_read(tls, buffer_.data(), static_cast<int>(buffer_.size()));
      if (n <= 0) throw std::runtime_error(last_error("answer cut"));
      got.append(buffer_.data(), static_cast<std::size_t>(n));
      if (body_at != std::string::npos) continue;
      if (const auto end = got.find("\r\n\r\n"); end != std::string::npos) {
        body_at = end + 4;
        const auto field = got.find("Content-Length: ");
        if (field > end) throw std::runtime_error("no length: " + got.substr(0, 300));
        size = std::stoul(got.substr(field + 16, 12));
      }
    }
    return {got.substr(0, body_at), got.substr(body_at)};
  }

  TlsLoad& load_;
  const TlsLoadPlan& plan_;
  const proxy::SslContextPtr context_;
  proxy::SslSessionPtr session_;
  std::array<char, 16384> buffer_{};
};

TlsLoad::TlsLoad(TlsLoadPlan plan) : plan_(std::move(plan)) {
  for (unsigned i = 0; i < plan_.clients; ++i) {
    threads_.emplace_back([this] {
      sigset_t broken_pipe;  // a write to a connection that has ended is a failure of the load, not the end of the test
      sigemptyset(&broken_pipe);
      sigaddset(&broken_pipe, SIGPIPE);
      pthread_sigmask(SIG_BLOCK, &broken_pipe, nullptr);
      try {
        Client client(*this);
        for (bool resumes = false; !stopping_; resumes = !resumes) client.connection(resumes);
      } catch (const std::exception& e) {
        fail(e.what());
      }
    });
  }
}

TlsLoad::~TlsLoad() { stop(); }

TlsLoadReport TlsLoad::stop() {
  stopping_ = true;
  for (auto& thread : threads_) {
    if (thread.joinable()) thread.join();
  }
  const std::lock_guard lock(mutex_);
  return report_;
}

void TlsLoad::fail(const std::string& what) {
  const std::lock_guard lock(mutex_);
  ++report_.failure_count;
  if (report_.failures.size() < 10) report_.failures.push_back(what);
}

}  // namespace bloomwall::test
