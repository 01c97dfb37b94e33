// An Http2Session between a client and an origin that the test plays, over pairs in memory, without TLS.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "filter/policy/policy.h"
#include "proxy/exchange/http2_session.h"
#include "proxy/upstream/addresses.h"
#include "tests/proxy/http2/http2_pair.h"
#include "tests/proxy/worker/memory_worker.h"
#include "tests/support/fake_resolver.h"
#include "tests/support/memory_transport.h"
#include "tests/support/scripted_peer.h"

namespace bloomwall::proxy {

using http2_test::End;
using http2_test::RecordedStream;
using test::MemoryTransport;

// One end of a connection, over its end of a pair.
struct Http2Peer final : Transport::Handler {
  Http2Peer(Http2Connection::Role role, const Http2Connection::Limits& limits = {}) : end(role, limits) {}
  std::size_t on_data(std::span<const char> bytes) override {
    end.connection.feed(bytes, monotonic_now());
    talk();
    return bytes.size();
  }
  void on_end() override { ended = true; }
  void on_drained() override {}
  void on_write_failed(int) override { ended = true; }
  void on_failed(int) override { ended = true; }
  void talk() {
    const std::string text = end.written();
    if (!text.empty() && transport->is_open()) transport->send(text);
  }
  RecordedStream& stream(Http2StreamId id) { return *end.streams.at(id); }

  End end;
  std::unique_ptr<MemoryTransport> transport;
  bool ended = false;
};

class Http2Sessions : public ::testing::Test, protected MemoryWorker, public Http2Session::Owner {
 protected:
  Http2Sessions() {
    settings_.access.deny_destinations = {};
    info_.endpoint = *Endpoint::parse_ip("127.0.0.1");
    info_.listener = &listener_;
    name_origin({});
  }
  ~Http2Sessions() override {
    if (session_ != nullptr) session_->close();
    worker_.io.loop.deferred().delete_later(std::move(session_));
    for (Http2Peer* const peer : {&client_, &origin_}) {
      if (peer->transport != nullptr) peer->transport->close();
    }
    while (!loop_.deferred().empty()) loop_.deferred().sweep();
    EXPECT_EQ(worker_.requests_in_flight.get(), 0U);
    EXPECT_EQ(counters_.http2_sessions_active.get(), 0U);
    EXPECT_EQ(pool_.in_use(), 0U);
  }
  Transport& client_transport() override { return *near_client_; }
  const ClientInfo& client_info() const override { return info_; }
  OwnUpstreams& own_upstreams() override { return own_; }
  void on_http2_idle(bool is_idle) override { is_idle_ = is_idle; }
  void on_http2_origin_lost() override {
    is_origin_lost_ = true;
    if (failure_at_loss_) name_origin(failure_at_loss_);
  }
  void on_http2_end() override {
    is_over_ = true;
    loop_.deferred().delete_later(std::move(session_));
  }

  void name_origin(std::optional<HttpError> failure) {
    ClientInfo::Inside inside{.host = "origin.test", .port = 443, .scheme = Scheme::https};
    inside.failure = failure;
    info_.inside = std::make_unique<const ClientInfo::Inside>(std::move(inside));
  }
  std::unique_ptr<MemoryTransport> end_beside(Http2Peer& peer) {
    auto near = std::make_unique<MemoryTransport>(io_, peer);
    peer.transport = std::make_unique<MemoryTransport>(io_, peer);
    MemoryTransport::join(*near, *peer.transport);
    return near;
  }
  void start(bool has_origin = true) {
    auto snapshot = make_snapshot(settings_, 1);
    if (policy_ == nullptr) {
      policy_ = *filter::Policy::load({.filters = {}, .allow_lists = {}, .otherwise = otherwise_}, {});
    }
    worker_.adopt(*std::move(snapshot), policy_);
    near_client_ = end_beside(client_);
    UpstreamPtr upstream;
    if (has_origin) {
      auto near = end_beside(origin_);
      near_origin_ = near.get();
      upstream = worker_.upstreams.make(std::move(near), *Endpoint::parse_ip("127.0.0.1"), "origin.test");
      origin_.talk();
    }
    session_ = std::make_unique<Http2Session>(worker_, *this, std::move(upstream));
    session_->begin();
    client_.talk();
  }
  RecordedStream& ask(const std::string& path = "/", bool has_body = false, const std::vector<Http2Field>& more = {}) {
    if (session_ == nullptr && !is_over_) start();
    std::vector<Http2Field> list{
        {":method", has_body ? "POST" : "GET"}, {":scheme", "https"}, {":authority", "origin.test"}, {":path", path}};
    list.insert(list.end(), more.begin(), more.end());
    return ask_with(list, has_body);
  }
  RecordedStream& ask_with(const std::vector<Http2Field>& list, bool has_body = false) {
    if (session_ == nullptr && !is_over_) start();
    auto stream = std::make_unique<RecordedStream>();
    stream->connection = &client_.end.connection;
    stream->id = client_.end.connection.submit_request(list, has_body, *stream);
    RecordedStream& asked = *(client_.end.streams[stream->id] = std::move(stream));
    client_.talk();
    return asked;
  }
  void say(RecordedStream& asked, const std::string& body, bool is_last) {
    asked.to_send = body;
    asked.is_last = is_last;
    client_.end.connection.resume(asked.id);
    client_.talk();
  }
  // What the origin was asked as its n-th request.
  RecordedStream& asked(std::size_t n = 1) {
    turn_until([&] { return origin_.end.requests >= n; });
    return origin_.stream(static_cast<Http2StreamId>(2 * n - 1));
  }
  void answer(RecordedStream& stream, const std::vector<Http2Field>& list, const std::string& body = {}) {
    stream.to_send = body;
    stream.is_last = true;
    origin_.end.connection.submit_answer(stream.id, list, !body.empty() || !stream.trailers_to_send.empty());
    origin_.talk();
  }
  template <typename Done>
  void turn_until(Done done) {
    const Milliseconds deadline = monotonic_now() + test::kPatience;
    while (!done()) {
      ASSERT_LT(monotonic_now(), deadline) << "it never happened";
      event_base_loop(loop_.base(), EVLOOP_NONBLOCK);
      client_.talk();
      if (origin_.transport != nullptr) origin_.talk();
    }
  }
  void turn(int times = 50) {
    for (int i = 0; i < times; ++i) {
      event_base_loop(loop_.base(), EVLOOP_NONBLOCK);
      client_.talk();
      if (origin_.transport != nullptr) origin_.talk();
    }
  }

  ClientInfo info_;
  OwnUpstreams own_;
  Http2Peer client_{Http2Connection::Role::client}, origin_{Http2Connection::Role::server};
  std::unique_ptr<MemoryTransport> near_client_;
  MemoryTransport* near_origin_ = nullptr;  // the session's
  std::unique_ptr<Http2Session> session_;
  std::optional<HttpError> failure_at_loss_;
  filter::Otherwise otherwise_ = filter::Otherwise::allow;
  PolicyPtr policy_;  // nullptr: without filters
  bool is_idle_ = true, is_over_ = false, is_origin_lost_ = false;
};

}  // namespace bloomwall::proxy
