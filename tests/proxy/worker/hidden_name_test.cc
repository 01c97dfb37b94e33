// A client that hides the name it means (ECH) is expected to leave once it has seen the outer name's certificate: that
// is no refusal of our certificates.
// SPDX-License-Identifier: Apache-2.0
#include <openssl/ssl.h>

#include <string>

#include "tests/proxy/worker/inspection_fixture.h"

namespace bloomwall::test {
namespace {

constexpr unsigned kEncryptedClientHello = 0xfe0d;

class HiddenName : public InspectionTest {
 protected:
  HiddenName() { given.logged = true; }
  static proxy::TlsContextPtr with_ech(const std::filesystem::path& authority) {
    auto context = *proxy::TlsContext::for_peers(authority);
    static const unsigned char kBody[] = {0, 0, 1, 0, 1, 7, 0, 0, 0, 0};  // outer, some suite, nothing encrypted
    const int added = SSL_CTX_add_custom_ext(
        context->get(), kEncryptedClientHello, SSL_EXT_CLIENT_HELLO,
        [](SSL*, unsigned, unsigned, const unsigned char** out, std::size_t* size, X509*, std::size_t, int*, void*) {
          *out = kBody;
          *size = sizeof kBody;
          return 1;
        },
        nullptr, nullptr, nullptr, nullptr);
    EXPECT_EQ(added, 1);
    return context;
  }
  // It leaves as soon as the proxy has answered its ClientHello.
  void leave(const proxy::TlsContextPtr& context) {
    auto [client_socket, server_socket] = tunnel("ok.test");
    TlsPeer client(std::move(client_socket), proxy::TlsSession::connect(*context, "mixed.test"));
    TlsPeer server(std::move(server_socket), proxy::TlsSession::accept(**serving_));
    EXPECT_THROW(server.shake_hands(), std::runtime_error) << "its certificate is for ok.test";
    client.socket().read_exactly(1);
    client.socket().shut_write();
    client.socket().read_to_end();
  }
  std::uint64_t refusals() {
    std::uint64_t sum = 0;
    const auto now = counters();
    for (const proxy::Count& count : now->tls.refusals) sum += count.get();
    return sum;
  }
};

TEST_F(HiddenName, IsNoRefusalOfOurCertificates) {
  leave(trusting_);
  wait_until([&] { return refusals() == 1; });
  leave(with_ech(given.settings.tls_inspection.ca.certificate));
  wait_for_counter(&Counters::client_connections_active, 0);
  EXPECT_EQ(refusals(), 1U);
  const std::string log = log_text();
  EXPECT_NE(log.find("\"tls_action\":\"intercepted\",\"tls_reason\":\"all\""), std::string::npos) << log;
  EXPECT_NE(log.find("\"tls_action\":\"intercepted\",\"tls_reason\":\"ech\""), std::string::npos) << log;
}

}  // namespace
}  // namespace bloomwall::test
