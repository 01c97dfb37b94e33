// Which clients have made requests lately, in bounded memory: for each its last user and group, and what it asked for,
// counted. At most kMost of them; a further one takes the place of the one that was seen longest ago.
// Cost of note(): a look-up, and copies of user and group where they have changed. Not thread-safe.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/recent_map.h"

namespace bloomwall::proxy {

// One request, as far as it says who is there.
struct ClientSight {
  std::string_view client;  // address without port
  std::string_view user;    // empty: nobody has logged in
  std::string_view group;   // empty: none
  bool is_blocked = false;
  std::int64_t at = 0;  // seconds since 1970
};

class ClientsSeen {
 public:
  static constexpr std::size_t kMost = 1000;
  struct Row {
    std::string client, user, group;  // the last ones
    std::uint64_t requests = 0, blocked = 0;
    std::int64_t first = 0, last = 0;  // seconds since 1970
    friend bool operator==(const Row&, const Row&) = default;
  };

  void note(const ClientSight& sight);
  // Counts of both together; what was seen later says user and group.
  void add(const ClientsSeen& other);
  void add(Row row);
  bool empty() const { return rows_.size() == 0; }
  void clear() { rows_.clear(); }
  std::vector<Row> rows() const;  // the one seen last comes first

 private:
  struct Hash {
    using is_transparent = void;
    std::size_t operator()(std::string_view text) const { return std::hash<std::string_view>{}(text); }
  };
  RecentMap<std::string, Row, Hash> rows_{kMost};
};

}  // namespace bloomwall::proxy
