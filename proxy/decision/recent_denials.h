// What was blocked a moment ago for each client: what the self host's home page (home_page.h) shows. Kept in memory
// alone, for all workers, since a client's connections are spread over them.
// A denial belongs to its user; where nobody had to log in, to its address: an IPv6 address as it is, not its /64,
// which may be an office.
// Limits: kMost of a client, the same URL counted as one; kFor; kMostOctets of all, beyond which those who were denied
// something longest ago are forgotten.
// Threads: any. Cost of note(): a lock of one shard and the copy of some texts, once a denial.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <list>
#include <mutex>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "proxy/http/block_end.h"
#include "proxy/io/timer_wheel.h"
#include "proxy/reply/home_page.h"

namespace bloomwall::proxy {

class KeptVerdict;
struct ClientInfo;
struct User;
struct WorkerState;

class RecentDenials {
 public:
  static constexpr std::size_t kMost = 20, kShards = 16, kMostOctets = std::size_t{16} << 20;
  static constexpr Milliseconds kFor{15 * 60 * 1000};

  explicit RecentDenials(Clock clock = monotonic_now) : clock_(clock) {}
  void note(const std::string& whose, RecentDenial denial);
  std::vector<RecentDenial> of(const std::string& whose) const;  // newest first
  void clear();

 private:
  struct Kept {
    Milliseconds noted;
    RecentDenial denial;
  };
  struct Client {
    std::string whose;
    std::list<Kept> denials;  // newest first
    std::size_t octets = 0;
  };
  struct Shard {
    mutable std::mutex mutex;
    std::list<Client> clients;  // the one denied something last comes first
    std::unordered_map<std::string_view, std::list<Client>::iterator> by_name;
    std::size_t octets = 0;
  };
  static void forget(Shard& shard, Client& client, std::list<Kept>::iterator which);
  static void drop_last(Shard& shard);
  static std::size_t shard_of(std::string_view whose) { return std::hash<std::string_view>{}(whose) % kShards; }

  Clock clock_;
  std::array<Shard, kShards> shards_;
};

// Whose denials those of this client and user are; nullptr: nobody had to log in.
std::string whose_denials(const ClientInfo& client, const User* user);

// One denial as a report of it says it.
struct DeniedRequest {
  const ClientInfo& client;
  const User* user = nullptr;
  const KeptVerdict& verdict;
  std::string_view decision_id, url, host;
  BlockEnd end = {};
};
ReportFacts facts_of(const DeniedRequest& denied);
// The ticket for a report of it, in which stands what may be written of it alone (written_form.h): what is made of the
// ticket is written down. A ticket says what the settings were when it was made. SelfService must be there.
std::string ticket_of(const WorkerState& worker, const Snapshot& snapshot, const ClientInfo& client, ReportFacts facts);
// Notes it, where self_page.recent is on.
void note_denial(WorkerState& worker, const DeniedRequest& denied, bool is_connection);

}  // namespace bloomwall::proxy
