// A whole data plane inside the test: real listeners on free ports, real threads, a filter built from a few lines.
// Everything goes to 127.0.0.1; names under .test are in dns.hosts.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "conf/config.h"
#include "proxy/http/counters.h"
#include "proxy/log/access_log.h"
#include "proxy/net/server.h"
#include "tests/support/scripted_peer.h"
#include "tests/support/temp_dir.h"

namespace bloomwall::test {

struct HarnessOptions {
  conf::Config settings = permissive();
  std::string list;    // blocked entries, one a line; empty: no filter
  std::string allow;   // allow list
  bool paged = false;  // the filter is served page by page, and at first no page of its URLs is in memory
  int passed = -1;  // a listening socket of the test's, on the address of a listener: served instead of one of our own
  // One worker, any CONNECT port, loopback allowed, no log.
  static conf::Config permissive();
};

class ProxyHarness {
 public:
  explicit ProxyHarness(HarnessOptions options = {});
  ~ProxyHarness();

  std::uint16_t port() const { return server_->addresses().front().port(); }
  ScriptedPeer client() const { return ScriptedPeer::connect(port()); }
  proxy::Server& server() { return *server_; }
  // Publishes new settings or another list, and waits until every worker has them.
  void reload(const conf::Config& settings);
  void reload_list(const std::string& list);
  conf::Config& settings() { return options_.settings; }

  std::uint64_t counter(proxy::Count proxy::Counters::* member) const;
  void wait_for_counter(proxy::Count proxy::Counters::* member, std::uint64_t value) const;
  std::string log_text();  // what the access log holds by now

 private:
  proxy::SnapshotPtr snapshot();
  HarnessOptions options_;
  TempDir dir_;
  std::uint64_t generation_ = 0;
  std::unique_ptr<proxy::AccessLog> log_;
  std::unique_ptr<proxy::Server> server_;
};

// "GET http://AUTHORITY/path HTTP/1.1\r\nHost: AUTHORITY\r\n...\r\n"
std::string get(const std::string& authority, const std::string& path = "/", const std::string& fields = "");
std::string request(const std::string& method, const std::string& authority, const std::string& path,
                    const std::string& fields = "", const std::string& body = "");
std::string connect_to(const std::string& authority);
// "HTTP/1.1 200 OK\r\n..." with Content-Length and a Date.
std::string ok(const std::string& body, const std::string& fields = "");
int status_of(const std::string& head);
std::string field_of(const std::string& head, const std::string& name);  // value of the first such field, else ""
// One whole request on a connection of its own; throws where the proxy does not serve it.
void expect_alive(const ProxyHarness& proxy);
// A TLS ClientHello; no server name where `sni` is empty.
std::string client_hello(const std::string& sni);

}  // namespace bloomwall::test
