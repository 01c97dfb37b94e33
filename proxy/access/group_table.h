// Which group a request is in: the first in the configured order whose every criterion holds. Order decides, never how
// narrow a network is. On transparent listeners nobody says who it is, so that groups that ask for it have no members
// there.
// Compiled for each listener into addresses in order, each with the groups that may hold from there on: a question
// costs one comparison for each listener, one binary search, and what GroupMembers costs. Immutable, thread-safe.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <tl/expected.hpp>

#include "conf/config.h"
#include "proxy/access/access_rules.h"
#include "proxy/access/address_words.h"
#include "proxy/access/group_members.h"
#include "proxy/access/group_set.h"

namespace bloomwall::proxy {

class GroupTable {
 public:
  // Errors: one line each.
  static tl::expected<GroupTable, std::vector<std::string>> build(const std::vector<conf::Group>& groups,
                                                                  const std::vector<conf::Listener>& listeners);
  // Place in `groups`, or their number where the client is in none. `listener`: conf::Listener::address; one that is
  // not known is in no group that asks for listeners.
  std::size_t group_of(const IpAddress& client, std::string_view listener, const GroupMember& member) const;
  // Groups that can have no member, because earlier ones take all clients.
  std::vector<std::size_t> unreachable() const;
  const GroupMembers& members() const { return members_; }

 private:
  struct Step {
    AddressWords from;
    GroupSet groups;  // that the address and the listener leave
  };
  struct OfListener {
    std::string listener;
    std::vector<Step> steps;  // the first is from 0
  };
  struct Range {
    AddressWords first, last;
    std::uint32_t group = 0;
  };
  using Networks = std::vector<std::vector<IpNetwork>>;  // of each group
  explicit GroupTable(const std::vector<conf::Group>& groups) : groups_(groups.size()), members_(groups) {}
  static Range range_of(const IpNetwork& network, std::size_t group);
  void add(const std::vector<conf::Group>& groups, const Networks& networks, const std::string& listener,
           bool is_transparent);
  std::vector<Step> steps_of(const std::vector<Range>& ranges, const GroupSet& everywhere) const;
  GroupSet up_to_open(const GroupSet& groups) const;

  std::size_t groups_ = 0;
  GroupMembers members_;
  std::vector<OfListener> listeners_;  // the last one, without a name, is for any other
};

}  // namespace bloomwall::proxy
