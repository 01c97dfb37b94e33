// Which groups a client may be in by who that is, whatever the address: criteria `users`, `user_groups` and
// `certificates` of groups.
// Names are compared octet by octet. Criteria of one group must all hold; of one criterion one value must.
// Cost: nothing where no group asks; else one hash look-up for the name and one for each group of the user and each
// name of the certificate. Immutable, thread-safe.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "conf/groups.h"
#include "proxy/access/group_set.h"

namespace bloomwall::proxy {

// Who asks, as the proxy has found out.
struct GroupMember {
  std::string_view user = {};  // empty: nobody had to log in
  std::span<const std::string> user_groups = {};
  std::span<const std::string> certificate = {};  // its names: "cn:NAME", "dns:NAME", "uri:URI", "email:NAME"
};

class GroupMembers {
 public:
  explicit GroupMembers(const std::vector<conf::Group>& groups);

  // Those whose criteria hold, and those that have none of these criteria.
  GroupSet of(const GroupMember& member) const;
  // Those that have none of these criteria.
  const GroupSet& open() const { return open_; }
  bool asks_for_certificates() const { return certificates_.is_asked(); }
  bool asks_for_users() const { return users_.is_asked() || user_groups_.is_asked(); }
  // Groups before this one in which everybody is who fulfils its criteria of this kind.
  GroupSet covering(std::size_t group) const { return covering_[group]; }

 private:
  class Criterion {
   public:
    using Values = std::vector<std::string>;
    Criterion(const std::vector<conf::Group>& groups, const Values conf::Group::* values);
    bool is_asked() const { return !by_value_.empty(); }
    const GroupSet& without() const { return without_; }
    GroupSet of(std::string_view value) const;
    // Those that do not ask, or ask for one of these.
    GroupSet of_any(std::span<const std::string> values) const;

   private:
    struct TextHash {
      using is_transparent = void;
      std::size_t operator()(std::string_view text) const { return std::hash<std::string_view>{}(text); }
    };
    GroupSet without_;  // groups that do not ask
    std::unordered_map<std::string, GroupSet, TextHash, std::equal_to<>> by_value_;
  };

  Criterion users_, user_groups_, certificates_;
  GroupSet open_;
  std::vector<GroupSet> covering_;
};

}  // namespace bloomwall::proxy
