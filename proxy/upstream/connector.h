// Makes one connection to a host: names to addresses, rules on each address, attempts over all of them.
// Attempts are staggered as in RFC 8305: IPv6 and IPv4 alternate, each begins 250 ms after the previous one or as soon
// as that fails; the first to connect wins and the others are closed. An IPv4 answer waits 50 ms for the IPv6 one.
// Every address is checked against access.deny_destinations and our own listeners when it is dialled, so earlier
// answers of the name do not matter (DNS rebinding); then the handler is asked (may_dial()). One deadline for
// everything: timeouts.connect.
// The handler is called exactly once with the outcome, never from within start(). The destructor and cancel() stop
// everything without a call.
// Thread: the loop's.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "proxy/dns/resolver.h"
#include "proxy/http/http_error.h"
#include "proxy/io/event_loop.h"
#include "proxy/io/handles.h"
#include "proxy/io/timer_wheel.h"
#include "proxy/upstream/dial_handler.h"

namespace bloomwall::proxy {

class EventLoop;
class OwnAddresses;    // proxy/upstream/addresses.h
class OwnConnections;  // proxy/upstream/addresses.h
class OriginPlaces;    // proxy/upstream/origin_places.h
struct DialRules;      // proxy/upstream/dial_rules.h
using DialRulesPtr = std::shared_ptr<const DialRules>;

struct DialTarget {
  std::string_view host;  // a canonical name, or an address (IPv6 with or without brackets); copied
  std::uint16_t port = 0;
  bool is_parent = false;    // the parent proxy is exempt from access.deny_destinations
  ResolvingClient client{};  // the client that names are resolved for
};

struct DialContext {
  EventLoop& loop;
  Resolver& resolver;
  const OwnAddresses& own;
  OwnConnections* own_connections = nullptr;
  OriginPlaces* places = nullptr;  // nullptr: no request waits for one
};

class Connector final : Query::Handler {
 public:
  using Handler = DialHandler;
  Connector(DialContext& context, Handler& handler);
  ~Connector() { cancel(); }
  Connector(const Connector&) = delete;
  Connector& operator=(const Connector&) = delete;

  void start(const DialTarget& target, DialRulesPtr rules);
  void cancel();
  Milliseconds resolve_time() const { return resolve_time_; }  // 0: nothing had to be resolved
  std::uint32_t attempts_failed() const { return attempts_failed_; }
  // Of a failure: nothing was dialled, and of one address at least that was the handler's will.
  bool was_refused() const { return attempts_made_ == 0 && refused_ > 0; }

 private:
  struct Attempt final : DeletedLater {
    Connector* connector = nullptr;
    Endpoint peer;
    UniqueFd fd;
    Event event;
  };
  void on_resolved(Query& query) override;
  void look_up(std::string_view host);
  void take_answer(Family family);
  void add_candidates(std::span<const Endpoint> addresses);
  void step();
  void proceed();  // starts the next attempt if it is time; ends in failure if nothing is left
  bool next_candidate(Endpoint& next);
  bool dial(const Endpoint& peer);  // false: failed at once
  bool is_permitted(const Endpoint& peer);
  void on_attempt_ready(Attempt& attempt);
  void drop(Attempt& attempt);
  void succeed(UniqueFd fd, const Endpoint& peer);
  void on_deadline();
  void fail(HttpError error);
  void fail_later(const HttpError& error);
  bool awaiting_names() const;
  HttpError verdict() const;  // what to say when nothing could be reached

  DialContext& context_;
  Handler& handler_;
  DialRulesPtr rules_;
  Query query_;
  Timer deadline_, stagger_;
  Event tell_;  // reports outcomes that are known at once, on the next turn
  std::array<std::vector<Endpoint>, kFamilies> candidates_;  // not tried yet, in reverse
  std::vector<std::unique_ptr<Attempt>> attempts_;
  UniqueFd connected_;
  Endpoint peer_;
  HttpError error_;
  Milliseconds started_{0}, resolve_time_{0};
  std::uint32_t attempts_made_ = 0, attempts_failed_ = 0, denied_ = 0, refused_ = 0;
  std::uint16_t port_ = 0;
  int last_errno_ = 0;
  Family next_family_ = Family::v6;
  std::array<bool, kFamilies> taken_{};  // families whose addresses are candidates already
  bool is_parent_ = false, looped_ = false;
};

}  // namespace bloomwall::proxy
