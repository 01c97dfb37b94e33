// Remembers which clients refuse the certificates that interception shows them, each (client address, host) by itself:
// what one client refuses opens nothing for another.
// A handshake that ends badly is classified (refusal_in) and noted. A fatal alert that means distrust is a strong
// signal; an end of the stream during the handshake, or within a second after it without one octet, is a weak one and
// counts a third. A pair is refused once `after` strong signals have come within 60 s; for the block page inside TLS
// one is enough. A pair that has ever sent application data is never refused.
// Two kinds, by what the same client accepted in the last 24 h: "pins" (something: the application pins its keys) and
// "no_ca" (nothing: the device lacks the authority).
// Bounds: kMostPairs pairs, kMostClients clients, kMostAccepted accepted pairs, the least recently used forgotten
// first. Forgotten acceptance at worst makes a refusal count again; it lets nothing pass that has marks, because
// InspectionRules asks about unmarked hosts only.
// One a worker, which tells the others what it notes: a client's next connection may come to any of them. Not
// thread-safe. Calls take the time now. note() and accept() are amortised O(1) and may allocate.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/recent_map.h"
#include "conf/config.h"
#include "proxy/access/access_rules.h"

namespace bloomwall::proxy {

enum class RefusalSignal : std::uint8_t { alert, eof, silent };  // labels of bloomwall_tls_client_refusals_total
const char* to_string(RefusalSignal signal);

// How a client's handshake with us ended.
struct HandshakeEnd {
  std::optional<int> alert = {};                // fatal, received; AlertDescription of RFC 8446 section 6
  bool is_finished = false;                     // the client's Finished came
  std::chrono::milliseconds after_finished{0};  // until the end of the stream
  bool sent_data = false;                       // application data came
  bool by_us = false;                           // we ended it: time-out, limits, shutdown
  // The client was told by ECH's rules to come again: alert 121, or an end, is expected.
  bool hid_its_name = false;
};
std::optional<RefusalSignal> refusal_in(const HandshakeEnd& end);

class TlsRefusals {
 public:
  using Clock = std::chrono::steady_clock;
  using Time = Clock::time_point;
  enum class Kind : std::uint8_t { pins, no_ca };
  static constexpr std::size_t kMostPairs = 4096, kMostClients = 4096, kMostAccepted = 16'384;
  static constexpr std::chrono::seconds kWindow{60};
  static constexpr std::chrono::hours kAcceptanceCounts{24}, kTellAgain{1}, kWarnAgain{1};

  explicit TlsRefusals(const conf::AutoPass& rules) : rules_(rules) {}
  // After a reload: forgets all.
  void adopt(const conf::AutoPass& rules);

  struct Noted {
    bool is_refused = false;  // the pair is refused from now on, and was not before
    Kind kind = Kind::pins;
    bool warn_of_device = false;  // is_refused by a client without the authority, the first time within an hour
  };
  Noted note(const IpAddress& client, std::string_view host, RefusalSignal signal, Time now);
  // Application data came from the client on a connection that we intercepted for the host. True: the other workers are
  // to be told, which they were not lately of this client; or it has refused before. Else they hear of the pair when it
  // matters (learn()).
  bool accept(const IpAddress& client, std::string_view host, Time now);
  struct Event {
    IpAddress client;
    std::string host;
    std::optional<RefusalSignal> signal;  // nothing: it was accepted
    Time when;
  };
  // What another worker's memory has noted. An event that is returned answers it, and all are to be told: a pair that
  // is refused there was accepted here.
  std::optional<Event> learn(const Event& event);

  // For TlsRequest. The block page was refused: answer 403 to CONNECT instead. Keeps for auto_pass.for.
  bool page_refused(const IpAddress& client, std::string_view host, Time now) const;
  // The pair is refused and is of a kind that auto_pass lets pass.
  bool may_auto_pass(const IpAddress& client, std::string_view host, Time now);

  // `bloomwall tls refused`: pairs that are refused now.
  struct Row {
    IpAddress client;
    std::string host;
    Kind kind;
    RefusalSignal signal;  // the last
    Time since;
  };
  std::vector<Row> refused(Time now) const;
  std::size_t auto_pass_entries(Time now) const;  // pairs for which may_auto_pass() is true

 private:
  static constexpr unsigned kStrong = 3, kWeak = 1;  // weights; `after` counts strong ones

  struct PairKey {
    IpAddress client;
    std::string host;
  };
  struct PairView {
    const IpAddress& client;
    std::string_view host;
  };
  struct PairHash {
    using is_transparent = void;
    std::size_t operator()(const PairView& pair) const;
    std::size_t operator()(const PairKey& pair) const { return (*this)(PairView{pair.client, pair.host}); }
  };
  struct PairEqual {
    using is_transparent = void;
    template <typename A, typename B>
    bool operator()(const A& a, const B& b) const {
      return a.client == b.client && std::string_view(a.host) == std::string_view(b.host);
    }
  };
  struct AddressHash {
    std::size_t operator()(const IpAddress& address) const;
  };
  struct Signal {
    Time when;
    unsigned weight;
  };
  struct Pair {
    std::vector<Signal> signals;  // of the last kWindow; at most as many as make it refused
    std::optional<Time> page_refused_at, refused_at;
    Kind kind = Kind::pins;
    RefusalSignal last = RefusalSignal::alert;
  };
  struct Client {
    std::optional<Time> accepted_at, told_at, warned_at;
  };
  struct Nothing {};

  bool is_in_force(const std::optional<Time>& since, Time now) const { return since && now - *since < rules_.pass_for; }
  bool passes(const Pair& pair, Time now) const;
  Kind kind_of(const IpAddress& client, Time now);
  bool warns(const IpAddress& client, Time now);

  conf::AutoPass rules_;
  RecentMap<PairKey, Pair, PairHash, PairEqual> pairs_{kMostPairs};
  RecentMap<IpAddress, Client, AddressHash> clients_{kMostClients};
  // Hashes of pairs; two that collide make one look accepted, which keeps inspection on.
  RecentMap<std::size_t, Nothing> accepted_{kMostAccepted};
};

const char* to_string(TlsRefusals::Kind kind);  // "pins", "no_ca"

}  // namespace bloomwall::proxy
