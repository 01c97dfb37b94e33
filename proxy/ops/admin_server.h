// The HTTP server of the admin address: one request a connection, answered and closed. On the main loop, never on a
// worker's, so that no scrape costs a client of the proxy anything.
// Bounds: so many connections at a time (the oldest goes for a new one), so much patience with each, kLongestHead octets of head.
// A client that reads slowly holds its own answer until the patience is over. Thread: the loop's.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <tl/expected.hpp>
#include <utility>

#include "proxy/http/message_reader.h"
#include "proxy/io/transport.h"
#include "proxy/net/acceptor.h"
#include "proxy/ops/admin_pages.h"

namespace bloomwall::proxy {

class AdminServer final : Acceptor::Handler {
 public:
  static constexpr std::size_t kLongestHead = std::size_t{16} << 10;
  struct Bounds {
    std::size_t connections = 64;
    Milliseconds patience{10'000};
  };

  // `answers` is asked once for each request. The error names the key: "admin.address: 127.0.0.1:9128: Address in use".
  using Answers = std::function<AdminAnswers()>;
  static tl::expected<std::unique_ptr<AdminServer>, std::string> open(IoContext& io, const std::string& address,
                                                                      Answers answers, Bounds bounds);
  static tl::expected<std::unique_ptr<AdminServer>, std::string> open(IoContext& io, const std::string& address,
                                                                      Answers answers) {
    return open(io, address, std::move(answers), Bounds{});
  }
  ~AdminServer();
  AdminServer(const AdminServer&) = delete;
  AdminServer& operator=(const AdminServer&) = delete;

  const Endpoint& address() const { return address_; }  // with the port that the kernel chose

 private:
  class Connection;
  AdminServer(IoContext& io, ListeningSocket socket, Answers answers, Bounds bounds);
  void on_accepted(UniqueFd fd, const Endpoint& client, const Acceptor& from) override;
  void on_closed(std::uint64_t id);

  IoContext& io_;
  const HeadLimits limits_{.head_bytes = kLongestHead, .fields = 64};
  const Answers answers_;
  const Bounds bounds_;
  const Endpoint address_;
  std::map<std::uint64_t, std::unique_ptr<Connection>> connections_;  // the oldest first
  std::uint64_t next_id_ = 1;
  Acceptor acceptor_;
};

}  // namespace bloomwall::proxy
