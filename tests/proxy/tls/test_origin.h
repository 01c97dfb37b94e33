// An origin that exists in memory, made by OpenSSL alone, and the whole scene around it: authorities, files, settings.
// The server is willing to do everything that OpenSSL can, security level 0, so that what is refused is refused by us.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ctime>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "proxy/tls/origin_verifier.h"
#include "proxy/tls/tls_session.h"
#include "tests/support/temp_dir.h"
#include "tests/support/test_authority.h"

namespace bloomwall::test {

// The server's end of one connection.
class TestOrigin {
 public:
  explicit TestOrigin(SSL_CTX* context);
  // Carries octets both ways until nothing moves any more.
  void run(proxy::TlsSession& client);
  SSL* ssl() { return ssl_.get(); }
  bool is_established() const { return SSL_is_init_finished(ssl_.get()) == 1; }
  void write(const std::string& text);
  std::string sent_by_client, read_by_client;

 private:
  bool turn(proxy::TlsSession& client);
  proxy::SslPtr ssl_;
  BIO* in_ = nullptr;
  BIO* out_ = nullptr;
};

// What became of a connection: "ok", "certificate expired", "alert 40", "protocol", "open".
std::string outcome_of(const proxy::TlsSession& client);

// A root, an intermediate and a leaf that are all good, until a test changes one.
struct Scene {
  Scene();
  TempDir dir;
  CertificateSpec root_spec, intermediate_spec, leaf_spec;
  Issued root, intermediate, leaf;
  void make();       // all three, from the specs
  void make_leaf();  // the leaf alone

  Issued other;              // of the test's own
  std::vector<X509*> sent;   // the origin's chain; empty: leaf, intermediate
  EVP_PKEY* key = nullptr;   // nullptr: the leaf's
  std::vector<X509*> roots;  // of ca_file; empty: root
  std::string staple;        // DER; empty: none
  proxy::OriginTrust trust;
  proxy::TlsTarget target{"good.example.test", "good.example.test:443"};
  std::function<void(SSL_CTX*)> adjust;  // the server
  std::int64_t clock = std::time(nullptr);

  std::string own_key() const { return proxy::public_key_info(root.get()); }
  void load();        // verifier and context, from `trust` and `roots`; run() does it the first time
  std::string run();  // one connection
  proxy::SslContextPtr server() const;

  std::shared_ptr<proxy::OriginVerifier> verifier;
  proxy::TlsContextPtr context;
  std::unique_ptr<proxy::TlsSession> client;
  std::unique_ptr<TestOrigin> origin;
};

// One row of a table: what is done to a good scene, and what becomes of the connection.
struct OriginRow {
  std::string name;  // RowNN..., NN of the table of the contract
  std::function<void(Scene&)> arrange;
  std::string expected;
};
inline std::ostream& operator<<(std::ostream& out, const OriginRow& row) { return out << row.name; }

}  // namespace bloomwall::test
