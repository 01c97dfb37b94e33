// A client that sends its request as early data (0-RTT), which whoever stands between could send again: it is not read,
// and the client sends it once more behind the handshake.
// SPDX-License-Identifier: Apache-2.0
#include <openssl/ssl.h>

#include <array>
#include <future>
#include <stdexcept>
#include <string>

#include "tests/proxy/worker/inspection_fixture.h"

namespace bloomwall::test {
namespace {

class EarlyData : public InspectionTest {
 protected:
  EarlyData() {
    SSL_CTX_load_verify_file(context_.get(), given.settings.tls_inspection.ca.certificate.c_str());
    SSL_CTX_set_verify(context_.get(), SSL_VERIFY_PEER, nullptr);
    SSL_CTX_set_session_cache_mode(context_.get(), SSL_SESS_CACHE_CLIENT);
  }
  // One connection: `early`, then the handshake, then a request whose answer is read. The session that it leaves.
  proxy::SslSessionPtr ask(const std::string& path, SSL_SESSION* session) {
    auto [socket, server_socket] = tunnel();
    TlsPeer server(std::move(server_socket), proxy::TlsSession::accept(**serving_));
    const proxy::SslPtr ssl = new_ssl(socket, session);
    const std::string request = inner(at("ok.test"), path);
    std::size_t written = 0;
    if (session != nullptr) {
      EXPECT_EQ(SSL_write_early_data(ssl.get(), request.data(), request.size(), &written), 1);
    }
    EXPECT_EQ(written, session != nullptr ? request.size() : 0U);
    const auto shaken = std::async(std::launch::async, [&server] { server.shake_hands(); });
    EXPECT_EQ(SSL_connect(ssl.get()), 1);
    shaken.wait();
    EXPECT_EQ(SSL_get_early_data_status(ssl.get()),
              session != nullptr ? SSL_EARLY_DATA_REJECTED : SSL_EARLY_DATA_NOT_SENT);
    SSL_write(ssl.get(), request.data(), static_cast<int>(request.size()));
    EXPECT_TRUE(server.read_head().starts_with("GET " + path + " "));
    server.send(ok("once"));
    EXPECT_TRUE(read_answer(ssl.get()).ends_with("once"));
    SSL_set_shutdown(ssl.get(), SSL_SENT_SHUTDOWN | SSL_RECEIVED_SHUTDOWN);  // else its session counts as broken
    socket.close();
    EXPECT_EQ(server.read_to_end(), "") << "there was one request";
    return proxy::SslSessionPtr(SSL_get1_session(ssl.get()));
  }

 private:
  proxy::SslPtr new_ssl(const ScriptedPeer& socket, SSL_SESSION* session) const {
    proxy::SslPtr ssl(SSL_new(context_.get()));
    std::string name = "ok.test";
    SSL_ctrl(ssl.get(), SSL_CTRL_SET_TLSEXT_HOSTNAME, TLSEXT_NAMETYPE_host_name, name.data());
    SSL_set_fd(ssl.get(), socket.fd());
    if (session != nullptr) SSL_set_session(ssl.get(), session);
    return ssl;
  }
  static std::string read_answer(SSL* ssl) {
    std::array<char, 4096> room{};
    std::string got;
    while (!got.ends_with("once")) {
      const int size = SSL_read(ssl, room.data(), room.size());
      if (size <= 0) throw std::runtime_error("no answer: " + got);
      got.append(room.data(), static_cast<std::size_t>(size));
    }
    return got;
  }

  const proxy::SslContextPtr context_{SSL_CTX_new(TLS_client_method())};
};

TEST_F(EarlyData, IsNotReadAndTheRequestIsServedOnce) {
  const auto kept = ask("/first", nullptr);
  EXPECT_EQ(SSL_SESSION_get_max_early_data(kept.get()), 0U) << "nobody was invited to send any";
  SSL_SESSION_set_max_early_data(kept.get(), 4096);
  ask("/second", kept.get());
}

}  // namespace
}  // namespace bloomwall::test
