// A whole data plane inside a test: a proxy with real listeners and threads, and an origin that the test plays.
// A test says what is given, what happens, and what must come of it:
//
//   TEST_F(Client, AnIdleConnectionIsClosedInItsTime) {
//     given.settings.timeouts.idle = 200ms;
//     auto [client, server, asked] = exchange();
//     answer(server, client, "x");
//     client.expect_end();
//     server.expect_end();
//     EXPECT_EQ(counter(&Counters::client_idle_timeouts_total), 1U);
//   }
//
// The proxy is started, with what is given by then, when it is first spoken to; what is changed later counts from
// reload() on. Everything goes to 127.0.0.1; the names ok.test, blocked.test, sub.blocked.test and mixed.test lead
// there. Every wait is bounded by kPatience and ends in an exception that says what was waited for.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "conf/config.h"
#include "proxy/log/access_log.h"
#include "proxy/state/tokens.h"
#include "proxy/telemetry/counters.h"
#include "proxy/worker/server.h"
#include "tests/support/http_text.h"
#include "tests/support/scripted_peer.h"
#include "tests/support/temp_dir.h"

namespace bloomwall::test {

using proxy::Counters;

class ProxyTest : public ::testing::Test {
 protected:
  struct Given {
    conf::Config settings = permissive();
    std::string list;      // blocked entries, one a line; with networks empty: no filter
    std::string networks;  // blocked ranges of addresses, one a line
    std::string allowed;   // an allow list; empty: none
    filter::FilterAction action = filter::FilterAction::block;
    Instant at = proxy::instant_now();  // of schedules
    bool rotten = false;                // with paged: the disk gives back zeros for every page of URLs
    bool raw = false;                   // the list is one of raw keys
    bool paged = false;  // the filter is served page by page, and at first no page of its URLs is in memory
    std::filesystem::path filter_folder = {};  // where filters are; empty: in `dir`
    bool logged = false;                       // there is an access log
    int passed = -1;  // the test's own listening socket, on the address of a listener: served instead of a new one
    static conf::Config permissive();  // one worker, any CONNECT port, loopback allowed, no log
  };
  // A client, the connection to the origin that was made for it, and the head that the origin was sent.
  struct Exchange {
    ScriptedPeer client, server;
    std::string asked;
  };
  struct Tunnel {
    ScriptedPeer client, server;
  };

  // Given
  Given given;
  ScriptedListener origin;
  TempDir dir;
  proxy::CurrentTokens tokens;  // that programs log in with
  // "HOST:port", the port being the origin's; and requests to it by its address.
  std::string at(const std::string& host) const { return host + ":" + std::to_string(origin.port()); }
  std::string get_origin(const std::string& path = "/", const std::string& fields = "") const;
  std::string post_origin(const std::string& fields, const std::string& body = "", const std::string& path = "/") const;

  // When
  proxy::Server& the_proxy();
  ScriptedPeer new_client(const std::string& text = "");  // that says this
  std::string reply_to(const std::string& text);          // the head that a new client gets who says this
  Exchange exchange(const std::string& request);          // a new client has said this, and the origin read the head
  Exchange exchange() { return exchange(get_origin()); }
  Tunnel tunnel(const std::string& host = "127.0.0.1");  // open, and nothing has been said in it
  void reload();                                         // returns when every worker has what is given by now
  // The two halves of it.
  proxy::Edition edition();
  void serve(const proxy::Edition& next);

  // Then
  std::uint64_t counter(proxy::Count Counters::* member);
  std::uint64_t errors(proxy::ErrorKind kind);
  std::unique_ptr<Counters> counters();
  void wait_for_counter(proxy::Count Counters::* member, std::uint64_t value);
  void wait_until(const std::function<bool()>& condition);
  void wait_until_ended();  // after drain(): every worker is done
  std::string log_text();   // what the access log holds by now
  void expect_alive();      // somebody new is served
  // Of given.paged: the pages of URLs were not in memory when the proxy began. False: the file system keeps them.
  bool has_left_memory() const { return has_left_memory_; }

 private:
  filter::FilterSpec build_filter() const;
  std::uint64_t generation_ = 0;
  bool has_left_memory_ = false;
  std::unique_ptr<proxy::AccessLog> log_;
  std::unique_ptr<proxy::Server> server_;
};

// A connection to an origin carries the next request only after this.
void rest(ScriptedPeer& server);

struct Answer {
  std::string head, body;
};
// The head of a GET as it stands inside a tunnel.
inline std::string inner(const std::string& host, const std::string& path = "/", const std::string& fields = "") {
  return "GET " + path + " HTTP/1.1\r\nHost: " + host + "\r\n" + fields + "\r\n";
}

// A whole answer with Content-Length.
Answer read_answer(Peer& client);

// The origin answers 200 with this body, and the client gets it.
void answer(Peer& server, Peer& client, const std::string& body);

}  // namespace bloomwall::test
