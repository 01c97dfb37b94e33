// Until when what is blocked stays blocked, for the person who reads the page: "until 06:30 (bedtime)". Schedules,
// switches and exceptions with an end can end it; what blocks by itself has none.
// What blocks after that end counts as well: an end is said only where what was asked for would pass then, by the rules
// and filters of now.
// Cost: nothing where neither a schedule nor a switch concerns the group and no exception denies; else, once for each
// group, that of kMostChanges views of GroupRules, and for each block that of judging it in each view that differs.
// Not thread-safe.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/time_zone.h"
#include "filter/policy/policy.h"
#include "proxy/access/group_rules.h"
#include "proxy/http/block_end.h"

namespace bloomwall::proxy {

class BlockEnds {
 public:
  static constexpr std::size_t kMostChanges = 400;  // of a group that are looked at, as `explain` does

  using PolicyPtr = std::shared_ptr<const filter::Policy>;
  // `rules`: null where there are no groups. `all`: the policy outside of groups. From `now` on; the switches are
  // copied.
  void adopt(std::shared_ptr<const GroupRules> rules, PolicyPtr all, std::span<const Switch> switches, Instant now);

  // What would be said of it at another instant. Nothing: that cannot be said without waiting for the disk.
  struct Then {
    filter::Decision decision = filter::Decision::allowed;
    filter::VerdictReason reason = filter::VerdictReason::unlisted;
    std::uint64_t exception = 0;  // Verdict::exception
  };
  using Judge = std::function<std::optional<Then>(const filter::Policy& policy, Instant at)>;
  // `group`: GroupRules::group_of(); 0 where there are none. `verdict`: a blocked one, of `now`.
  BlockEnd of(std::size_t group, const filter::Verdict& verdict, Instant now, const Judge& judge);

 private:
  struct Change {
    Instant at = 0;
    std::size_t view = 0;  // from then on: place in views_
  };
  struct View {
    filter::PolicyView view;
    PolicyPtr policy;  // null until it is asked
  };
  using Timeline = std::vector<Change>;  // ascending; the first one is that of the beginning

  const Timeline& timeline_of(std::size_t group);
  std::size_t place_of(filter::PolicyView view);
  const filter::Policy& policy_of(std::size_t view);
  std::optional<Instant> end_of(std::uint64_t exception) const;  // nothing: it has none
  std::string schedule_of(std::size_t group, const filter::Verdict& verdict, Instant now) const;

  std::shared_ptr<const GroupRules> rules_;
  PolicyPtr all_;
  std::vector<Switch> switches_;
  Instant begin_ = 0;
  std::vector<View> views_;
  std::map<std::size_t, Timeline> timelines_;  // by group
};

}  // namespace bloomwall::proxy
