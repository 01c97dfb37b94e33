// SPDX-License-Identifier: Apache-2.0
#include "proxy/import/group_compiler.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "proxy/import/people_classes.h"

namespace bloomwall::proxy::foreign {
namespace {

using filter::RangeSet;

class ClassCompiler {
 public:
  ClassCompiler(Imported& imported, const Class& people) : imported_(imported), people_(people) {}
  CompiledGroup compile();

 private:
  // "deny LIST but for EXCEPT": it is asked behind everything else, where an allowed EXCEPT can stand before it.
  struct Deferred {
    const Rule* rule;
    std::size_t list, except;
    std::vector<Condition> when;
  };
  struct Parts {
    std::vector<std::size_t> in, out_of;
    std::vector<Condition> when;
  };

  bool matches(const std::vector<Condition>& conditions);
  bool is_one_of(const People& people, std::size_t index);
  bool run(const Stage& stage);
  // What the rules decide where no list does; nothing where another section follows.
  bool run(const Section& section);
  bool refuse_rest(const Section& section);
  void add(const Rule& rule, const Parts& parts);
  void add_exception(const Rule& rule, const Parts& parts);
  void push(std::size_t list, bool allow, const std::vector<Condition>& when);
  void say(const Rule& rule, Outcome outcome, const char* why) { imported_.worsen(rule.report, outcome, why); }
  bool end(bool allow);
  // The rule for all but one time that is among the steps: later ones hold inside that time alone.
  const Step* left_rest() const;
  bool leaves_a_rest() const { return left_rest() != nullptr; }

  Imported& imported_;
  const Class& people_;
  CompiledGroup group_;
  std::optional<Deferred> deferred_;
  bool is_last_stage_ = false;
};

bool ClassCompiler::is_one_of(const People& people, std::size_t index) {
  if (people.clients && !people_.addresses.contains(index)) return false;
  const bool asks_login = people.any_user || !people.users.empty() || !people.user_groups.empty();
  if (!asks_login) return people.clients.has_value();  // of whom nothing was taken: nobody
  group_.has_to_log_in = true;
  return people.any_user || people_.logins.contains(index);
}

bool ClassCompiler::matches(const std::vector<Condition>& conditions) {
  for (const Condition& condition : conditions) {
    if (condition.kind == ConditionKind::people &&
        is_one_of(imported_.people[condition.index], condition.index) == condition.negated)
      return false;
  }
  return true;
}

void ClassCompiler::push(std::size_t list, bool allow, const std::vector<Condition>& when) {
  if (!group_.steps.empty()) {
    Step& last = group_.steps.back();
    const bool alternative =
        !last.when.empty() && when.size() == 1 && !when.front().negated && !last.when.front().negated;
    if (last.list == list && last.allow == allow && list != kNoList && alternative)
      return last.when.push_back(when.front());
  }
  group_.steps.push_back({list, allow, when});
}

void ClassCompiler::add_exception(const Rule& rule, const Parts& parts) {
  if (rule.allow && parts.in.empty()) {  // everything but a list: refuse the list, allow the rest
    say(rule, Outcome::nearly, "what is in the excepted list is refused here, even where a later line allows it");
    push(parts.out_of.front(), false, parts.when);
    return push(kNoList, true, parts.when);
  }
  if (rule.allow) return say(rule, Outcome::lost, "an allow rule for what is in one list and not in another");
  if (deferred_) return say(rule, Outcome::lost_deny, "a second deny rule with an excepted list");
  deferred_ = Deferred{&rule, parts.in.empty() ? kNoList : parts.in.front(), parts.out_of.front(), parts.when};
}

void ClassCompiler::add(const Rule& rule, const Parts& parts) {
  const Outcome loss = rule.allow ? Outcome::lost : Outcome::lost_deny;
  if (parts.when.size() > 1) return say(rule, loss, "two times in one rule; write one schedule for both");
  if (parts.in.size() > 1 || parts.out_of.size() > 1) {
    return say(rule, loss, "several lists that must all match; a filter is one list");
  }
  if (rule.allow && deferred_) {
    return say(rule, Outcome::nearly,
               "an earlier deny rule with an excepted list decides first, so this allows nothing more");
  }
  if (rule.allow && !is_last_stage_) {
    say(rule, Outcome::nearly, "what this allows is not asked of the rules of the other file");
  }
  if (leaves_a_rest() && !parts.when.empty()) {
    if (rule.allow || parts.in.empty()) return say(rule, loss, "a time inside what an earlier rule leaves of the week");
    say(rule, Outcome::nearly, "also refused outside the time that an earlier rule leaves");
  }
  if (!parts.out_of.empty()) return add_exception(rule, parts);
  push(parts.in.empty() ? kNoList : parts.in.front(), rule.allow, parts.when);
}

const Step* ClassCompiler::left_rest() const {
  const auto found = std::find_if(group_.steps.begin(), group_.steps.end(), [](const Step& step) {
    return step.list == kNoList && !step.when.empty() && step.when.front().negated;
  });
  return found == group_.steps.end() ? nullptr : &*found;
}

bool ClassCompiler::end(bool allow) {
  if (!deferred_) return allow;
  const Deferred deferred = *std::exchange(deferred_, std::nullopt);
  if (!allow) return false;
  if (leaves_a_rest() && !deferred.when.empty()) {
    if (deferred.list == kNoList) {
      say(*deferred.rule, Outcome::lost_deny, "a time inside what another rule leaves of the week");
      return allow;
    }
    say(*deferred.rule, Outcome::nearly, "its excepted list is refused, too, as another rule is about other times");
  } else {
    push(deferred.except, true, deferred.when);
  }
  if (deferred.list == kNoList && deferred.when.empty()) return false;
  push(deferred.list, false, deferred.when);
  return true;
}

bool ClassCompiler::run(const Section& section) {
  for (const Rule& rule : section.rules) {
    if (!matches(rule.conditions)) continue;
    Parts parts;
    if (section.when) parts.when.push_back(*section.when);
    for (const Condition& condition : rule.conditions) {
      if (condition.kind == ConditionKind::times) parts.when.push_back(condition);
      if (condition.kind == ConditionKind::list)
        (condition.negated ? parts.out_of : parts.in).push_back(condition.index);
    }
    const bool unconditional =
        parts.in.empty() && parts.out_of.empty() && parts.when.size() == (section.when ? 1U : 0U);
    if (unconditional) return end(rule.allow);
    add(rule, parts);
  }
  return end(section.otherwise);
}

bool ClassCompiler::run(const Stage& stage) {
  for (const Section& section : stage) {
    if (!matches(section.people)) continue;
    if (const Step* const rest = left_rest(); rest != nullptr && section.when) {
      if (section.when->index != rest->when.front().index) return refuse_rest(section);
      if (section.when->negated) continue;  // never in that time
      Section always = section;
      always.when.reset();
      return run(always);
    }
    const bool decision = run(section);
    if (!section.when) return decision;
    push(kNoList, decision, {*section.when});
  }
  return true;
}

// A time of its own inside the time that is left: no group can say that, so nothing passes there.
bool ClassCompiler::refuse_rest(const Section& section) {
  const char* const why = "refused in the time that an earlier acl leaves, which cannot be divided by another time";
  if (section.rules.empty()) {
    imported_.say({}, 0, "acl without a rule", Outcome::nearly, why);
  } else {
    say(section.rules.front(), Outcome::nearly, why);
  }
  return false;
}

CompiledGroup ClassCompiler::compile() {
  for (std::size_t i = 0; i < imported_.stages.size(); ++i) {
    is_last_stage_ = i + 1 == imported_.stages.size();
    group_.otherwise = run(imported_.stages[i]);
    if (!group_.otherwise) break;
  }
  for (const std::size_t index : people_.addresses) {
    const RangeSet& clients = *imported_.people[index].clients;
    group_.clients = group_.clients ? common(*group_.clients, clients) : clients;
  }
  group_.users = people_.users;
  group_.user_groups = people_.user_groups;
  const auto add_name = [this](const Indexes& people) {
    for (const std::size_t index : people)
      group_.name += (group_.name.empty() ? "" : "-") + imported_.people[index].name;
  };
  add_name(people_.logins);
  add_name(people_.addresses);
  if (group_.name.empty()) group_.name = "everybody";
  return std::move(group_);
}

bool decide_alike(const CompiledGroup& a, const CompiledGroup& b) {
  return a.steps == b.steps && a.otherwise == b.otherwise;
}

// Whether something that `a` refuses may pass `b`: not where b only refuses more, in the same order.
bool may_refuse_more(const CompiledGroup& a, const CompiledGroup& b) {
  const auto has = [](const CompiledGroup& group, const Step& step) {
    return std::find(group.steps.begin(), group.steps.end(), step) != group.steps.end();
  };
  if (!a.otherwise && b.otherwise) return true;
  std::vector<Step> of_a, of_b;  // what both have
  for (const Step& step : a.steps) {
    if (has(b, step)) {
      of_a.push_back(step);
    } else if (!step.allow) {
      return true;
    }
  }
  for (const Step& step : b.steps) {
    if (has(a, step)) {
      of_b.push_back(step);
    } else if (step.allow) {
      return true;
    }
  }
  return of_a != of_b;
}

// The groups of one set of addresses: of users, of user groups, and of everybody else. Who is in two of these sets is
// in the first of their groups; where the rules decide otherwise for both together, users in a user group get a group
// of their own, and of two user groups, which no group can ask for together, it is reported.
class OfAddresses {
 public:
  OfAddresses(Imported& imported, const Indexes& addresses, const std::vector<Class>& logins)
      : imported_(imported), addresses_(addresses) {
    for (const Class& people : logins) {
      classes_.push_back({addresses, people.logins, people.users, people.user_groups});
      groups_.push_back(ClassCompiler(imported_, classes_.back()).compile());
    }
  }
  std::vector<CompiledGroup> compile() {
    for (std::size_t i = 0; i + 1 < groups_.size(); ++i) {
      for (std::size_t j = i + 1; j + 1 < groups_.size(); ++j) look_at_both(i, j);
    }
    for (std::size_t i = 0; i < groups_.size(); ++i) {
      if (i + 1 == groups_.size() || is_kept(i)) both_.push_back(groups_[i]);
    }
    return std::move(both_);
  }

 private:
  // The last one is for everybody with these addresses: who gets the same needs no group.
  bool is_kept(std::size_t i) const { return !decide_alike(groups_[i], groups_.back()); }

  void look_at_both(std::size_t i, std::size_t j) {
    const Class& first = classes_[i];
    const Class& second = classes_[j];
    if (!second.users.empty()) return;  // a user is in one set of users
    Class people{addresses_, first.logins, first.users, second.user_groups};
    people.logins.insert(second.logins.begin(), second.logins.end());
    const CompiledGroup& served = is_kept(i) ? groups_[i] : is_kept(j) ? groups_[j] : groups_.back();
    CompiledGroup group = ClassCompiler(imported_, people).compile();
    if (decide_alike(group, served)) return;
    if (!first.users.empty() && both_.size() < kMostClasses) return both_.push_back(std::move(group));
    const bool is_lost = may_refuse_more(group, served);
    imported_.say({}, 0, "people who are in both " + groups_[i].name + " and " + groups_[j].name,
                  is_lost ? Outcome::lost_deny : Outcome::nearly,
                  "they are in the group " + served.name + " alone" + (is_lost ? "" : ", which refuses more"));
  }

  Imported& imported_;
  const Indexes& addresses_;
  std::vector<Class> classes_;
  std::vector<CompiledGroup> groups_;
  std::vector<CompiledGroup> both_;  // of two sets at once; at last all
};

// A list without entries matches nothing, and no filter is built of it: rules for what is in it are left out.
void leave_out_empty_lists(Imported& imported) {
  const auto is_empty = [&](const Condition& condition) {
    return condition.kind == ConditionKind::list && imported.lists[condition.index].is_empty();
  };
  for (Stage& stage : imported.stages) {
    for (Section& section : stage) {
      for (const Rule& rule : section.rules) {
        for (const Condition& condition : rule.conditions) {
          if (!is_empty(condition)) continue;
          imported.worsen(
              rule.report, Outcome::nearly,
              imported.lists[condition.index].name + " is empty, and is not asked: import again once it has entries");
        }
      }
      std::erase_if(section.rules, [&](const Rule& rule) {
        return std::ranges::any_of(rule.conditions, [&](const Condition& c) { return !c.negated && is_empty(c); });
      });
      for (Rule& rule : section.rules) std::erase_if(rule.conditions, is_empty);
    }
  }
}

}  // namespace

bool CompiledGroup::allows_nothing() const {
  return !otherwise && std::none_of(steps.begin(), steps.end(), [](const Step& step) { return step.allow; });
}

std::vector<CompiledGroup> compile_groups(Imported& imported) {
  leave_out_empty_lists(imported);
  const Indexes used = used_people(imported);
  const std::vector<Indexes> addresses = address_sets(imported, used);
  const std::vector<Class> logins = login_sets(imported, used);
  if (addresses.empty() || addresses.size() * logins.size() > kMostClasses) {
    imported.say({}, 0, "groups", Outcome::lost_deny,
                 "the rules tell more than " + std::to_string(kMostClasses) + " sets of people apart");
    return {};
  }
  std::vector<CompiledGroup> all;
  for (const Indexes& set : addresses) {
    std::vector<CompiledGroup> here = OfAddresses(imported, set, logins).compile();
    std::move(here.begin(), here.end(), std::back_inserter(all));
  }
  std::vector<CompiledGroup> kept;
  for (CompiledGroup& group : all) {
    const auto shares_addresses = [&group](const CompiledGroup& other) {
      if (other.allows_nothing()) return false;
      return !other.clients || (group.clients && !common(*group.clients, *other.clients).empty());
    };
    const bool needed = !group.allows_nothing() || std::any_of(all.begin(), all.end(), shares_addresses);
    if (needed) kept.push_back(group);
  }
  return kept;
}

}  // namespace bloomwall::proxy::foreign
