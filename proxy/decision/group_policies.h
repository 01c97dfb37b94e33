// The policy of each group as it is at an instant, over one set of filters: what a change of a schedule replaces, as a
// reload does. Groups that do the same share one.
// Cost: making it, that of Policy::view() for each group that does something of its own. Immutable, thread-safe.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "proxy/access/group_rules.h"

namespace bloomwall::proxy {

class GroupPolicies {
 public:
  using PolicyPtr = std::shared_ptr<const filter::Policy>;
  // `all`: of those who are in no group, with the current exceptions. Null where there are no groups.
  static std::shared_ptr<const GroupPolicies> make(const GroupRules* rules, const PolicyPtr& all, Instant at,
                                                   const SwitchesPtr& switches = {});

  // `group`: GroupRules::group_of().
  const PolicyPtr& of(std::size_t group) const { return policies_[group]; }
  std::size_t size() const { return policies_.size(); }
  // Whether they are those of this instant. They are not after a step of the clock, either.
  bool hold_at(Instant at) const { return made_at_ <= at && at < until_; }
  // Of the same filters and exceptions: whether each group does what it does there.
  bool says_the_same_as(const GroupPolicies& others) const { return views_ == others.views_; }
  const std::vector<filter::PolicyView>& views() const { return views_; }
  // What was put over the views; of other instants as well.
  std::span<const Switch> switches() const {
    return switches_ == nullptr ? std::span<const Switch>() : std::span<const Switch>(*switches_);
  }
  bool has_networks() const { return has_networks_; }

 private:
  std::vector<PolicyPtr> policies_;
  std::vector<filter::PolicyView> views_;
  SwitchesPtr switches_;
  Instant made_at_ = 0, until_ = 0;
  bool has_networks_ = false;  // any of them
};
// What is different, for the log: "pupils: games monitor, otherwise allow; staff: games block".
std::string describe_changes(const GroupRules& rules, const GroupPolicies& before, const GroupPolicies& now);
using GroupPoliciesPtr = std::shared_ptr<const GroupPolicies>;

}  // namespace bloomwall::proxy
