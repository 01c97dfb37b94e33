// SPDX-License-Identifier: Apache-2.0
#include "tests/proxy/tls/test_origin.h"

#include <openssl/err.h>

#include <array>
#include <stdexcept>

namespace bloomwall::test {
namespace {

void need(bool ok, const char* what) {
  if (ok) return;
  const char* const reason = ERR_reason_error_string(ERR_peek_last_error());
  throw std::runtime_error(std::string("test origin: ") + what + ": " + (reason != nullptr ? reason : "?"));
}

int put_staple(SSL* ssl, void* text) {
  const auto& staple = *static_cast<const std::string*>(text);
  if (staple.empty()) return SSL_TLSEXT_ERR_NOACK;
  void* const copy = OPENSSL_memdup(staple.data(), staple.size());
  SSL_ctrl(ssl, SSL_CTRL_SET_TLSEXT_STATUS_REQ_OCSP_RESP, static_cast<long>(staple.size()), copy);
  return SSL_TLSEXT_ERR_OK;
}

}  // namespace

TestOrigin::TestOrigin(SSL_CTX* context)
    : ssl_(SSL_new(context)), in_(BIO_new(BIO_s_mem())), out_(BIO_new(BIO_s_mem())) {
  need(ssl_ != nullptr && in_ != nullptr && out_ != nullptr, "a connection");
  BIO_set_mem_eof_return(in_, -1);
  SSL_set_bio(ssl_.get(), in_, out_);
  SSL_set_accept_state(ssl_.get());
}

bool TestOrigin::turn(proxy::TlsSession& client) {
  std::array<char, 16'384> room{};
  const std::string up(client.pending().begin(), client.pending().end());
  client.sent();
  if (!up.empty()) BIO_write(in_, up.data(), static_cast<int>(up.size()));
  ERR_clear_error();
  for (int got = 0; (got = SSL_read(ssl_.get(), room.data(), room.size())) > 0;) {
    sent_by_client.append(room.data(), static_cast<std::size_t>(got));
  }
  std::string down;
  for (int got = 0; (got = BIO_read(out_, room.data(), room.size())) > 0;) {
    down.append(room.data(), static_cast<std::size_t>(got));
  }
  if (!down.empty()) client.feed(down);
  for (std::size_t got = 0; (got = client.read(room)) > 0;) read_by_client.append(room.data(), got);
  return !up.empty() || !down.empty();
}

void TestOrigin::run(proxy::TlsSession& client) {
  constexpr int kTurns = 100;
  for (int i = 0; i < kTurns && turn(client); ++i) continue;
}

void TestOrigin::write(const std::string& text) {
  need(SSL_write(ssl_.get(), text.data(), static_cast<int>(text.size())) > 0, "a write");
}

std::string outcome_of(const proxy::TlsSession& client) {
  using Fault = proxy::TlsSession::Fault;
  switch (client.fault()) {
    case Fault::none:
      return client.is_established() ? "ok" : "open";
    case Fault::certificate:
      return "certificate " + std::string(to_string(client.certificate_error()));
    case Fault::alert:
      return "alert " + std::to_string(client.alert_received());
    case Fault::protocol:
      return "protocol";
  }
  return "?";
}

Scene::Scene() {
  root_spec.common_name = "Test Root";
  root_spec.is_ca = true;
  intermediate_spec.common_name = "Test Intermediate";
  intermediate_spec.is_ca = true;
  leaf_spec.dns = {"good.example.test"};
  leaf_spec.common_name = "leaf";
  make();
}

void Scene::make() {
  root = issue(root_spec);
  intermediate = issue(intermediate_spec, &root);
  make_leaf();
}

void Scene::make_leaf() { leaf = issue(leaf_spec, &intermediate); }

void Scene::load() {
  if (trust.ca_file.empty()) {
    std::vector<const X509*> all(roots.begin(), roots.end());
    if (all.empty()) all.push_back(root.get());
    trust.ca_file = dir.write("roots.pem", pem_of(all));
  }
  auto loaded = proxy::OriginVerifier::load(trust, [this] { return clock; });
  if (!loaded) throw std::runtime_error(loaded.error());
  verifier = *std::move(loaded);
  auto made = proxy::TlsContext::for_origins(verifier);
  if (!made) throw std::runtime_error(made.error());
  context = *std::move(made);
}

proxy::SslContextPtr Scene::server() const {
  proxy::SslContextPtr server(SSL_CTX_new(TLS_server_method()));
  SSL_CTX_set_security_level(server.get(), 0);
  need(SSL_CTX_set_min_proto_version(server.get(), 0) == 1, "versions");
  std::vector<X509*> chain = sent;
  if (chain.empty()) chain = {leaf.get(), intermediate.get()};
  const proxy::X509StackPtr rest(sk_X509_new_null());
  for (std::size_t i = 1; i < chain.size(); ++i) sk_X509_push(rest.get(), proxy::share(chain[i]).release());
  need(SSL_CTX_use_cert_and_key(server.get(), chain.front(), key != nullptr ? key : leaf.key, rest.get(), 1) == 1,
       "a certificate and its key");
  int (*const on_staple)(SSL*, void*) = put_staple;
  SSL_CTX_callback_ctrl(server.get(), SSL_CTRL_SET_TLSEXT_STATUS_REQ_CB, reinterpret_cast<void (*)()>(on_staple));
  SSL_CTX_ctrl(server.get(), SSL_CTRL_SET_TLSEXT_STATUS_REQ_CB_ARG, 0, const_cast<std::string*>(&staple));
  SSL_CTX_set_session_id_context(server.get(), reinterpret_cast<const unsigned char*>("t"), 1);
  if (adjust) adjust(server.get());
  return server;
}

std::string Scene::run() {
  if (context == nullptr) load();
  const proxy::SslContextPtr made = server();
  origin = std::make_unique<TestOrigin>(made.get());
  client = proxy::TlsSession::connect(*context, target);
  origin->run(*client);
  client->write(std::string_view("GET / HTTP/1.1\r\n\r\n"));
  origin->run(*client);
  return outcome_of(*client);
}

}  // namespace bloomwall::test
