// Which group a client is in: the first in the configured order whose every criterion holds. Order decides, never how
// narrow a network is.
// Compiled for each listener into addresses in order, each with the group from there on: a question costs one
// comparison for each listener and one binary search. Immutable, thread-safe.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <tl/expected.hpp>

#include "conf/config.h"
#include "proxy/access/access_rules.h"

namespace bloomwall::proxy {

class GroupTable {
 public:
  // Errors: one line each.
  static tl::expected<GroupTable, std::vector<std::string>> build(const std::vector<conf::Group>& groups,
                                                                  const std::vector<conf::Listener>& listeners);
  // Place in `groups`, or their number where the client is in none. `listener`: conf::Listener::address; one that is
  // not known is in no group that asks for listeners.
  std::size_t group_of(const Address& client, std::string_view listener) const;
  // Groups that nobody can come to, because those before them leave them nothing.
  std::vector<std::size_t> unreachable() const;

 private:
  struct Words {  // an address as a number
    std::uint64_t high = 0, low = 0;
    friend auto operator<=>(const Words&, const Words&) = default;
  };
  struct Step {
    Words from;
    std::uint32_t group = 0;
  };
  struct OfListener {
    std::string listener;
    std::vector<Step> steps;  // the first is from 0
  };
  struct Range {
    Words first, last;
    std::uint32_t group = 0;
  };
  static Words words_of(const Address& address);
  static Range range_of(const Cidr& network, std::size_t group);
  static std::vector<Step> steps_of(const std::vector<Range>& ranges, std::uint32_t rest);

  std::size_t groups_ = 0;
  std::vector<OfListener> listeners_;  // the last one, without a name, is for any other
};

}  // namespace bloomwall::proxy
