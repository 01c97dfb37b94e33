// A ProxyTest whose proxy inspects TLS: its authority and an origin's certificate are made for the test, mode all.
//
//   auto [client, server] = intercept();      // both have shaken hands with the proxy
//   client.send(inner(at("ok.test"), "/x"));
//   server.read_head();
//
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ctime>
#include <filesystem>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>

#include "proxy/tls/authority_maker.h"
#include "tests/proxy/worker/proxy_fixture.h"
#include "tests/proxy/worker/tls_peer.h"
#include "tests/support/test_certificate.h"

namespace bloomwall::test {

class InspectionTest : public ProxyTest {
 protected:
  struct Intercepted {
    TlsPeer client, server;
  };

  InspectionTest() {
    const std::filesystem::path certificate = dir.path() / "ca.crt", key = dir.path() / "ca.key";
    const auto made = proxy::make_authority({.host = "test", .now = std::time(nullptr)});
    if (!made) throw std::runtime_error(made.error());
    dir.write("ca.crt", made->certificate);
    dir.write("ca.key", made->key.text());
    std::filesystem::permissions(key, std::filesystem::perms::owner_read);
    given.settings.tls_inspection.mode = conf::TlsInspection::Mode::all;
    given.settings.tls_inspection.ca = {.certificate = certificate, .key = key, .passphrase_file = {}, .next = {}};
    given.settings.tls_inspection.never = {};
    given.settings.tls_inspection.verify.ca_file = files_.certificate;
    trusting_ = *proxy::TlsContext::for_peers(certificate);
  }

  // A client that trusts the authority, in a tunnel that stands; its ClientHello is on its way.
  TlsPeer hello(ScriptedPeer client, const std::string& host = "ok.test") {
    return {std::move(client), proxy::TlsSession::connect(*trusting_, host)};
  }
  // The origin's end of a connection that was dialled.
  TlsPeer origin_tls() { return {origin.accept(), proxy::TlsSession::accept(**serving_)}; }
  Intercepted intercept(const std::string& host = "ok.test") {
    auto [client_socket, server_socket] = tunnel(host);
    TlsPeer client = hello(std::move(client_socket), host);
    TlsPeer server(std::move(server_socket), proxy::TlsSession::accept(**serving_));
    server.shake_hands();
    client.shake_hands();
    return {std::move(client), std::move(server)};
  }

  TestCertificate files_ = make_certificate(dir.path(), "origin", "ok.test");
  proxy::TlsContext::Made serving_ = proxy::TlsContext::for_listener(files_.certificate, files_.key);
  proxy::TlsContextPtr trusting_;
};

}  // namespace bloomwall::test
